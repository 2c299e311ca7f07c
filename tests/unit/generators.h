/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Generators for tests: calls that must succeed, on layouts given as text. Include it after
 * cmocka.h. */
#ifndef FIRN_TESTS_UNIT_GENERATORS_H
#define FIRN_TESTS_UNIT_GENERATORS_H

#include "core/generator.h"

#define MS INT64_C(1000000)
/* 2026-10-14T10:00:00.123Z */
#define NOW_MS INT64_C(1791972000123)
#define NOW_NS (NOW_MS * MS)

static inline firn_layout layout_of(const char *text)
{
    firn_layout layout;
    assert_int_equal(firn_layout_parse(text, &layout, NULL), FIRN_OK);
    return layout;
}

static inline void make(firn_generator *gen, const char *layout_text, uint32_t worker,
                        const firn_generator_options *options)
{
    const firn_layout layout = layout_of(layout_text);
    firn_error error;
    if (firn_generator_init(gen, &layout, worker, options, &error) < 0) {
        fail_msg("%s: %s", layout_text, error.text);
    }
}

static inline uint64_t next_at(firn_generator *gen, int64_t now_ns)
{
    uint64_t id;
    assert_int_equal(firn_generator_next_at(gen, now_ns, &id), FIRN_OK);
    return id;
}

static inline firn_batch try_at(firn_generator *gen, int64_t now_ns, uint64_t count)
{
    firn_batch batch;
    assert_int_equal(firn_generator_try_at(gen, now_ns, count, &batch), FIRN_OK);
    return batch;
}

static inline firn_statistics statistics_of(const firn_generator *gen)
{
    firn_statistics statistics;
    assert_int_equal(firn_generator_statistics(gen, &statistics), FIRN_OK);
    return statistics;
}

#endif
