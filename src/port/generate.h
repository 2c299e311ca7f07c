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

/* One id by the coarse clock; FIRN__STALE leaves it to the precise one. */
int firn__generate_coarse(firn_generator *gen, uint64_t *id_out);

static inline int firn__generate_one(firn_generator *gen, const firn__environment *env,
                                     uint64_t *id_out)
{
    if (gen->clock == FIRN_CLOCK_COARSE && env == NULL) {
        const int status = firn__generate_coarse(gen, id_out);
        if (status != FIRN__STALE) {
            return status;
        }
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

/* One id from a run, which must be of this process; FIRN__STALE when it has none for this tick. */
static inline int firn__generate_run(firn_run *run, const firn__environment *env, uint64_t *id_out)
{
    const firn_generator *gen = run->generator;
    const int64_t now_ns = gen->clock == FIRN_CLOCK_COARSE && env == NULL ? firn__clock_coarse_ns()
                                                                          : firn__real_ns(env);
    if (run->left == 0 || (uint64_t)(now_ns - run->from_ns) >= run->span_ns) {
        return FIRN__STALE;
    }
    *id_out = run->next;
    run->next += UINT64_C(1) << gen->sequence_shift;
    run->left--;
    return FIRN_OK;
}

/* Drops what a run holds, takes a new one and gives its first id. */
int firn__generate_refill(firn_run *run, const firn__environment *env, uint64_t *id_out);

#endif
