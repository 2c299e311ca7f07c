/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Every interleaving of a few threads. A thread is a plain function; what it does between two
 * switch points depends only on the results of its operations until then. So a thread needs no
 * stack of its own: it runs from the start each time, is given the results that it got before, does
 * one new operation, and is left at the next.
 *
 * Two orders that leave the same shared bytes, the same clock and the same results to every thread
 * have the same future. Such states are told by 128 bits of hash and explored once; how many
 * schedules lead through them is counted all the same. Results of calls that are over matter only
 * through what explore_forget() keeps of them; and of threads with one program it does not matter
 * which is which.
 *
 * Operations happen one after the other: this shows what orders do, not what weak memory does. */
#ifndef FIRN_TESTS_INTERLEAVE_EXPLORE_H
#define FIRN_TESTS_INTERLEAVE_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_THREADS_MAX  3
#define EXPLORE_SHARED_MAX   512
#define EXPLORE_OBSERVED_MAX 2

/* What the clocks show. Moving from one to the next is a step like any other. */
typedef struct explore_time {
    int64_t precise_ns;
    int64_t coarse_ns;
} explore_time;

typedef struct explore_model {
    void *shared; /* all that steps change */
    size_t shared_size;
    size_t compared_size; /* compared byte by byte; the rest only sums up what threads know */
    unsigned threads;
    unsigned twins[EXPLORE_THREADS_MAX]; /* the first thread that has the same program */
    const explore_time *times;
    unsigned times_count;
    bool counters_switch; /* whether counters that order nothing are switch points too */
    /* What a call notes just before its first operation; see explore_begin(). */
    const uint64_t *observed[EXPLORE_OBSERVED_MAX];
    void (*run)(unsigned thread);           /* a whole thread, from its start */
    void (*check_step)(const void *before); /* before: shared as it was */
    void (*check_end)(void);                /* when all threads are through */
} explore_model;

typedef struct explore_result {
    double schedules; /* how many orders there are; all are covered unless violation is set */
    uint64_t states;  /* how many different states they lead through */
    const char *violation;
    char schedule[256]; /* the order that led to it: a letter a thread, + for the clock */
} explore_result;

void explore(const explore_model *of, explore_result *result_out);

/* Ends the exploration: the promise that was broken. The text must stay. Returns from a check; not
 * from a thread. */
void explore_fail(const char *text);

/* Whether this part of a thread runs for the first time: checks belong here. */
bool explore_is_new(void);

/* A call begins: the observed words are noted just before its first operation, for it could have
 * begun as late as that. */
void explore_begin(void);
uint64_t explore_observed(unsigned index);

/* Between two calls: all that the rest of the thread, and the checks, know of what it did. Compared
 * byte by byte. */
void explore_forget(const void *known, size_t known_size);

/* The index of the last time that the running thread has read, and of the present. */
unsigned explore_time_read(void);
unsigned explore_time_now(void);

/* For the replaced atomics: a switch point. True: do the operation now and log its result. False:
 * it was done; recall its result. */
bool explore_switch(void);
/* The same for a counter that orders nothing. */
bool explore_switch_counter(void);
uint64_t explore_log(uint64_t result);
uint64_t explore_recall(void);

/* For the replaced clocks: switch points. */
int64_t explore_clock_precise_ns(void);
int64_t explore_clock_coarse_ns(void);
/* The thread goes on when the clock shows at_ns or more, or moves no further. Returns 0 or -1. */
int explore_clock_wait(int64_t at_ns);

#endif
