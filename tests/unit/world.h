/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A world for registry tests: a clock that the test sets, and a folder that ends with the program.
 * What is tested in it is each test's own. */
#ifndef FIRN_TESTS_UNIT_WORLD_H
#define FIRN_TESTS_UNIT_WORLD_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "port/environment.h"
#include "random.h"

#define MS_NS       INT64_C(1000000)
#define WORLD_PATHS 256

#if defined(__SANITIZE_ADDRESS__)
#define WORLD_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WORLD_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WORLD_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WORLD_TSAN 1
#endif
#endif
#ifndef WORLD_ASAN
#define WORLD_ASAN 0
#endif
#ifndef WORLD_TSAN
#define WORLD_TSAN 0
#endif

typedef struct world {
    int64_t real_ns;
    int64_t monotonic_ns;
    uint64_t random_state;
    int random_status; /* this failure instead of random bytes */
    uint64_t fork_mark;
    uint64_t waits;
} world;

static inline int64_t world_real_ns(void *context)
{
    return ((const world *)context)->real_ns;
}

static inline int64_t world_monotonic_ns(void *context)
{
    return ((const world *)context)->monotonic_ns;
}

static inline int world_random(void *context, void *bytes, size_t bytes_size)
{
    world *here = context;
    uint8_t *at = bytes;
    if (here->random_status < 0) {
        return here->random_status;
    }
    for (size_t i = 0; i < bytes_size; i++) {
        at[i] = (uint8_t)random_next(&here->random_state);
    }
    return FIRN_OK;
}

static inline void world_pass(world *here, int64_t span_ms)
{
    here->real_ns += span_ms * MS_NS;
    here->monotonic_ns += span_ms * MS_NS;
}

/* Nobody else moves this clock, so waiting is letting the time pass. */
static inline int world_wait(void *context, int64_t at_ns, int64_t deadline_ns)
{
    world *here = context;
    here->waits++;
    const int64_t span_ns = at_ns > here->real_ns ? at_ns - here->real_ns : 0;
    if (here->monotonic_ns >= deadline_ns) {
        return -1;
    }
    const int64_t left_ns = deadline_ns - here->monotonic_ns;
    const int64_t step_ns = span_ns < left_ns ? span_ns : left_ns;
    here->real_ns += step_ns;
    here->monotonic_ns += step_ns;
    return 0;
}

static inline uint64_t world_fork_mark(void *context)
{
    return ((const world *)context)->fork_mark;
}

/* The present second, so that no test depends on the date on which it is built. */
static inline world world_new(uint64_t seed)
{
    return (world){.real_ns = (int64_t)time(NULL) * 1000 * MS_NS,
                   .monotonic_ns = 1000 * MS_NS,
                   .random_state = seed,
                   .fork_mark = 1};
}

static inline firn__environment world_environment(world *here)
{
    return (firn__environment){.version = FIRN__ENVIRONMENT_VERSION,
                               .context = here,
                               .real_ns = world_real_ns,
                               .monotonic_ns = world_monotonic_ns,
                               .random = world_random,
                               .wait = world_wait,
                               .fork_mark = world_fork_mark};
}

static inline int64_t world_ms(const world *here)
{
    return here->real_ns / MS_NS;
}

static inline int world_remove(const char *path, const struct stat *file, int kind,
                               struct FTW *walk)
{
    (void)file;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* A fresh folder; world_folder_end() takes it away. */
static inline int world_folder_begin(char folder[WORLD_PATHS])
{
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder, WORLD_PATHS, "%s/firn-test-XXXXXX", parent == NULL ? "/tmp" : parent);
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static inline void world_folder_end(const char *folder)
{
    (void)nftw(folder, world_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* How much larger or smaller than usual a long test is to be. */
static inline double world_scale(void)
{
    const char *text = getenv("FIRN_TEST_SCALE");
    const double scale = text == NULL ? 1 : strtod(text, NULL);
    return scale > 0 ? scale : 1;
}

#endif
