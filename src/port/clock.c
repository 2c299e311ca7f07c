/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Waiting for a tick, precisely and cheaply. What to do after the wait is the caller's. */
#include "port/clock.h"

#include "core/atomic.h"

/* Sleeps end late: by the timer slack (50 us by default) and by what the scheduler and, in a virtual
 * machine, the host need; 10 to 200 us in all. The rest of a wait is spun, so how long to spin is
 * learnt from how late sleeps were: at once when one was later, slowly back when they are not. */
#define LATE_FIRST_NS 100000
#define LATE_MIN_NS   20000
#define LATE_MAX_NS   300000
#define LATE_DECAY    128
/* The latest sleeps may end this long after the tick's start: spinning for them costs more. */
#define LATE_ALLOWED_NS 25000
/* A clock that stands still must not hold anyone past a deadline: some 300 us of reads. */
#define SPINS_MAX 10000
/* A clock that is set during a sleep is noticed after this long. */
#define SLICE_NS 20000000

static uint64_t late_ns = LATE_FIRST_NS;

#if defined(__x86_64__) || defined(__i386__)
#define relax() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define relax() __asm__ __volatile__("yield")
#else
#define relax() ((void)0)
#endif

void firn__clock_sleep(int64_t span_ns)
{
    const struct timespec span = {.tv_sec = span_ns / 1000000000, .tv_nsec = span_ns % 1000000000};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

/* Two threads that learn at once may lose one lesson; the next one follows. */
static void learn(int64_t late)
{
    const int64_t known = (int64_t)firn__count_read(&late_ns);
    int64_t next = late > known ? late : known - (known - late) / LATE_DECAY;
    next = next < LATE_MIN_NS ? LATE_MIN_NS : next;
    next = next > LATE_MAX_NS ? LATE_MAX_NS : next;
    firn__count_write(&late_ns, (uint64_t)next);
}

static void spin_until(int64_t at_ns, int64_t now_ns)
{
    const int64_t start_ns = now_ns;
    for (int i = 0; i < SPINS_MAX && now_ns < at_ns && now_ns >= start_ns; i++) {
        relax();
        now_ns = firn__clock_real_ns();
    }
}

int firn__clock_wait(int64_t at_ns, int64_t deadline_ns)
{
    const int64_t now_ns = firn__clock_real_ns();
    int64_t left_ns = FIRN__FOREVER;
    if (deadline_ns != FIRN__FOREVER) {
        left_ns = deadline_ns - firn__clock_monotonic_ns();
        if (left_ns <= 0) {
            return -1;
        }
    }
    if (now_ns >= at_ns) {
        return 0;
    }
    int64_t span_ns = at_ns - now_ns - (int64_t)firn__count_read(&late_ns) + LATE_ALLOWED_NS;
    if (span_ns <= LATE_ALLOWED_NS) {
        spin_until(at_ns, now_ns);
        return 0;
    }
    span_ns = span_ns < SLICE_NS ? span_ns : SLICE_NS;
    span_ns = span_ns < left_ns ? span_ns : left_ns;
    const int64_t began_ns = firn__clock_monotonic_ns();
    firn__clock_sleep(span_ns);
    learn(firn__clock_monotonic_ns() - began_ns - span_ns);
    return 0;
}
