/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The generator's hot path with a clock, inline: for the functions of firn/generator.h and for the
 * handle of firn/firn.h. */
#ifndef FIRN_PORT_GENERATE_H
#define FIRN_PORT_GENERATE_H

#include "core/generator.h"
#include "port/environment.h"

/* How many ids a run takes at once. */
#define FIRN__RUN_IDS 64

static inline int firn__generate_precise(firn_generator *gen, const firn__environment *env,
                                         uint64_t *id_out)
{
    for (;;) {
        /* The word first, then the clock: so that an earlier clock means a clock that went back. */
        const uint64_t word = firn__load(&gen->word);
        const int status = firn__generator_one(gen, word, firn__real_ns(env), false, id_out);
        if (status != FIRN__STALE) {
            return status;
        }
    }
}

/* How many ticks the coarse clock may lag unseen. A policy that makes nothing while the clock is behind
 * needs the precise one to tell a lag from a step. */
static inline uint64_t firn__coarse_lag(const firn_generator *gen)
{
    return gen->rules.on_clock_back == FIRN_BACK_CONTINUE ? gen->coarse_ticks : 0;
}

/* The tick that the coarse clock stands for, when it is good enough: its lag is bounded, and the
 * word proves that the precise clock has stood at the word's tick. */
static inline bool firn__coarse_tick(const firn_generator *gen, uint64_t word, uint64_t *tick_out)
{
    const int64_t now_ns = firn__clock_coarse_ns();
    if (now_ns < gen->epoch_ns) {
        return false;
    }
    const uint64_t tick = firn__generator_tick(gen, now_ns);
    const uint64_t word_tick = firn__word_tick(&gen->rules, word);
    *tick_out = tick < word_tick ? word_tick : tick;
    return *tick_out - tick <= firn__coarse_lag(gen);
}

/* One id by the coarse clock; false leaves it to the precise one. */
static inline bool firn__generate_coarse(firn_generator *gen, uint64_t *id_out)
{
    const uint64_t word = firn__load(&gen->word);
    uint64_t tick;
    firn_batch batch;
    if (!firn__coarse_tick(gen, word, &tick)) {
        return false;
    }
    if (firn__generator_add(gen, word, tick, id_out)) {
        return true;
    }
    if (firn__generator_take(gen, word, tick, 1, false, &batch) != FIRN_OK) {
        return false;
    }
    *id_out = batch.first;
    return true;
}

static inline int firn__generate_one(firn_generator *gen, const firn__environment *env,
                                     uint64_t *id_out)
{
    if (gen->clock == FIRN_CLOCK_COARSE && env == NULL && firn__generate_coarse(gen, id_out)) {
        return FIRN_OK;
    }
    return firn__generate_precise(gen, env, id_out);
}

/* Up to count ids of one tick. */
int firn__generate_batch(firn_generator *gen, const firn__environment *env, uint64_t count,
                         firn_batch *batch_out);

void firn__generate_fill(const firn_batch *batch, uint64_t *ids_out);

/* Whether a status passes when the next tick comes. */
static inline bool firn__generate_worth_waiting(int status)
{
    return status == FIRN_E_SEQUENCE_FULL || status == FIRN_E_CLOCK_WAIT;
}

/* Waits for the tick after the word's, or a part of the way. Returns FIRN_OK or FIRN_E_DEADLINE. */
int firn__generate_wait(firn_generator *gen, const firn__environment *env, int64_t deadline_ns);

/* One id from a run; false when it has none that is good for this process and this tick. */
static inline bool firn__generate_run(firn_run *run, const firn__environment *env, uint64_t *id_out)
{
    if (run->left == 0 || *firn__memory_fork_word != run->fork_mark ||
        firn__load(&run->generator->retired) != 0) {
        return false;
    }
    const int64_t now_ns =
        run->coarse && env == NULL ? firn__clock_coarse_ns() : firn__real_ns(env);
    /* One comparison for both ends: earlier wraps to a huge number. */
    if ((uint64_t)(now_ns - run->from_ns) >= run->span_ns) {
        return false;
    }
    *id_out = run->next;
    run->next += run->stride;
    run->left--;
    return true;
}

/* Drops what a run holds, takes a new one and gives its first id. */
int firn__generate_refill(firn_run *run, const firn__environment *env, uint64_t *id_out);

#endif
