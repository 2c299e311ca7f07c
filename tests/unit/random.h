/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Random numbers for tests, from a seed that is printed and can be given back. Not for ids. */
#ifndef FIRN_TESTS_UNIT_RANDOM_H
#define FIRN_TESTS_UNIT_RANDOM_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The seed: FIRN_TEST_SEED, or else the clock. Printed, so that a failure can be replayed. */
static inline uint64_t random_seed(const char *test)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const char *given = getenv("FIRN_TEST_SEED");
    const uint64_t seed = given != NULL
                              ? strtoull(given, NULL, 10)
                              : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    printf("%s: FIRN_TEST_SEED=%" PRIu64 "\n", test, seed);
    return seed;
}

/* The next 64 bits; state is the seed at first. A Weyl sequence and a mixing hash of it. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* 0 to 64 random bits, so that small numbers are as likely as large ones. */
static inline uint64_t random_any_size(uint64_t *state)
{
    const unsigned bits = (unsigned)(random_next(state) % 65);
    return bits == 0 ? 0 : random_next(state) >> (64 - bits);
}

/* 0 to limit - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return random_next(state) % limit;
}

#endif
