/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* What the rest of the library asks of a layout beyond the public header: ticks. */
#ifndef FIRN_CORE_LAYOUT_H
#define FIRN_CORE_LAYOUT_H

#include "firn/layout.h"

#define FIRN__TICK_MIN_NS      1000
#define FIRN__SECOND_NS        INT64_C(1000000000)
#define FIRN__EPOCH_DEFAULT_MS INT64_C(1735689600000)
#define FIRN__WORKER_BITS_MAX  32

/* The lowest bits set; bits is 0 to 64. */
static inline uint64_t firn__mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static inline unsigned firn__worker_number_bits(const firn_layout *layout)
{
    return (unsigned)layout->datacenter_bits + layout->worker_bits;
}

static inline uint64_t firn__tick_last(const firn_layout *layout)
{
    return firn__mask(layout->time_bits);
}

/* Unix microseconds at which a tick starts. It cannot overflow: parse refuses such layouts. */
static inline int64_t firn__tick_start_us(const firn_layout *layout, uint64_t tick)
{
    return layout->epoch_ms * 1000 + (int64_t)(tick * (uint64_t)(layout->tick_ns / 1000));
}

/* The worker number, datacenter included, at its place in the id. */
static inline uint64_t firn__worker_place(const firn_layout *layout, uint32_t worker)
{
    const uint64_t low = worker & firn__mask(layout->worker_bits);
    const uint64_t high = (uint64_t)worker >> layout->worker_bits;
    return low << layout->worker_shift | high << layout->datacenter_shift;
}

/* The first tick that starts at or after an instant, and the first tick that ends after it, both
 * held to [0, tick_last + 1]. */
uint64_t firn__tick_from_ms(const firn_layout *layout, int64_t at_ms);
uint64_t firn__tick_until_ms(const firn_layout *layout, int64_t at_ms);

#endif
