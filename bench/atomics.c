/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * How a word is best moved on: compare-and-swap, fetch-and-add, a mutex, and what firn does, each
 * with a fresh clock an id. It shows why src/core/generator.h adds instead of swapping; the results
 * are in docs/performance.md.
 *
 *     bench-atomics [THREADS [SECONDS]]
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/generator.h"
#include "port/clock.h"
#include "port/generate.h"

#define THREADS_MAX 64
#define REPEATS     7
#define CHUNK       1000
#define WIDE_LAYOUT "t41w1s21@2025-01-01"

static firn_generator generator;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t stop;

static uint64_t by_clock_alone(void)
{
    return (uint64_t)firn__clock_real_ns();
}

/* The textbook loop: the clock is read again after a lost race. */
static uint64_t by_swap_reread(void)
{
    firn_batch batch;
    for (;;) {
        uint64_t word = firn__load(&generator.word);
        const uint64_t tick = firn__generator_tick(&generator, firn__clock_real_ns());
        firn__step_result step = {0};
        (void)firn__step(&generator.rules, word, tick, generator.end_tick, 1, 0, &step);
        if (firn__compare_swap(&generator.word, &word, step.word)) {
            batch.first = step.word;
            return batch.first;
        }
    }
}

/* The clock is read once a call. */
static uint64_t by_swap(void)
{
    firn_batch batch = {0};
    const uint64_t word = firn__load(&generator.word);
    const uint64_t tick = firn__generator_tick(&generator, firn__clock_real_ns());
    (void)firn__generator_take(&generator, word, tick, 1, true, &batch);
    return batch.first;
}

static uint64_t by_add(void)
{
    uint64_t id = 0;
    (void)firn__generate_precise(&generator, NULL, &id);
    return id;
}

static uint64_t by_mutex(void)
{
    (void)pthread_mutex_lock(&mutex);
    const uint64_t tick = firn__generator_tick(&generator, firn__clock_real_ns());
    firn__step_result step = {0};
    (void)firn__step(&generator.rules, generator.word, tick, generator.end_tick, 1, 0, &step);
    generator.word = step.word;
    (void)pthread_mutex_unlock(&mutex);
    return step.word;
}

static const struct way {
    const char *name;
    uint64_t (*next)(void);
} ways[] = {
    {"clock read alone", by_clock_alone},
    {"compare-and-swap, clock read again", by_swap_reread},
    {"compare-and-swap, clock read once", by_swap},
    {"fetch-and-add (firn)", by_add},
    {"mutex", by_mutex},
};

#define WAY_COUNT (sizeof ways / sizeof ways[0])

struct lane {
    const struct way *way;
    uint64_t made;
    uint64_t sum; /* keeps the work from being optimised away */
};

static void *run_lane(void *context)
{
    struct lane *lane = context;
    while (firn__load(&stop) == 0) {
        for (int i = 0; i < CHUNK; i++) {
            lane->sum += lane->way->next();
        }
        lane->made += CHUNK;
    }
    return NULL;
}

/* Nanoseconds an id, over all threads. */
static double measure(const struct way *way, int threads, int64_t span_ns)
{
    struct lane lanes[THREADS_MAX] = {{0}};
    pthread_t ids[THREADS_MAX];
    uint64_t made = 0;
    firn__store(&stop, 0);
    const int64_t began_ns = firn__clock_monotonic_ns();
    for (int i = 0; i < threads; i++) {
        lanes[i].way = way;
        if (pthread_create(&ids[i], NULL, run_lane, &lanes[i]) != 0) {
            (void)fprintf(stderr, "bench-atomics: cannot start a thread\n");
            exit(1);
        }
    }
    firn__clock_sleep(span_ns);
    firn__store(&stop, 1);
    for (int i = 0; i < threads; i++) {
        (void)pthread_join(ids[i], NULL);
        made += lanes[i].made;
    }
    return (double)(firn__clock_monotonic_ns() - began_ns) / (double)made;
}

static int by_size(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int count, char **arguments)
{
    const int threads = count > 1 ? (int)strtol(arguments[1], NULL, 10) : 2;
    const double seconds = count > 2 ? strtod(arguments[2], NULL) : 10;
    double results[WAY_COUNT][REPEATS];
    firn_layout layout;
    if (threads < 1 || threads > THREADS_MAX || seconds <= 0 ||
        firn_layout_parse(WIDE_LAYOUT, &layout, NULL) < 0 ||
        firn_generator_init(&generator, &layout, 0, NULL, NULL) < 0) {
        (void)fprintf(stderr, "usage: bench-atomics [THREADS (1 to 64) [SECONDS]]\n");
        return 2;
    }
    const int64_t span_ns = (int64_t)(seconds * 1e9 / (double)(WAY_COUNT * REPEATS));
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        for (size_t i = 0; i < WAY_COUNT; i++) {
            results[i][repeat] = measure(&ways[i], threads, span_ns);
        }
    }
    (void)printf("layout %s, %d threads, %.0f s, median of %d (lowest to highest)\n", WIDE_LAYOUT,
                 threads, seconds, REPEATS);
    for (size_t i = 0; i < WAY_COUNT; i++) {
        qsort(results[i], REPEATS, sizeof results[i][0], by_size);
    }
    for (size_t i = 0; i < WAY_COUNT; i++) {
        const double median = results[i][REPEATS / 2];
        (void)printf("%-36s %6.1f ns an id, %.2f x the clock (%.1f to %.1f)\n", ways[i].name,
                     median, median / results[0][REPEATS / 2], results[i][0],
                     results[i][REPEATS - 1]);
    }
    return 0;
}
