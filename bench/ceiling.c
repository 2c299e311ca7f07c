/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Whether the default layout's 4,096 ids a millisecond are reached, one call an id, and never passed:
 * from one, two and eight threads, and from four processes that share one state.
 *
 *     bench-ceiling [SECONDS]
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/generator.h"
#include "port/clock.h"
#include "port/memory.h"

#define LANES_MAX 8
#define CHUNK     1024

/* In memory that the processes share. */
struct shared {
    firn_generator generator;
    uint64_t stop;
};

static struct shared *shared;

static void *run_lane(void *unused)
{
    uint64_t id;
    while (firn__load(&shared->stop) == 0) {
        for (int i = 0; i < CHUNK; i++) {
            (void)firn_generator_wait(&shared->generator, -1, &id);
        }
    }
    return unused;
}

static double cpu_seconds(int who)
{
    struct rusage usage;
    (void)getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void run_threads(int lanes, int64_t span_ns)
{
    pthread_t threads[LANES_MAX];
    for (int i = 0; i < lanes; i++) {
        if (pthread_create(&threads[i], NULL, run_lane, NULL) != 0) {
            (void)fprintf(stderr, "bench-ceiling: cannot start a thread\n");
            exit(1);
        }
    }
    firn__clock_sleep(span_ns);
    firn__store(&shared->stop, 1);
    for (int i = 0; i < lanes; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static void run_processes(int lanes, int64_t span_ns)
{
    for (int i = 0; i < lanes; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            (void)run_lane(NULL);
            _exit(0);
        }
        if (pid < 0) {
            (void)fprintf(stderr, "bench-ceiling: cannot fork\n");
            exit(1);
        }
    }
    firn__clock_sleep(span_ns);
    firn__store(&shared->stop, 1);
    while (wait(NULL) > 0) {
    }
}

static void measure(const char *name, void (*run)(int, int64_t), int lanes, int64_t span_ns)
{
    firn_layout layout;
    firn_statistics statistics;
    if (firn_layout_parse(FIRN_LAYOUT_DEFAULT, &layout, NULL) < 0 ||
        firn_generator_init(&shared->generator, &layout, 0, NULL, NULL) < 0) {
        exit(1);
    }
    shared->stop = 0;
    const double cpu = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
    const int64_t began_ns = firn__clock_real_ns();
    run(lanes, span_ns);
    const int64_t ended_ns = firn__clock_real_ns();
    (void)firn_generator_statistics(&shared->generator, &statistics);
    const double spent = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN) - cpu;
    const double ms = (double)(ended_ns - began_ns) / 1e6;
    /* Both ends lie inside a tick, so one more than the whole milliseconds between may be used. */
    const uint64_t ticks = (uint64_t)(ended_ns / 1000000 - began_ns / 1000000) + 1;
    (void)printf("%d %-9s %8.1f ids a ms, %6.2f %% of 4096, %s the ceiling, %3.0f %% of a core\n",
                 lanes, name, (double)statistics.made / ms, (double)statistics.made / ms / 40.96,
                 statistics.made <= ticks * 4096 ? "within" : "PAST", spent / ms * 1e5);
}

int main(int count, char **arguments)
{
    const double seconds = count > 1 ? strtod(arguments[1], NULL) : 10;
    shared = firn__memory_share(sizeof *shared);
    if (seconds <= 0 || shared == NULL) {
        (void)fprintf(stderr, "usage: bench-ceiling [SECONDS]\n");
        return 2;
    }
    const int64_t span_ns = (int64_t)(seconds * 1e9);
    (void)printf("layout %s, one call an id, %.0f s each\n", FIRN_LAYOUT_DEFAULT, seconds);
    measure("thread", run_threads, 1, span_ns);
    measure("threads", run_threads, 2, span_ns);
    measure("threads", run_threads, 8, span_ns);
    measure("processes", run_processes, 4, span_ns);
    return 0;
}
