/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Generators: the state from which one worker's ids are made, without a registry.
 *
 *     firn_layout layout;
 *     firn_layout_parse(FIRN_LAYOUT_DEFAULT, &layout, NULL);
 *     firn_generator generator;
 *     firn_generator_options options = firn_generator_options_default();
 *     firn_generator_init(&generator, &layout, 7, &options, NULL);
 *     uint64_t id;
 *     int status = firn_generator_next(&generator, &id);
 *
 * This is the lower half of firn: it never repeats an id of one generator, but who may use which
 * worker, and what was stamped before a crash, only a registry knows. Use firn/firn.h unless you
 * bring your own: then you promise that no other generator ever stamps this worker inside
 * [start_ms, end_ms).
 *
 * The state is 256 bytes, holds no pointer and needs no address: it works on a stack, in a file
 * mapping, or in memory shared between processes, all of which may use it at once.
 *
 * Functions named …_at take the clock as an argument and read none; the others read
 * CLOCK_REALTIME. Only functions with "wait" in their name wait.
 */
#ifndef FIRN_GENERATOR_H
#define FIRN_GENERATOR_H

#include <stddef.h>
#include <stdint.h>

#include "firn/layout.h"
#include "firn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to do while the clock is behind the last id by no more than back_max_ms. */
typedef enum firn_clock_back {
    FIRN_BACK_CONTINUE = 0, /* go on in the last tick while sequence is left, then wait */
    FIRN_BACK_WAIT = 1,     /* make nothing until the clock has passed the last id's tick */
    FIRN_BACK_REFUSE = 2    /* the same, but say FIRN_E_CLOCK_BACK at once */
} firn_clock_back;

/* Where the sequence of a fresh tick starts. The last two spread ids modulo powers of two at low
 * rates; they stay inside the first sixteenth of the sequence, so 15/16 of it is always left. */
typedef enum firn_sequence_start {
    FIRN_START_ZERO = 0,
    FIRN_START_RANDOM = 1, /* a keyed hash of the tick */
    FIRN_START_CARRIED = 2 /* after where the last tick ended */
} firn_sequence_start;

/* Which clock the functions that read one use. */
typedef enum firn_clock {
    FIRN_CLOCK_PRECISE = 0, /* CLOCK_REALTIME */
    /* CLOCK_REALTIME_COARSE: about a quarter of the cost, up to one kernel tick (1 to 10 ms) old,
     * never ahead. The precise clock is read only when a tick is full, so the rate is the same. */
    FIRN_CLOCK_COARSE = 1
} firn_clock;

/* Options. Start from firn_generator_options_default(); members are only ever added at the end. */
typedef struct firn_generator_options {
    size_t size; /* sizeof(firn_generator_options), set by the default function */
    /* The window: ticks that lie wholly or partly before start_ms, or partly after end_ms, are
     * never stamped, nor is the epoch's very first tick. Unix milliseconds. Default: the layout's
     * whole life. */
    int64_t start_ms;
    int64_t end_ms;
    int64_t back_max_ms;    /* default 10; 0 refuses every step back. Rounded up to ticks. */
    uint64_t sequence_seed; /* the key for FIRN_START_RANDOM; default 0 */
    int32_t on_clock_back;  /* a firn_clock_back */
    int32_t sequence_start; /* a firn_sequence_start */
    int32_t clock;          /* a firn_clock */
    int32_t reserved;
} firn_generator_options;

#if defined(__GNUC__)
#define FIRN_CACHE_ALIGNED __attribute__((aligned(64)))
#else
#define FIRN_CACHE_ALIGNED
#endif

/* The constants of the step: what it needs besides the word and the clock. */
typedef struct firn_rules {
    uint64_t sequence_last; /* ids per tick - 1 */
    uint64_t back_max_ticks;
    uint64_t tick_last;  /* the layout's last tick */
    uint64_t start_mask; /* fresh ticks start at most here */
    uint64_t seed;
    uint8_t word_shift; /* where the tick stands in the word */
    uint8_t on_clock_back;
    uint8_t sequence_start;
    uint8_t additive; /* the word has room for lost races: fetch-and-add may be used */
    uint8_t reserved[4];
} firn_rules;

/* A generator. The members are firn's own: read it through firn_generator_statistics(). */
typedef struct firn_generator {
    /* line 0, constant: the way from the clock to an id */
    int64_t epoch_ns;
    uint64_t tick_magic;  /* ticks = (ns * tick_magic >> 64) >> tick_magic_shift */
    uint64_t worker_bits; /* the worker number, at its place in the id */
    uint64_t tick_ns;
    uint64_t coarse_ticks; /* how far the coarse clock may lag */
    uint64_t magic;        /* says that init has run */
    uint32_t worker;
    uint8_t tick_magic_shift;
    uint8_t time_shift;
    uint8_t sequence_shift;
    uint8_t clock;
    uint64_t start_tick; /* the window's start */
    /* line 1, constant */
    firn_rules rules;
    uint64_t retired; /* for runs, which do not look at the word; set before it */
    uint64_t reserved1;
    /* line 2: what all threads write */
    FIRN_CACHE_ALIGNED uint64_t word; /* tick << word_shift | sequence, of the last id */
    uint64_t end_tick;                /* the window's end; only ever raised */
    uint64_t last_word;               /* after retire: the word until then, plus 1 */
    uint64_t reserved2[5];
    /* line 3: counted once a tick, or less */
    FIRN_CACHE_ALIGNED uint64_t made;
    uint64_t waits;
    uint64_t full_ticks;
    uint64_t back_count;
    uint64_t back_max_ns;
    uint64_t back_tick;
    uint64_t reserved3[2];
} FIRN_CACHE_ALIGNED firn_generator;

/* Ids taken at once: first, first + stride, … */
typedef struct firn_batch {
    uint64_t first;
    uint64_t stride;
    uint64_t count;
} firn_batch;

/* A run: ids of one tick that one thread has taken for itself. See firn_run_next(). */
typedef struct firn_run {
    firn_generator *generator;
    int64_t from_ns; /* the ids left are good while the clock is in [from_ns, from_ns + span_ns) */
    uint64_t span_ns;
    uint64_t next;
    uint64_t left;
    uint64_t stride;
    uint64_t fork_mark;
    uint32_t coarse; /* which clock the run was begun with */
    uint32_t reserved;
} firn_run;

/* Counters since firn_generator_init(). */
typedef struct firn_statistics {
    uint64_t made;        /* ids; exact when nobody is inside a call */
    uint64_t waits;       /* times that a waiting function slept or spun */
    uint64_t full_ticks;  /* ticks whose last id was made */
    uint64_t back_count;  /* clock steps back that were seen, small ones included */
    uint64_t back_max_ns; /* the largest of them, to the length of a tick */
    int64_t last_us;      /* the last id's tick; INT64_MIN before the first id */
} firn_statistics;

/* Fills in the defaults; use firn_generator_options_default(). options_size is sizeof *options. */
FIRN_API void firn_generator_options_fill(firn_generator_options *options, size_t options_size);

/*
 * The default options.
 *
 * Returns    options by value, with size set.
 * Threads    safe.
 * Since      0.1
 */
static inline firn_generator_options firn_generator_options_default(void)
{
    firn_generator_options options;
    firn_generator_options_fill(&options, sizeof options);
    return options;
}

/*
 * Make a generator in the caller's memory.
 *
 * gen        [1] uninitialised memory, aligned to 64 bytes. Nobody else may use it yet.
 * layout     copied.
 * worker     0 to the layout's workers - 1, datacenter included.
 * options    or NULL for the defaults.
 * error_out  [1] or NULL.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a NULL, an unaligned gen, an unknown option value, or a random
 *                                   or carried start with fewer than 32 ids a tick
 *            FIRN_E_LAYOUT_DECODE   the layout has unknown bits
 *            FIRN_E_FIELD_RANGE     worker does not fit
 *            FIRN_E_TIME_RANGE      the window holds no whole tick of the layout
 * Threads    safe for different gen.
 * Since      0.1
 */
FIRN_API int firn_generator_init(firn_generator *gen, const firn_layout *layout, uint32_t worker,
                                 const firn_generator_options *options, firn_error *error_out);

/*
 * Make the next id: one try, which never waits.
 *
 * gen        initialised by firn_generator_init(); any number of threads or processes may share it.
 * id_out     [1] the id. Untouched unless the result is FIRN_OK.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL, or gen was not initialised
 *            FIRN_E_SEQUENCE_FULL   no id left in this tick; firn_generator_retry_at_ns() says when
 *            FIRN_E_CLOCK_WAIT      the clock is behind the last id; as above
 *            FIRN_E_CLOCK_BACK      the clock is more than back_max_ms behind the last id, or behind
 *                                   the window's start
 *            FIRN_E_CLOCK_EPOCH     the clock is before the layout's epoch
 *            FIRN_E_LAYOUT_END      the clock is past the layout's last tick
 *            FIRN_E_WINDOW          the clock is at or past the window's end
 *            FIRN_E_RETIRED         firn_generator_retire() was called, or the layout's very last id
 *                                   was made
 * Order      ids from one generator strictly increase; between generators, by tick only.
 * Threads    safe, lock-free.   Signals  safe.   Fork  in shared memory, parent and child go on
 *            sharing it; in private memory a child must not use it.
 * Cost       one clock read and one atomic operation; no allocation, never waits.
 * Source     docs/design.md, "The step".
 * Since      0.1
 */
FIRN_API int firn_generator_next(firn_generator *gen, uint64_t *id_out);

/*
 * As firn_generator_next(), at a given time.
 *
 * now_ns     Unix nanoseconds; taken at its word, also when it is earlier than before.
 *
 * Returns    as firn_generator_next().
 * Threads    safe, lock-free.   Signals  safe.
 * Since      0.1
 */
FIRN_API int firn_generator_next_at(firn_generator *gen, int64_t now_ns, uint64_t *id_out);

/*
 * Take up to count ids at once, as first, stride and count: all that the tick has left, up to the
 * number wanted.
 *
 * now_ns     Unix nanoseconds; taken at its word.
 * count      at least 1.
 * batch_out  [1] the ids; its count is 1 to count.
 *
 * Returns    as firn_generator_next(); FIRN_E_ARGUMENT also when count is 0.
 * Threads    safe, lock-free.   Signals  safe.
 * Cost       one atomic operation, however many.
 * Since      0.1
 */
FIRN_API int firn_generator_try_at(firn_generator *gen, int64_t now_ns, uint64_t count,
                                   firn_batch *batch_out);

/*
 * Make up to count ids: as many as this tick has left, without waiting.
 *
 * ids_out    [count] the ids, in increasing order; only the first *made_out are written.
 * count      0 is allowed, and makes none.
 * made_out   [1] how many were made: 1 to count when the result is FIRN_OK.
 *
 * Returns    as firn_generator_next().
 * Threads    safe, lock-free.   Signals  safe.
 * Cost       one clock read and one atomic operation for all of them.
 * Since      0.1
 */
FIRN_API int firn_generator_next_many(firn_generator *gen, uint64_t *ids_out, size_t count,
                                      size_t *made_out);

/*
 * Make the next id, waiting for a tick if need be: it sleeps until shortly before the tick, then
 * spins.
 *
 * timeout_ns how long it may wait, by CLOCK_MONOTONIC; 0 is one try, negative is without limit.
 *
 * Returns    as firn_generator_next(), but for FIRN_E_SEQUENCE_FULL and FIRN_E_CLOCK_WAIT, which it
 *            waits out; and
 *            FIRN_E_DEADLINE        the time is over; nothing was taken
 * Threads    safe; holds no lock while it waits.   Signals  a signal does not end the wait.
 * Since      0.1
 */
FIRN_API int firn_generator_wait(firn_generator *gen, int64_t timeout_ns, uint64_t *id_out);

/*
 * Make exactly count ids, waiting for as many ticks as they need.
 *
 * ids_out    [count] the ids, in increasing order.
 * made_out   [1] how many were made; count when the result is FIRN_OK. When it is not, the ids made
 *            until then are valid, and ids_out[*made_out …] is untouched.
 *
 * Returns    as firn_generator_wait().
 * Threads    safe; holds no lock while it waits.
 * Since      0.1
 */
FIRN_API int firn_generator_wait_many(firn_generator *gen, int64_t timeout_ns, uint64_t *ids_out,
                                      size_t count, size_t *made_out);

/*
 * When a call that failed with FIRN_E_SEQUENCE_FULL or FIRN_E_CLOCK_WAIT may succeed: the start of
 * the tick after the last id's.
 *
 * at_ns_out  [1] Unix nanoseconds; INT64_MAX when there is no such tick.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL, or gen was not initialised
 * Threads    safe, lock-free.
 * Since      0.1
 */
FIRN_API int firn_generator_retry_at_ns(const firn_generator *gen, int64_t *at_ns_out);

/*
 * Raise the window's end: the ticks up to it have been reserved, durably, for this generator.
 *
 * end_ms     Unix milliseconds; an end below the present one changes nothing.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        gen is NULL or was not initialised
 *            FIRN_E_RETIRED         the generator was retired
 * Threads    safe, lock-free.
 * Since      0.1
 */
FIRN_API int firn_generator_extend(firn_generator *gen, int64_t end_ms);

/*
 * End a generator for ever: no call that begins after this returns gets another id from it, in any
 * thread or process; not from a run either.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        gen is NULL or was not initialised
 * Threads    safe, lock-free.
 * Since      0.1
 */
FIRN_API int firn_generator_retire(firn_generator *gen);

/*
 * Read the counters.
 *
 * statistics_out [1] the counters.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL, or gen was not initialised
 * Threads    safe; while others are inside a call, made and full_ticks may be a tick off.
 * Since      0.1
 */
FIRN_API int firn_generator_statistics(const firn_generator *gen, firn_statistics *statistics_out);

/*
 * Begin a run: an opt-in for threads that make many ids. A run takes some ids of a tick in one
 * atomic operation and gives them to its thread without another; when the tick is over it drops
 * the rest.
 *
 * run        [1] uninitialised memory; for one thread. There is nothing to end.
 * gen        initialised; it must outlive the run.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL, or gen was not initialised
 *            FIRN_E_UNSUPPORTED     the kernel cannot wipe a page at fork (Linux before 4.14)
 * Threads    one run a thread.
 * Since      0.1
 */
FIRN_API int firn_run_init(firn_run *run, firn_generator *gen);

/*
 * Make the next id from a run; when it is used up, from the generator.
 *
 * id_out     [1] the id. Untouched unless the result is FIRN_OK.
 *
 * Returns    as firn_generator_next().
 * Order      inside a run ids strictly increase; between two runs of one generator, by tick only.
 * Threads    one run a thread, any number of runs a generator.   Fork  a child's copy of a run
 *            drops what it holds, however the child was made.
 * Cost       one clock read; an atomic operation once in 64 ids, or once a tick.
 * Since      0.1
 */
FIRN_API int firn_run_next(firn_run *run, uint64_t *id_out);

#ifdef __cplusplus
}
#endif

#endif
