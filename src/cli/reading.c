/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* What an id says under a layout. Drawing it is picture.c's part. */
#include "cli/reading.h"

#include <string.h>

#include "cli/json.h"
#include "cli/text.h"

/* Twitter counted up to its change of 2010-11-04; presets.json has the source. */
#define TWITTER_COUNTER_MAX UINT64_C(30000000000)
/* Clocks a little apart are no reason for a remark. */
#define FUTURE_TOLERANCE_US 1000000

static bool is_twitter_counter(const firn_layout *layout, uint64_t id)
{
    const firn_preset *twitter = firn_preset_find("twitter");
    firn_layout theirs;
    if (id >= TWITTER_COUNTER_MAX || twitter == NULL ||
        firn_layout_parse(twitter->layout, &theirs, NULL) < 0) {
        return false;
    }
    return layout->epoch_ms == theirs.epoch_ms && layout->tick_ns == theirs.tick_ns &&
           layout->time_bits == theirs.time_bits &&
           layout->datacenter_bits == theirs.datacenter_bits &&
           memcmp(layout->order, theirs.order, sizeof layout->order) == 0;
}

int reading_make(const firn_layout *layout, uint64_t id, struct reading *reading_out)
{
    struct reading reading = {.layout = layout, .id = id};
    const int status = firn_layout_decompose(layout, id, &reading.fields);
    if (status < 0) {
        return status;
    }
    (void)firn_layout_format(layout, reading.layout_text, sizeof reading.layout_text);
    reading.counter = is_twitter_counter(layout, id);
    *reading_out = reading;
    return FIRN_OK;
}

uint32_t reading_worker_part(const struct reading *reading)
{
    const uint64_t mask = (UINT64_C(1) << reading->layout->worker_bits) - 1;
    return (uint32_t)(reading->fields.worker & mask);
}

const char *reading_remark(const struct reading *reading, int64_t now_us, unsigned index)
{
    const struct {
        bool holds;
        const char *text;
    } remarks[] = {
        {reading->counter, "this is from Twitter's years of plain counters: it holds no time"},
        {!reading->counter && reading->fields.time_us > now_us + FUTURE_TOLERANCE_US,
         "its time lies in the future: another layout, or a clock that ran ahead"},
        {reading->id > JAVASCRIPT_MAX,
         "above 2^53: a JavaScript number cannot hold it exactly; pass it as a string"},
        {reading->id > INT64_MAX, "above 2^63 - 1: a signed 64-bit column shows it negative"},
    };
    for (size_t i = 0; i < sizeof remarks / sizeof remarks[0]; i++) {
        if (remarks[i].holds && index-- == 0) {
            return remarks[i].text;
        }
    }
    return NULL;
}

static void json_remarks(struct json *json, const struct reading *reading, int64_t now_us)
{
    const char *remark;
    json_open(json, "remarks", '[');
    for (unsigned i = 0; (remark = reading_remark(reading, now_us, i)) != NULL; i++) {
        json_string(json, NULL, remark);
    }
    json_close(json, ']');
}

void reading_json(const struct reading *reading, const int64_t *now_us)
{
    struct json json = {0};
    const firn_layout *layout = reading->layout;
    json_open(&json, NULL, '{');
    json_id(&json, "id", reading->id);
    if (reading->counter) {
        json_null(&json, "time");
    } else {
        json_time(&json, "time", reading->fields.time_us, text_decimals(layout->tick_ns));
        json_integer(&json, "time_us", reading->fields.time_us);
    }
    if (layout->datacenter_bits > 0) {
        json_integer(&json, "datacenter", reading->fields.datacenter);
        json_integer(&json, "worker_in_datacenter", reading_worker_part(reading));
    }
    if (layout->datacenter_bits + layout->worker_bits > 0) {
        json_integer(&json, "worker", reading->fields.worker);
    }
    if (layout->sequence_bits > 0) {
        json_integer(&json, "sequence", (int64_t)reading->fields.sequence);
    }
    if (layout->unknown_bits > 0) {
        json_integer(&json, "unknown", (int64_t)reading->fields.unknown);
    }
    if (reading->id > INT64_MAX) {
        json_integer(&json, "signed", (int64_t)reading->id);
    }
    json_string(&json, "layout", reading->layout_text);
    if (now_us != NULL) {
        json_remarks(&json, reading, *now_us);
    }
    json_close(&json, '}');
}
