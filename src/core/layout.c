/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* What a checked layout can do: fields to id and back, bounds of an instant, capacity. Its text is
 * layout_parse.c's. */
#include "core/layout.h"

#include "core/error.h"
#include "firn/time.h"

#define YEAR_US (INT64_C(365) * 86400 * 1000000)

/* Half of a signed BIGINT: ids at or above it are negative. */
#define BIGINT_BITS 63
/* JavaScript's numbers are exact up to 2^53. */
#define JAVASCRIPT_BITS 53

static unsigned total_bits(const firn_layout *layout)
{
    return (unsigned)layout->time_shift + layout->time_bits;
}

static int64_t end_us(const firn_layout *layout)
{
    return firn__tick_start_us(layout, firn__tick_last(layout)) + layout->tick_ns / 1000;
}

/* When ids first need more than bits bits; the layout's end if they never do. */
static int64_t outgrows_us(const firn_layout *layout, unsigned bits)
{
    if (total_bits(layout) <= bits) {
        return end_us(layout);
    }
    if (layout->time_shift >= bits) {
        return firn__tick_start_us(layout, layout->time_shift == bits ? 1 : 0);
    }
    return firn__tick_start_us(layout, UINT64_C(1) << (bits - layout->time_shift));
}

int firn_layout_capacity(const firn_layout *layout, firn_capacity *capacity_out)
{
    if (layout == NULL || capacity_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    const uint64_t per_tick = UINT64_C(1) << layout->sequence_bits;
    const uint64_t ticks_per_second = (uint64_t)(FIRN__SECOND_NS / layout->tick_ns);
    *capacity_out = (firn_capacity){
        .workers = UINT64_C(1) << firn__worker_number_bits(layout),
        .ids_per_tick = per_tick,
        .first_us = layout->epoch_ms * 1000,
        .end_us = end_us(layout),
        .negative_us = outgrows_us(layout, BIGINT_BITS),
        .javascript_us = outgrows_us(layout, JAVASCRIPT_BITS),
        .ids_per_second =
            per_tick > UINT64_MAX / ticks_per_second ? UINT64_MAX : per_tick * ticks_per_second,
    };
    return FIRN_OK;
}

static void life_error(firn_error *error_out, int status, const char *what, int64_t at_us)
{
    char date[FIRN_TIME_TEXT_SIZE];
    (void)firn_time_format(at_us, 0, date, sizeof date);
    (void)firn__error(error_out, status, FIRN__NO_POSITION, "%s %s: %s", what, date,
                      firn_status_hint(status));
}

int firn_layout_check(const firn_layout *layout, int64_t now_us, unsigned allow,
                      firn_error *error_out)
{
    if (layout == NULL) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    if (layout->unknown_bits != 0 && (allow & FIRN_ALLOW_UNKNOWN) == 0) {
        return firn__error(error_out, FIRN_E_LAYOUT_DECODE, FIRN__NO_POSITION,
                           "the layout has %u unknown bits (x): ids can be read with it, but not "
                           "made",
                           layout->unknown_bits);
    }
    if (layout->epoch_ms * 1000 > now_us) {
        life_error(error_out, FIRN_E_LAYOUT_EPOCH,
                   "the layout's epoch is after now:", layout->epoch_ms * 1000);
        return FIRN_E_LAYOUT_EPOCH;
    }
    const int64_t last_us = end_us(layout);
    if (last_us <= now_us) {
        life_error(error_out, FIRN_E_LAYOUT_LIFE, "the layout's life ended on", last_us);
        return FIRN_E_LAYOUT_LIFE;
    }
    if ((allow & FIRN_ALLOW_SHORT_LIFE) == 0 && last_us - now_us < YEAR_US) {
        life_error(error_out, FIRN_E_LAYOUT_LIFE, "the layout's life ends within a year, on",
                   last_us);
        return FIRN_E_LAYOUT_LIFE;
    }
    return FIRN_OK;
}

int firn_layout_compose(const firn_layout *layout, const firn_fields *fields, uint64_t *id_out)
{
    if (layout == NULL || fields == NULL || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    if (fields->tick > firn__tick_last(layout) ||
        fields->worker > firn__mask(firn__worker_number_bits(layout)) ||
        fields->sequence > firn__mask(layout->sequence_bits) ||
        fields->unknown > firn__mask(layout->unknown_bits)) {
        return FIRN_E_FIELD_RANGE;
    }
    *id_out = fields->tick << layout->time_shift | firn__worker_place(layout, fields->worker) |
              fields->sequence << layout->sequence_shift | fields->unknown << layout->unknown_shift;
    return FIRN_OK;
}

int firn_layout_decompose(const firn_layout *layout, uint64_t id, firn_fields *fields_out)
{
    if (layout == NULL || fields_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    if (id > firn__mask(total_bits(layout))) {
        return FIRN_E_ID_RANGE;
    }
    const uint64_t tick = id >> layout->time_shift;
    const uint32_t datacenter =
        (uint32_t)(id >> layout->datacenter_shift & firn__mask(layout->datacenter_bits));
    const uint32_t low = (uint32_t)(id >> layout->worker_shift & firn__mask(layout->worker_bits));
    *fields_out = (firn_fields){
        .time_us = firn__tick_start_us(layout, tick),
        .tick = tick,
        .sequence = id >> layout->sequence_shift & firn__mask(layout->sequence_bits),
        .unknown = id >> layout->unknown_shift & firn__mask(layout->unknown_bits),
        .worker = (uint32_t)((uint64_t)datacenter << layout->worker_bits | low),
        .datacenter = datacenter,
    };
    return FIRN_OK;
}

/* The tick that holds an instant. */
static int tick_at(const firn_layout *layout, int64_t at_us, uint64_t *tick_out)
{
    if (at_us < layout->epoch_ms * 1000 || at_us >= end_us(layout)) {
        return FIRN_E_TIME_RANGE;
    }
    *tick_out = (uint64_t)(at_us - layout->epoch_ms * 1000) / (uint64_t)(layout->tick_ns / 1000);
    return FIRN_OK;
}

int firn_layout_smallest(const firn_layout *layout, int64_t at_us, uint64_t *id_out)
{
    uint64_t tick;
    if (layout == NULL || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    const int status = tick_at(layout, at_us, &tick);
    if (status == FIRN_OK) {
        *id_out = tick << layout->time_shift;
    }
    return status;
}

int firn_layout_largest(const firn_layout *layout, int64_t at_us, uint64_t *id_out)
{
    uint64_t tick;
    if (layout == NULL || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    const int status = tick_at(layout, at_us, &tick);
    if (status == FIRN_OK) {
        *id_out = tick << layout->time_shift | firn__mask(layout->time_shift);
    }
    return status;
}

/* at_ms in ticks, rounded down, with what is left over; held to the layout's life. */
static uint64_t tick_split(const firn_layout *layout, int64_t at_ms, int *remainder_out)
{
    *remainder_out = 0;
    if (at_ms <= layout->epoch_ms) {
        return 0;
    }
    const uint64_t span_ms = (uint64_t)at_ms - (uint64_t)layout->epoch_ms;
    const uint64_t limit = firn__tick_last(layout) + 1; /* 0 only with 64 time bits */
    const uint64_t tick_us = (uint64_t)(layout->tick_ns / 1000);
    if (span_ms > UINT64_MAX / 1000) {
        return limit;
    }
    const uint64_t tick = span_ms * 1000 / tick_us;
    if (tick >= limit) {
        return limit;
    }
    *remainder_out = span_ms * 1000 % tick_us != 0;
    return tick;
}

uint64_t firn__tick_from_ms(const firn_layout *layout, int64_t at_ms)
{
    int remainder;
    const uint64_t tick = tick_split(layout, at_ms, &remainder);
    return tick + (uint64_t)remainder;
}

uint64_t firn__tick_until_ms(const firn_layout *layout, int64_t at_ms)
{
    int remainder;
    return tick_split(layout, at_ms, &remainder);
}
