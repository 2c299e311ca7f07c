/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Clocks and waiting. Reads are inline: they stand in the hot path. */
#ifndef FIRN_PORT_CLOCK_H
#define FIRN_PORT_CLOCK_H

#include <stdint.h>
#include <time.h>

#define FIRN__FOREVER INT64_MAX

static inline int64_t firn__clock_read_ns(clockid_t clock)
{
    struct timespec at;
    (void)clock_gettime(clock, &at); /* cannot fail for the clocks below */
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static inline int64_t firn__clock_real_ns(void)
{
    return firn__clock_read_ns(CLOCK_REALTIME);
}

static inline int64_t firn__clock_coarse_ns(void)
{
    return firn__clock_read_ns(CLOCK_REALTIME_COARSE);
}

static inline int64_t firn__clock_monotonic_ns(void)
{
    return firn__clock_read_ns(CLOCK_MONOTONIC);
}

void firn__clock_sleep(int64_t span_ns);

/*
 * Waits until CLOCK_REALTIME reads at_ns, or for a while: it sleeps until shortly before, in
 * slices, so that a clock that is set meanwhile is noticed, then spins.
 *
 * Returns    0; the caller looks at the clock again. -1 when the deadline has passed.
 */
int firn__clock_wait(int64_t at_ns, int64_t deadline_ns);

#endif
