/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Random layouts: every field order, width, tick and epoch that firn_layout_parse() accepts. */
#ifndef FIRN_TESTS_UNIT_RANDOM_LAYOUT_H
#define FIRN_TESTS_UNIT_RANDOM_LAYOUT_H

#include <assert.h>
#include <stdbool.h>

#include "firn/layout.h"
#include "random.h"

/* 2199-12-31, the last midnight before the limit of epochs. */
#define RANDOM_EPOCH_DAYS 84006

/* The letters but t, some left out, in any order. */
static inline size_t random_letters(uint64_t *random, bool unknown, char letters[4])
{
    const char all[4] = {'d', 'w', 's', 'x'};
    size_t count = 0;
    for (size_t i = 0; i < 4; i++) {
        if ((all[i] == 'x' && !unknown) || random_below(random, 4) == 0) {
            continue;
        }
        const size_t place = (size_t)random_below(random, count + 1);
        letters[count] = letters[place];
        letters[place] = all[i];
        count++;
    }
    return count;
}

static inline int random_fields(uint64_t *random, bool unknown, char *text, size_t text_size)
{
    char letters[4];
    const size_t count = random_letters(random, unknown, letters);
    unsigned left = 64;
    unsigned worker_left = 32;
    unsigned bits = 1 + (unsigned)random_below(random, 62);
    int size = snprintf(text, text_size, "t%u", bits);
    left -= bits;
    for (size_t i = 0; i < count && left > 0; i++) {
        const bool worker = letters[i] == 'd' || letters[i] == 'w';
        const unsigned limit = worker && worker_left < left ? worker_left : left;
        if (limit == 0) {
            continue;
        }
        bits = 1 + (unsigned)random_below(random, limit);
        left -= bits;
        worker_left -= worker ? bits : 0;
        size += snprintf(text + size, text_size - (size_t)size, "%c%u", letters[i], bits);
    }
    return size;
}

static inline uint64_t random_tick_us(uint64_t *random)
{
    static const uint64_t ticks_us[] = {1, 2, 5, 64, 125, 1000, 1000, 1000, 10000, 250000, 1000000};
    return ticks_us[random_below(random, sizeof ticks_us / sizeof ticks_us[0])];
}

static inline uint64_t random_epoch_ms(uint64_t *random)
{
    switch (random_below(random, 4)) {
    case 0:
        return 0;
    case 1:
        return 86400000 * (1158 + random_below(random, RANDOM_EPOCH_DAYS - 1158));
    default:
        return UINT64_C(100000000000) + random_below(random, UINT64_C(1700000000000));
    }
}

/* Fills in a layout; text is what it was parsed from. With unknown, some have x bits. */
static inline void random_layout(uint64_t *random, bool unknown, firn_layout *layout_out,
                                 char text[128])
{
    int status;
    do {
        const int size = random_fields(random, unknown, text, 128);
        (void)snprintf(text + size, 128 - (size_t)size, "/%" PRIu64 "us@%" PRIu64,
                       random_tick_us(random), random_epoch_ms(random));
        status = firn_layout_parse(text, layout_out, NULL);
    } while (status == FIRN_E_LAYOUT_LIFE);
    assert(status == FIRN_OK);
}

#endif
