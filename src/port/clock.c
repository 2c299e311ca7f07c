/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Waiting for a tick, precisely and cheaply. What to do after the wait is the caller's. */
#include "port/clock.h"

/* Sleeps end late by the timer slack (50 us by default) and by what the scheduler needs; the rest
 * is spun. bench: firn bench, "wait". */
#define SPIN_NS 90000
/* A clock that is set during a sleep is noticed after this long. */
#define SLICE_NS 20000000

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

static void spin_until(int64_t at_ns, int64_t now_ns)
{
    const int64_t start_ns = now_ns;
    while (now_ns < at_ns && now_ns >= start_ns) {
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
    int64_t span_ns = at_ns - now_ns;
    if (span_ns <= SPIN_NS) {
        spin_until(at_ns, now_ns);
        return 0;
    }
    span_ns -= SPIN_NS;
    span_ns = span_ns < SLICE_NS ? span_ns : SLICE_NS;
    firn__clock_sleep(span_ns < left_ns ? span_ns : left_ns);
    return 0;
}
