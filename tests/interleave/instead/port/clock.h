/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Stands in the place of src/port/clock.h: the same functions on the explorer's clock. */
#ifndef FIRN_PORT_CLOCK_H
#define FIRN_PORT_CLOCK_H

#include "explore.h"

#define FIRN__FOREVER INT64_MAX

static inline int64_t firn__clock_real_ns(void)
{
    return explore_clock_precise_ns();
}

static inline int64_t firn__clock_coarse_ns(void)
{
    return explore_clock_coarse_ns();
}

/* Only deadlines are made of it, and a wait's deadline is when the scripted clock moves no more. */
static inline int64_t firn__clock_monotonic_ns(void)
{
    return 0;
}

static inline int firn__clock_wait(int64_t at_ns, int64_t deadline_ns)
{
    (void)deadline_ns;
    return explore_clock_wait(at_ns);
}

#endif
