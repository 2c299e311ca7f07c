/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Every input is read as a layout. One that is accepted must be written as a text that reads back
 * as the same layout and is then stable; its capacity, its bounds and its fields must agree with
 * one another. A refusal must write nothing. */
#include "firn/layout.h"

#include <stdbool.h>

#include "fuzz.h"

static bool equal(const firn_layout *a, const firn_layout *b)
{
    return a->epoch_ms == b->epoch_ms && a->tick_ns == b->tick_ns && a->time_bits == b->time_bits &&
           a->datacenter_bits == b->datacenter_bits && a->worker_bits == b->worker_bits &&
           a->sequence_bits == b->sequence_bits && a->unknown_bits == b->unknown_bits &&
           a->time_shift == b->time_shift && a->datacenter_shift == b->datacenter_shift &&
           a->worker_shift == b->worker_shift && a->sequence_shift == b->sequence_shift &&
           a->unknown_shift == b->unknown_shift && memcmp(a->order, b->order, sizeof a->order) == 0;
}

static unsigned bits_of(const firn_layout *layout)
{
    return (unsigned)layout->time_bits + layout->datacenter_bits + layout->worker_bits +
           layout->sequence_bits + layout->unknown_bits;
}

static void check_refusal(int status, const char *text, const firn_error *error)
{
    REQUIRE(status <= FIRN_E_LAYOUT_SYNTAX && status >= FIRN_E_LAYOUT_LIFE);
    REQUIRE(error->status == status);
    REQUIRE(error->position >= -1 && error->position <= (int64_t)strlen(text));
    REQUIRE(error->text[0] != '\0');
}

static void check_text(const firn_layout *layout)
{
    char text[FIRN_LAYOUT_TEXT_SIZE];
    char again[FIRN_LAYOUT_TEXT_SIZE];
    firn_layout back;
    REQUIRE(firn_layout_format(layout, text, sizeof text) == FIRN_OK);
    REQUIRE(firn_layout_parse(text, &back, NULL) == FIRN_OK);
    REQUIRE(equal(layout, &back));
    REQUIRE(firn_layout_format(&back, again, sizeof again) == FIRN_OK);
    REQUIRE(strcmp(text, again) == 0);
    memset(again, '#', sizeof again);
    REQUIRE(firn_layout_format(layout, again, strlen(text)) == FIRN_E_BUFFER);
    REQUIRE(again[0] == '#');
}

static void check_id(const firn_layout *layout, uint64_t id)
{
    firn_fields fields;
    firn_fields untouched;
    memset(&fields, 0x5a, sizeof fields);
    untouched = fields;
    const unsigned bits = bits_of(layout);
    const int status = firn_layout_decompose(layout, id, &fields);
    if (bits < 64 && id >> bits != 0) {
        REQUIRE(status == FIRN_E_ID_RANGE);
        REQUIRE(memcmp(&fields, &untouched, sizeof fields) == 0);
        return;
    }
    REQUIRE(status == FIRN_OK);
    uint64_t back = ~id;
    REQUIRE(firn_layout_compose(layout, &fields, &back) == FIRN_OK);
    REQUIRE(back == id);
    uint64_t smallest;
    uint64_t largest;
    REQUIRE(firn_layout_smallest(layout, fields.time_us, &smallest) == FIRN_OK);
    REQUIRE(firn_layout_largest(layout, fields.time_us, &largest) == FIRN_OK);
    REQUIRE(smallest <= id && id <= largest);
}

/* At both ends of the layout's life. */
static void check_bounds(const firn_layout *layout, const firn_capacity *capacity)
{
    uint64_t id = 1;
    REQUIRE(firn_layout_smallest(layout, capacity->first_us, &id) == FIRN_OK && id == 0);
    REQUIRE(firn_layout_largest(layout, capacity->end_us - 1, &id) == FIRN_OK);
    const unsigned bits = bits_of(layout);
    REQUIRE(id == (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1));
    const uint64_t last = id;
    REQUIRE(firn_layout_smallest(layout, capacity->first_us - 1, &id) == FIRN_E_TIME_RANGE);
    REQUIRE(firn_layout_largest(layout, capacity->end_us, &id) == FIRN_E_TIME_RANGE);
    REQUIRE(id == last);
}

static void check_capacity(const firn_layout *layout)
{
    firn_capacity capacity;
    REQUIRE(firn_layout_capacity(layout, &capacity) == FIRN_OK);
    REQUIRE(capacity.workers == UINT64_C(1) << (layout->datacenter_bits + layout->worker_bits));
    REQUIRE(capacity.ids_per_tick >= 1);
    REQUIRE(capacity.first_us == layout->epoch_ms * 1000);
    REQUIRE(capacity.end_us > capacity.first_us);
    REQUIRE(capacity.negative_us > capacity.first_us && capacity.negative_us <= capacity.end_us);
    REQUIRE(capacity.negative_us == capacity.end_us || bits_of(layout) == 64);
    REQUIRE(capacity.javascript_us >= capacity.first_us);
    REQUIRE(capacity.javascript_us <= capacity.end_us);
    REQUIRE(capacity.javascript_us == capacity.end_us || bits_of(layout) > 53);
    check_bounds(layout, &capacity);
    for (unsigned allow = 0; allow < 4; allow++) {
        firn_error error;
        const int status = firn_layout_check(layout, capacity.first_us, allow, &error);
        REQUIRE(status == FIRN_OK || error.status == status);
        REQUIRE(firn_layout_check(layout, capacity.first_us - 1, allow, NULL) < 0);
        REQUIRE(firn_layout_check(layout, capacity.end_us, allow, NULL) < 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    firn_layout layout;
    firn_layout untouched;
    firn_error error = {0};
    memset(&layout, 0x5a, sizeof layout);
    untouched = layout;
    const int status = firn_layout_parse(text, &layout, &error);
    if (status != FIRN_OK) {
        check_refusal(status, text, &error);
        REQUIRE(equal(&layout, &untouched));
        free(text);
        return 0;
    }
    check_text(&layout);
    check_capacity(&layout);
    const unsigned bits = bits_of(&layout);
    uint64_t id = UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned shift = 0; shift < 64; shift++) {
        check_id(&layout, id >> shift);
        check_id(&layout, UINT64_MAX >> shift);
    }
    check_id(&layout, bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
    check_id(&layout, 0);
    free(text);
    return 0;
}
