/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * The generator's hot path, inline so that the clocked functions of src/port and the handle of
 * src/registry get one straight line of code.
 *
 * Who may touch what:
 *   word         anyone, by compare-and-swap or fetch-and-add; it only grows
 *   last_word    raised by retire before it swaps the word
 *   retired      set by retire, before the word
 *   end_tick     raised by the lease's holder, by compare-and-swap; read by all
 *   counters     anyone, relaxed; they order nothing
 *   the rest     written by init before anyone else knows the generator
 *
 * Why fetch-and-add is safe. A call adds 1 only after it has loaded a word with its own tick and
 * room left. If others were faster, the sum stands past sequence_last: nobody owns that number, and
 * the caller tries again. A thread adds at most one such surplus before it sees a full tick, so a
 * tick's surplus is below the number of threads; rules.additive is set only when the bits between
 * sequence and tick (the worker's place in the id, which the word does not need) hold
 * FIRN__THREADS_MAX.
 */
#ifndef FIRN_CORE_GENERATOR_H
#define FIRN_CORE_GENERATOR_H

#include "core/atomic.h"
#include "core/step.h"

/* Linux allows no more threads than this (PID_MAX_LIMIT). */
#define FIRN__THREADS_MAX     (UINT64_C(1) << 22)
#define FIRN__GENERATOR_MAGIC UINT64_C(0x6669726e67656e31)
/* Not for callers: the word has moved past the clock reading, so that reading says nothing about
 * the clock; read it again. */
#define FIRN__STALE 1000

static inline bool firn__generator_ready(const firn_generator *gen)
{
    return gen != NULL && gen->magic == FIRN__GENERATOR_MAGIC;
}

/* The upper half of a 64 by 64 bit product. */
static inline uint64_t firn__multiply_high(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
}

/* now_ns is at or after the epoch. Exact for all spans below 2^63; see init. */
static inline uint64_t firn__generator_tick(const firn_generator *gen, int64_t now_ns)
{
    const uint64_t span_ns = (uint64_t)now_ns - (uint64_t)gen->epoch_ns;
    return firn__multiply_high(span_ns, gen->tick_magic) >> gen->tick_magic_shift;
}

static inline uint64_t firn__generator_id(const firn_generator *gen, uint64_t tick,
                                          uint64_t sequence)
{
    return tick << gen->time_shift | gen->worker_bits | sequence << gen->sequence_shift;
}

/*
 * Takes up to want ids of one tick.
 *
 * word       as loaded before the clock was read.
 * given      the clock is the caller's word; it is never stale.
 *
 * Returns    as firn_generator_next(), or FIRN__STALE.
 */
int firn__generator_take(firn_generator *gen, uint64_t word, uint64_t now_tick, uint64_t want,
                         bool given, firn_batch *batch_out);

/* Makes ticks before this one unusable; before anyone else knows the generator. */
void firn__generator_skip(firn_generator *gen, uint64_t tick);

/* The word of the last id, also after firn_generator_retire(). */
uint64_t firn__generator_last_word(const firn_generator *gen);

/* One id, when the word stands in this tick and has room: the common case, in one fetch-and-add.
 * False leaves the rest to firn__generator_take(). */
static inline bool firn__generator_add(firn_generator *gen, uint64_t word, uint64_t now_tick,
                                       uint64_t *id_out)
{
    const firn_rules *rules = &gen->rules;
    if (firn__word_tick(rules, word) != now_tick || firn__word_left(rules, word) == 0 ||
        !rules->additive) {
        return false;
    }
    const uint64_t old = firn__fetch_add(&gen->word, 1);
    if (firn__word_left(rules, old) == 0) {
        return false;
    }
    /* Another thread may have moved the word on to a later tick meanwhile: it checked the window.
     */
    *id_out =
        firn__generator_id(gen, firn__word_tick(rules, old), firn__word_sequence(rules, old) + 1);
    return true;
}

/* One id at a clock reading; word was loaded before it. */
static inline int firn__generator_one(firn_generator *gen, uint64_t word, int64_t now_ns,
                                      bool given, uint64_t *id_out)
{
    if (now_ns < gen->epoch_ns) {
        return FIRN_E_CLOCK_EPOCH;
    }
    const uint64_t now_tick = firn__generator_tick(gen, now_ns);
    if (firn__generator_add(gen, word, now_tick, id_out)) {
        return FIRN_OK;
    }
    firn_batch batch;
    const int status = firn__generator_take(gen, word, now_tick, 1, given, &batch);
    if (status == FIRN_OK) {
        *id_out = batch.first;
    }
    return status;
}

#endif
