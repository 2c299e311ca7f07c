/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The step: one pure function that decides which ids come next. It reads no clock and writes no
 * state; generator.c makes it happen in one atomic operation. */
#ifndef FIRN_CORE_STEP_H
#define FIRN_CORE_STEP_H

#include <stdbool.h>

#include "core/layout.h"
#include "firn/generator.h"

/* What a step gives. Only back_ticks is set when the status is not FIRN_OK. */
typedef struct firn__step_result {
    uint64_t word;       /* the new state */
    uint64_t tick;       /* of the ids */
    uint64_t sequence;   /* of the first id */
    uint64_t count;      /* how many ids, from there on */
    uint64_t back_ticks; /* how far now is behind the word's tick */
    bool fresh;          /* the first ids of a tick */
} firn__step_result;

static inline uint64_t firn__word_tick(const firn_rules *rules, uint64_t word)
{
    return word >> rules->word_shift;
}

static inline uint64_t firn__word_sequence(const firn_rules *rules, uint64_t word)
{
    return word & firn__mask(rules->word_shift);
}

/* How many sequence numbers the word's tick has left. A word may stand past the last one: that is
 * what is left of lost races (see generator.c). */
static inline uint64_t firn__word_left(const firn_rules *rules, uint64_t word)
{
    const uint64_t sequence = firn__word_sequence(rules, word);
    return sequence >= rules->sequence_last ? 0 : rules->sequence_last - sequence;
}

/* The word after which nothing comes: the layout's last tick, full. It also marks a retired
 * generator. */
static inline uint64_t firn__word_final(const firn_rules *rules)
{
    return rules->tick_last << rules->word_shift | rules->sequence_last;
}

static inline bool firn__word_is_final(const firn_rules *rules, uint64_t word)
{
    return word >= firn__word_final(rules);
}

/* Spreads the bits of a number evenly: two rounds of multiply and shift. */
static inline uint64_t firn__scatter(uint64_t number)
{
    number = (number ^ number >> 32) * UINT64_C(0xd6e8feb86659fd93);
    number = (number ^ number >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return number ^ number >> 32;
}

/* Where the sequence of a fresh tick starts: a function of its arguments alone. */
static inline uint64_t firn__step_start(const firn_rules *rules, uint64_t word, uint64_t tick)
{
    switch (rules->sequence_start) {
    case FIRN_START_RANDOM:
        return firn__scatter(tick ^ rules->seed) & rules->start_mask;
    case FIRN_START_CARRIED:
        return (firn__word_sequence(rules, word) + 1) & rules->start_mask;
    default:
        return 0;
    }
}

static inline void firn__step_take(const firn_rules *rules, uint64_t tick, uint64_t sequence,
                                   uint64_t left, uint64_t want, firn__step_result *out)
{
    out->tick = tick;
    out->sequence = sequence;
    out->count = want < left ? want : left;
    out->word = tick << rules->word_shift | (sequence + out->count - 1);
}

/*
 * Decides the next ids.
 *
 * word       the state.
 * now_tick   the clock, in ticks.
 * end_tick   the window's end: the first tick that may not be stamped.
 * want       how many ids, at least 1.
 * start      where a fresh tick's sequence starts; at most sequence_last.
 *
 * Returns    FIRN_OK, or FIRN_E_SEQUENCE_FULL, _CLOCK_WAIT, _CLOCK_BACK, _WINDOW, _LAYOUT_END or
 *            _RETIRED: then the state stays as it is.
 */
static inline int firn__step(const firn_rules *rules, uint64_t word, uint64_t now_tick,
                             uint64_t end_tick, uint64_t want, uint64_t start,
                             firn__step_result *out)
{
    const uint64_t tick = firn__word_tick(rules, word);
    out->back_ticks = 0;
    out->fresh = now_tick > tick;
    if (now_tick > rules->tick_last) {
        return FIRN_E_LAYOUT_END;
    }
    if (firn__word_is_final(rules, word)) {
        return FIRN_E_RETIRED;
    }
    if (now_tick >= end_tick) {
        return FIRN_E_WINDOW;
    }
    if (out->fresh) {
        firn__step_take(rules, now_tick, start, rules->sequence_last - start + 1, want, out);
        return FIRN_OK;
    }
    out->back_ticks = tick - now_tick;
    if (out->back_ticks > rules->back_max_ticks ||
        (out->back_ticks != 0 && rules->on_clock_back == FIRN_BACK_REFUSE)) {
        return FIRN_E_CLOCK_BACK;
    }
    if (out->back_ticks != 0 && rules->on_clock_back == FIRN_BACK_WAIT) {
        return FIRN_E_CLOCK_WAIT;
    }
    const uint64_t left = firn__word_left(rules, word);
    if (left == 0) {
        return FIRN_E_SEQUENCE_FULL;
    }
    firn__step_take(rules, tick, firn__word_sequence(rules, word) + 1, left, want, out);
    return FIRN_OK;
}

#endif
