/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Stands in the place of src/core/atomic.h: the same functions, as steps of the explorer. */
#ifndef FIRN_CORE_ATOMIC_H
#define FIRN_CORE_ATOMIC_H

#include "explore.h"

static inline uint64_t firn__load(const uint64_t *at)
{
    return explore_switch() ? explore_log(*at) : explore_recall();
}

static inline void firn__store(uint64_t *at, uint64_t value)
{
    if (explore_switch()) {
        (void)explore_log(0);
        *at = value;
    } else {
        (void)explore_recall();
    }
}

static inline bool firn__compare_swap(uint64_t *at, uint64_t *expected, uint64_t desired)
{
    const bool now = explore_switch();
    const uint64_t found = now ? explore_log(*at) : explore_recall();
    if (found != *expected) {
        *expected = found;
        return false;
    }
    if (now) {
        *at = desired;
    }
    return true;
}

static inline uint64_t firn__fetch_add(uint64_t *at, uint64_t addend)
{
    if (!explore_switch()) {
        return explore_recall();
    }
    const uint64_t old = explore_log(*at);
    *at = old + addend;
    return old;
}

static inline uint64_t firn__count_read(const uint64_t *at)
{
    return explore_switch_counter() ? explore_log(*at) : explore_recall();
}

static inline void firn__count_add(uint64_t *at, uint64_t addend)
{
    if (explore_switch_counter()) {
        (void)explore_log(0); /* it returns nothing */
        *at += addend;
    } else {
        (void)explore_recall();
    }
}

static inline void firn__count_raise(uint64_t *at, uint64_t value)
{
    if (explore_switch_counter()) {
        (void)explore_log(0);
        *at = *at < value ? value : *at;
    } else {
        (void)explore_recall();
    }
}

static inline bool firn__count_change(uint64_t *at, uint64_t value)
{
    if (!explore_switch_counter()) {
        return explore_recall() != value;
    }
    const uint64_t old = explore_log(*at);
    *at = value;
    return old != value;
}

#endif
