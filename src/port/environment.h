/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* What a handle asks of the world beside its registry: clocks, random bytes, waiting, and which
 * process it is in. NULL stands for the system; a simulator brings its own. */
#ifndef FIRN_PORT_ENVIRONMENT_H
#define FIRN_PORT_ENVIRONMENT_H

#include "port/clock.h"
#include "port/memory.h"
#include "port/random.h"

#define FIRN__ENVIRONMENT_VERSION 1

typedef struct firn__environment {
    uint32_t version;
    void *context;
    int64_t (*real_ns)(void *context);
    int64_t (*monotonic_ns)(void *context);
    int (*random)(void *context, void *bytes, size_t bytes_size);
    int (*wait)(void *context, int64_t at_ns, int64_t deadline_ns); /* as firn__clock_wait() */
    uint64_t (*fork_mark)(void *context); /* as firn__memory_fork_mark() */
} firn__environment;

static inline int64_t firn__real_ns(const firn__environment *env)
{
    return env == NULL ? firn__clock_real_ns() : env->real_ns(env->context);
}

static inline int64_t firn__monotonic_ns(const firn__environment *env)
{
    return env == NULL ? firn__clock_monotonic_ns() : env->monotonic_ns(env->context);
}

static inline int firn__random_bytes(const firn__environment *env, void *bytes, size_t bytes_size)
{
    return env == NULL ? firn__random(bytes, bytes_size)
                       : env->random(env->context, bytes, bytes_size);
}

static inline int firn__wait_until(const firn__environment *env, int64_t at_ns, int64_t deadline_ns)
{
    return env == NULL ? firn__clock_wait(at_ns, deadline_ns)
                       : env->wait(env->context, at_ns, deadline_ns);
}

static inline uint64_t firn__fork_mark(const firn__environment *env)
{
    return env == NULL ? firn__memory_fork_mark() : env->fork_mark(env->context);
}

/* A deadline on the monotonic clock; a negative timeout gives FIRN__FOREVER. */
static inline int64_t firn__deadline_ns(const firn__environment *env, int64_t timeout_ns)
{
    const int64_t now_ns = firn__monotonic_ns(env);
    return timeout_ns < 0 || timeout_ns > INT64_MAX - now_ns ? FIRN__FOREVER : now_ns + timeout_ns;
}

#endif
