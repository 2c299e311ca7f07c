/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn bench: what an id costs on this machine, through the public functions alone. Costs are shown
 * as ratios to the bare clock read of the same repeat, so that machines can be compared. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/samples.h"
#include "firn/firn.h"

#define NS_PER_S    INT64_C(1000000000)
#define NS_PER_US   1000
#define CHUNK       1000
#define THREADS_MAX 64
#define SECONDS_MAX 3600
#define TRIES_MAX   100
#define REPEATS     9
/* Wide enough never to fill: 2^21 ids a millisecond. */
#define WIDE_LAYOUT "t41w1s21@2025-01-01"
/* next_many() would fill even that one. */
#define WIDER_LAYOUT        "t40w1s22@2025-01-01"
#define PRECISION_TICKS_MAX 4000

enum { SECONDS, THREADS, JSON };

static const struct option_spec options[] = {
    [SECONDS] = {'s', "seconds", "N", "10", "How long to measure, in all; 1 to 3600.",
                 COMPLETE_NOTHING},
    [THREADS] = {'t', "threads", "N", "2", "Threads in the measurements with several; 2 to 64.",
                 COMPLETE_NOTHING},
    [JSON] = OPTION_JSON,
    OPTION_END,
};

static const struct example examples[] = {
    {"firn bench", "Ten seconds, two threads."},
    {"firn bench --seconds 2 --threads 4 --json", "Shorter, on more threads, for a program."},
    {NULL, NULL},
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* One thread of a measurement. */
struct lane {
    firn_generator *generator;
    firn_run run;
    uint64_t made;
    uint64_t refused; /* calls that gave no id: 0 when the measurement is worth anything */
    uint64_t ids[CHUNK];
};

/* Each makes CHUNK ids, or reads a clock as often. */
static void chunk_clock(struct lane *lane)
{
    struct timespec now;
    for (int i = 0; i < CHUNK; i++) {
        (void)clock_gettime(CLOCK_REALTIME, &now);
    }
    lane->made += CHUNK;
}

static void chunk_coarse_clock(struct lane *lane)
{
    struct timespec now;
    for (int i = 0; i < CHUNK; i++) {
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    }
    lane->made += CHUNK;
}

static void chunk_next(struct lane *lane)
{
    unsigned refused = 0;
    for (int i = 0; i < CHUNK; i++) {
        refused += firn_generator_next(lane->generator, &lane->ids[i]) < 0 ? 1 : 0;
    }
    lane->refused += refused;
    lane->made += CHUNK;
}

static void chunk_many(struct lane *lane)
{
    size_t made = 0;
    if (firn_generator_next_many(lane->generator, lane->ids, CHUNK, &made) < 0) {
        lane->refused++;
    }
    lane->made += made;
}

static void chunk_run(struct lane *lane)
{
    unsigned refused = 0;
    for (int i = 0; i < CHUNK; i++) {
        refused += firn_run_next(&lane->run, &lane->ids[i]) < 0 ? 1 : 0;
    }
    lane->refused += refused;
    lane->made += CHUNK;
}

struct measure {
    const char *name;
    void (*chunk)(struct lane *lane);
    const char *layout; /* NULL: WIDE_LAYOUT */
    int clock;
    bool is_run;
    bool several; /* on all threads, else on one */
    struct samples ns;
    struct samples ratio;
    uint64_t refused;
};

/* What the ratios refer to comes first. */
static struct measure measures[] = {
    {.name = "bare clock read", .chunk = chunk_clock},
    {.name = "bare coarse clock read", .chunk = chunk_coarse_clock},
    {.name = "next", .chunk = chunk_next},
    {.name = "next", .chunk = chunk_next, .several = true},
    {.name = "next_many(1000), wider", .chunk = chunk_many, .layout = WIDER_LAYOUT},
    {.name = "next, coarse clock", .chunk = chunk_next, .clock = FIRN_CLOCK_COARSE},
    {.name = "run", .chunk = chunk_run, .is_run = true},
    {.name = "run", .chunk = chunk_run, .is_run = true, .several = true},
    {.name = "run, coarse clock", .chunk = chunk_run, .is_run = true, .clock = FIRN_CLOCK_COARSE},
    {.name = "run, coarse clock",
     .chunk = chunk_run,
     .is_run = true,
     .clock = FIRN_CLOCK_COARSE,
     .several = true},
};

#define MEASURE_COUNT (sizeof measures / sizeof measures[0])

static const char *measure_layout(const struct measure *measure)
{
    return measure->layout != NULL ? measure->layout : WIDE_LAYOUT;
}

/* A team of threads that start at once and stop when told. */
struct team {
    const struct measure *measure;
    firn_generator *generator;
    atomic_bool go;
    atomic_bool stop;
    int64_t slice_ns;
};

struct member {
    struct team *team;
    struct lane lane;
    pthread_t thread;
};

static void *member_work(void *argument)
{
    struct member *member = argument;
    struct team *team = member->team;
    member->lane.generator = team->generator;
    if (team->measure->is_run) {
        member->lane.refused += firn_run_init(&member->lane.run, team->generator) < 0 ? 1 : 0;
    }
    while (!atomic_load(&team->go)) {
        (void)sched_yield();
    }
    while (!atomic_load_explicit(&team->stop, memory_order_relaxed)) {
        team->measure->chunk(&member->lane);
    }
    return NULL;
}

/* Lets the team work for its slice, and stops it. */
static int64_t team_work(struct team *team, struct member *members, size_t started)
{
    const struct timespec slice = {.tv_sec = team->slice_ns / NS_PER_S,
                                   .tv_nsec = team->slice_ns % NS_PER_S};
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    atomic_store(&team->go, true);
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &slice, NULL);
    atomic_store(&team->stop, true);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(members[i].thread, NULL);
    }
    return clock_ns(CLOCK_MONOTONIC) - began_ns;
}

/* Nanoseconds an id, all threads together: 0 when no id was made, as when the slice went by before a
 * thread ran; negative when a thread could not be started. */
static double team_run(struct team *team, struct member *members, size_t count, uint64_t *refused)
{
    size_t started = 0;
    for (; started < count; started++) {
        struct member *member = &members[started];
        *member = (struct member){.team = team};
        if (pthread_create(&member->thread, NULL, member_work, member) != 0) {
            team->slice_ns = 0;
            break;
        }
    }
    const int64_t took_ns = team_work(team, members, started);
    uint64_t made = 0;
    for (size_t i = 0; i < started; i++) {
        made += members[i].lane.made;
        *refused += members[i].lane.refused;
    }
    if (started < count) {
        return -1;
    }
    return made > 0 ? (double)took_ns / (double)made : 0;
}

static int generator_make(firn_generator *generator, const char *layout_text, int clock)
{
    firn_layout layout;
    firn_error error;
    firn_generator_options generator_options = firn_generator_options_default();
    generator_options.clock = clock;
    if (firn_layout_parse(layout_text, &layout, &error) < 0 ||
        firn_generator_init(generator, &layout, 0, &generator_options, &error) < 0) {
        return complain_error(&error);
    }
    return EXIT_GOOD;
}

static int measure_costs(struct member *members, size_t threads, int64_t budget_ns)
{
    const int64_t slice_ns = budget_ns / (int64_t)(REPEATS * MEASURE_COUNT);
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double clock_read_ns = 0;
        for (size_t i = 0; i < MEASURE_COUNT; i++) {
            struct measure *measure = &measures[i];
            firn_generator generator;
            const int code = generator_make(&generator, measure_layout(measure), measure->clock);
            if (code != EXIT_GOOD) {
                return code;
            }
            struct team team = {.measure = measure, .generator = &generator, .slice_ns = slice_ns};
            double ns = 0;
            for (int try = 0; try < TRIES_MAX && ns == 0; try++) {
                ns = team_run(&team, members, measure->several ? threads : 1, &measure->refused);
            }
            if (ns <= 0) {
                return complain(EXIT_SYSTEM, "%zu threads %s; try fewer, or more time", threads,
                                ns < 0 ? "could not be started" : "got no time to run");
            }
            clock_read_ns = i == 0 ? ns : clock_read_ns;
            samples_add(&measure->ns, ns);
            samples_add(&measure->ratio, ns / clock_read_ns);
        }
    }
    return EXIT_GOOD;
}

/* The default layout, as fast as it goes: one thread that waits for every tick. */
struct ceiling {
    double ids_per_ms;
    double share; /* of what the layout can make */
    double core;  /* of a core */
    double seconds;
};

static int64_t thread_cpu_ns(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
}

static int measure_ceiling(struct ceiling *ceiling, int64_t budget_ns)
{
    static uint64_t ids[4096];
    firn_generator generator;
    const int code = generator_make(&generator, FIRN_LAYOUT_DEFAULT, FIRN_CLOCK_PRECISE);
    if (code != EXIT_GOOD) {
        return code;
    }
    const int64_t cpu_ns = thread_cpu_ns();
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t total = 0;
    int64_t took_ns = 0;
    while (took_ns < budget_ns) {
        size_t made = 0;
        if (firn_generator_wait_many(&generator, NS_PER_S, ids, 4096, &made) < 0) {
            return complain(EXIT_CLOCK, "no ids within a second: is the clock being set?");
        }
        total += made;
        took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
    }
    ceiling->seconds = (double)took_ns / (double)NS_PER_S;
    ceiling->ids_per_ms = (double)total / (double)took_ns * 1e6;
    ceiling->share = ceiling->ids_per_ms / 4096;
    ceiling->core = (double)(thread_cpu_ns() - cpu_ns) / (double)took_ns;
    return EXIT_GOOD;
}

/* How long after a tick's start the first id of it is in the caller's hands. */
static int measure_waits(struct samples *late_us, int64_t budget_ns)
{
    static uint64_t ids[4096];
    firn_generator generator;
    const int code = generator_make(&generator, FIRN_LAYOUT_DEFAULT, FIRN_CLOCK_PRECISE);
    if (code != EXIT_GOOD) {
        return code;
    }
    const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + budget_ns;
    while (clock_ns(CLOCK_MONOTONIC) < end_ns && late_us->count < PRECISION_TICKS_MAX) {
        size_t made = 0;
        uint64_t id;
        int64_t tick_ns = 0;
        /* Fill the tick, so that the next id has to wait. */
        while (firn_generator_next_many(&generator, ids, 4096, &made) == FIRN_OK) {
        }
        if (firn_generator_retry_at_ns(&generator, &tick_ns) < 0 ||
            firn_generator_wait(&generator, NS_PER_S, &id) < 0) {
            return complain(EXIT_CLOCK, "no id within a second: is the clock being set?");
        }
        samples_add(late_us, (double)(clock_ns(CLOCK_REALTIME) - tick_ns) / NS_PER_US);
    }
    return EXIT_GOOD;
}

/* Resident memory of this process, the second number of /proc/self/statm; -1 when it is not told. */
static int64_t resident_bytes(void)
{
    char line[128];
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) {
        return -1;
    }
    const char *text = fgets(line, sizeof line, file);
    (void)fclose(file);
    const char *second = text != NULL ? strchr(text, ' ') : NULL;
    return second != NULL ? strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : -1;
}

/* What an open handle adds, over many, so that pages count little; -1 when it cannot be told. */
static int64_t handle_bytes(void)
{
    enum { HANDLES = 32 };
    firn *handles[HANDLES] = {NULL};
    firn_options handle_options = firn_options_default();
    handle_options.create = 1;
    handle_options.vmclock_path = NULL;
    bool all = firn_open("mem:bench", &handle_options, &handles[0]) >= 0;
    const int64_t before = resident_bytes();
    for (int i = 1; i < HANDLES && all; i++) {
        all = firn_open("mem:bench", &handle_options, &handles[i]) >= 0;
    }
    const int64_t after = resident_bytes();
    for (int i = 0; i < HANDLES; i++) {
        firn_close(handles[i]);
    }
    return all && before >= 0 ? (after - before) / (HANDLES - 1) : -1;
}

struct report {
    struct ceiling ceiling;
    struct samples late_us;
    int64_t handle_bytes;
    size_t threads;
    double seconds;
};

static void print_report(struct report *report)
{
    print("layout %s (wider: %s), %.1f s, %d repeats; median (spread)\n\n", WIDE_LAYOUT,
          WIDER_LAYOUT, report->seconds, REPEATS);
    print("%s%-24s %7s  %18s  %22s%s\n", paint(PAINT_DIM), "", "threads", "ns an id, in all",
          "against the clock read", paint(PAINT_NONE));
    for (size_t i = 0; i < MEASURE_COUNT; i++) {
        struct measure *measure = &measures[i];
        print("%-24s %7zu  %6.2f (%.2f-%.2f)", measure->name,
              measure->several ? report->threads : 1, samples_quantile(&measure->ns, 0.5),
              samples_quantile(&measure->ns, 0), samples_quantile(&measure->ns, 1));
        print("  %8.3f (%.3f-%.3f)\n", samples_quantile(&measure->ratio, 0.5),
              samples_quantile(&measure->ratio, 0), samples_quantile(&measure->ratio, 1));
        if (measure->refused > 0) {
            print("  %" PRIu64 " calls were refused: this row is not to be trusted\n",
                  measure->refused);
        }
    }
    const struct ceiling *ceiling = &report->ceiling;
    print("\nlayout %s, 1 thread\n\n", FIRN_LAYOUT_DEFAULT);
    print("%-24s %.1f ids a ms, %.2f %% of 4096, with %.0f %% of a core, %.1f s\n", "ceiling",
          ceiling->ids_per_ms, ceiling->share * 100, ceiling->core * 100, ceiling->seconds);
    print("%-24s p50 %.1f us, p99 %.1f us after the tick's start, %zu ticks\n", "wait",
          samples_quantile(&report->late_us, 0.5), samples_quantile(&report->late_us, 0.99),
          report->late_us.count);
    print("%-24s generator %zu bytes, run %zu bytes, open firn %" PRId64 " bytes\n", "memory",
          sizeof(firn_generator), sizeof(firn_run), report->handle_bytes);
}

static void json_samples(struct json *json, const char *key, struct samples *samples)
{
    json_open(json, key, '{');
    json_real(json, "median", samples_quantile(samples, 0.5));
    json_real(json, "min", samples_quantile(samples, 0));
    json_real(json, "max", samples_quantile(samples, 1));
    json_close(json, '}');
}

static void json_report(struct report *report)
{
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_string(&json, "version", firn_version());
    json_real(&json, "seconds", report->seconds);
    json_integer(&json, "repeats", REPEATS);
    json_open(&json, "costs", '[');
    for (size_t i = 0; i < MEASURE_COUNT; i++) {
        struct measure *measure = &measures[i];
        json_open(&json, NULL, '{');
        json_string(&json, "name", measure->name);
        json_string(&json, "layout", measure_layout(measure));
        json_integer(&json, "threads", measure->several ? (int64_t)report->threads : 1);
        json_samples(&json, "ns", &measure->ns);
        json_samples(&json, "ratio", &measure->ratio);
        json_integer(&json, "refused", (int64_t)measure->refused);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_open(&json, "ceiling", '{');
    json_string(&json, "layout", FIRN_LAYOUT_DEFAULT);
    json_real(&json, "ids_per_ms", report->ceiling.ids_per_ms);
    json_real(&json, "share", report->ceiling.share);
    json_real(&json, "core", report->ceiling.core);
    json_close(&json, '}');
    json_open(&json, "wait_us", '{');
    json_real(&json, "p50", samples_quantile(&report->late_us, 0.5));
    json_real(&json, "p99", samples_quantile(&report->late_us, 0.99));
    json_integer(&json, "ticks", (int64_t)report->late_us.count);
    json_close(&json, '}');
    json_open(&json, "memory_bytes", '{');
    json_integer(&json, "generator", (int64_t)sizeof(firn_generator));
    json_integer(&json, "run", (int64_t)sizeof(firn_run));
    json_integer(&json, "firn", report->handle_bytes);
    json_close(&json, '}');
    json_close(&json, '}');
}

static int measure_all(struct report *report, uint64_t seconds)
{
    const int64_t budget_ns = (int64_t)seconds * NS_PER_S;
    struct member *members = calloc(report->threads, sizeof *members);
    if (members == NULL) {
        return complain(EXIT_SYSTEM, "out of memory: %zu threads need %zu bytes", report->threads,
                        report->threads * sizeof *members);
    }
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    int code = measure_costs(members, report->threads, budget_ns / 10 * 7);
    if (code == EXIT_GOOD) {
        code = measure_ceiling(&report->ceiling, budget_ns / 10 * 2);
    }
    if (code == EXIT_GOOD) {
        code = measure_waits(&report->late_us, budget_ns / 10);
    }
    report->handle_bytes = handle_bytes();
    report->seconds = (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / (double)NS_PER_S;
    free(members);
    return code;
}

static int run(const struct arguments *arguments)
{
    static struct report report;
    uint64_t seconds = 0;
    uint64_t threads = 0;
    if (!input_count("--seconds", arguments->values[SECONDS], 1, SECONDS_MAX, &seconds) ||
        !input_count("--threads", arguments->values[THREADS], 2, THREADS_MAX, &threads)) {
        return EXIT_USAGE;
    }
    report.threads = (size_t)threads;
    const int code = measure_all(&report, seconds);
    if (code == EXIT_GOOD) {
        (arguments->given[JSON] ? json_report : print_report)(&report);
    }
    return code;
}

const struct command cmd_bench = {
    .name = "bench",
    .summary = "what an id costs on this machine",
    .description =
        "Measures the library on this machine, without a registry. Costs are also given against "
        "the bare clock read of the same repeat: that is what machines have in common. Leave the "
        "machine idle meanwhile.",
    .options = options,
    .examples = examples,
    .run = run,
};
