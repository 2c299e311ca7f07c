/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The few atomic operations that firn uses, on plain uint64_t: so that the state's type can stand
 * in a C99 and C++11 header, and so that a test can put its scheduler in their place. */
#ifndef FIRN_CORE_ATOMIC_H
#define FIRN_CORE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* Memory shared between processes needs operations that take no lock. */
_Static_assert(__GCC_ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics must be lock-free");

/* Pairs with the release of firn__store() and firn__compare_swap(): without it a reader could see a
 * window's end, or a lease, before what it stands for. */
static inline uint64_t firn__load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Pairs with firn__load(). */
static inline void firn__store(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* On failure *expected is what stands there. Acquire and release, so that ids handed out by two
 * threads are ordered as the words are. */
static inline bool firn__compare_swap(uint64_t *at, uint64_t *expected, uint64_t desired)
{
    return __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* Returns what stood there. Orders as firn__compare_swap() does. */
static inline uint64_t firn__fetch_add(uint64_t *at, uint64_t addend)
{
    return __atomic_fetch_add(at, addend, __ATOMIC_ACQ_REL);
}

/* For counters that order nothing: relaxed, and paired with no access. */
static inline uint64_t firn__count_read(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static inline void firn__count_write(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static inline void firn__count_add(uint64_t *at, uint64_t addend)
{
    (void)__atomic_fetch_add(at, addend, __ATOMIC_RELAXED);
}

static inline void firn__count_raise(uint64_t *at, uint64_t value)
{
    uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
}

/* True for the one caller that changes a counter from another value to this one. */
static inline bool firn__count_change(uint64_t *at, uint64_t value)
{
    return __atomic_exchange_n(at, value, __ATOMIC_RELAXED) != value;
}

#endif
