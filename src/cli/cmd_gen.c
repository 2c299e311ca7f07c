/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn gen: ids, one a line. One id asks the registry for a window of milliseconds, many for a
 * thread that renews. A batch is what one tick can hold, so that while it is formatted and written
 * the clock fills the next one. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/reading.h"
#include "cli/registry_url.h"
#include "firn/firn.h"

#define COUNT_MAX 1000000000
/* Up to here an id's own short window is cheaper than a thread. */
#define FEW_MAX        1000
#define FEW_WINDOW_MS  50
#define BATCH_MAX      16384
#define TIMEOUT_MAX_MS (INT64_C(86400) * 1000)
/* How long one try lasts before its window is doubled. */
#define TRY_NS            INT64_C(1000000000)
#define NS_PER_MS         1000000
#define NS_PER_S          1000000000
#define PIPE_BYTES        (1 << 20)
#define PROGRESS_MIN      1000000
#define PROGRESS_EVERY_NS (NS_PER_S / 4)

enum { COUNT, FORMAT, JSON, LAYOUT, WORKER, TIMEOUT, REGISTRY };

static const struct option_spec options[] = {
    [COUNT] = {'n', "count", "N", "1", "How many ids, up to 1000000000.", COMPLETE_NOTHING},
    [FORMAT] = {'f', "format", "FORM", "decimal",
                "decimal, decimal20, hex, base32, base62 or base58.", COMPLETE_FORM},
    [JSON] = OPTION_JSON,
    [LAYOUT] = {'l', "layout", "LAYOUT", NULL,
                "The layout that the registry must have; a new default registry is made with it.",
                COMPLETE_LAYOUT},
    [WORKER] = {'w', "worker", "N", NULL,
                "Use this worker number and no other; fail while another holds it.",
                COMPLETE_NOTHING},
    [TIMEOUT] = {'t', "timeout", "SPAN", "10s",
                 "How long to go on when no id can be made, as when every worker is held.",
                 COMPLETE_NOTHING},
    [REGISTRY] = OPTION_REGISTRY,
    OPTION_END,
};

static const struct example examples[] = {
    {"firn gen", "One id."},
    {"firn gen -n 5 --format base32", "Five, as 13 characters that sort as the numbers do."},
    {"firn gen -n 2 --json", "With time, worker and sequence."},
    {"firn gen -n 1000000 > ids.txt", "A million, in a quarter of a second."},
    {NULL, NULL},
};

struct job {
    struct registry_choice choice;
    const char *layout_text;
    uint64_t count;
    uint64_t done;
    int64_t worker; /* -1: any */
    int64_t timeout_ns;
    int form;
    bool json;
    firn *ids;
    firn_layout layout;
    int64_t began_ns;
    int64_t shown_ns; /* when progress was last shown; -1: it is not to be shown */
    uint64_t batch[BATCH_MAX];
    char text[BATCH_MAX * FIRN_TEXT_SIZE];
};

static int64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int job_open(struct job *job, int64_t window_ms)
{
    firn_error error;
    firn_options open_options = firn_options_default();
    open_options.layout = job->layout_text;
    open_options.note = "gen";
    open_options.error_out = &error;
    open_options.window_ms = window_ms;
    if (job->timeout_ns < open_options.timeout_ms * NS_PER_MS) {
        open_options.timeout_ms = job->timeout_ns < NS_PER_MS ? 1 : job->timeout_ns / NS_PER_MS;
    }
    open_options.renewal = window_ms == 0 ? FIRN_RENEWAL_THREAD : FIRN_RENEWAL_ON_DEMAND;
    open_options.create = job->choice.own ? 1 : 0;
    open_options.worker = job->worker;
    const int status = firn_open(job->choice.url, &open_options, &job->ids);
    if (status < 0) {
        return complain_error(&error);
    }
    (void)firn_layout_get(job->ids, &job->layout);
    return EXIT_GOOD;
}

/* Formats the first count ids of the batch, a line each, and writes them at once. */
static void write_texts(struct job *job, size_t count)
{
    char *at = job->text;
    for (size_t i = 0; i < count; i++) {
        (void)firn_encode(job->form, job->batch[i], at, FIRN_TEXT_SIZE);
        at += strlen(at);
        *at++ = '\n';
    }
    (void)output_bytes(job->text, (size_t)(at - job->text));
}

static void write_batch(struct job *job, size_t count)
{
    job->done += count;
    if (!job->json) {
        write_texts(job, count);
        return;
    }
    for (size_t i = 0; i < count && output_is_open(); i++) {
        struct reading reading;
        if (reading_make(&job->layout, job->batch[i], &reading) == FIRN_OK) {
            reading_json(&reading, NULL);
        }
    }
}

static void show_progress(struct job *job)
{
    const int64_t now_ns = monotonic_ns();
    if (job->shown_ns < 0 || now_ns - job->shown_ns < PROGRESS_EVERY_NS) {
        return;
    }
    job->shown_ns = now_ns;
    const double seconds = (double)(now_ns - job->began_ns) / NS_PER_S;
    const double rate = (double)job->done / seconds;
    (void)fprintf(stderr, "\rfirn: %" PRIu64 " of %" PRIu64 " ids, %.2f million/s, %.0f s left  ",
                  job->done, job->count, rate / 1e6, (double)(job->count - job->done) / rate);
}

static void clear_progress(const struct job *job)
{
    if (job->shown_ns > job->began_ns) {
        (void)fprintf(stderr, "\r%*s\r", 78, "");
    }
}

/* Why no more ids came. */
static int complain_stopped(const struct job *job, int status)
{
    firn_state state;
    const char *reason = "";
    if (firn_state_get(job->ids, &state) == FIRN_OK && state.text[0] != '\0') {
        reason = state.text;
    }
    int code = exit_of_status(status);
    if (status == FIRN_E_DEADLINE && reason[0] != '\0') {
        code = exit_of_status(state.reason);
        code = code == EXIT_GOOD ? EXIT_BUSY : code;
    }
    char made[64] = "";
    if (job->done > 0) {
        (void)snprintf(made, sizeof made, " (after %" PRIu64 " of %" PRIu64 " ids)", job->done,
                       job->count);
    }
    return complain(code, "%s%s: %s", firn_status_text(status), made,
                    reason[0] != '\0' ? reason : firn_status_hint(status));
}

/* What one tick holds, or a millisecond's worth when ticks are shorter. */
static size_t batch_size(const firn_layout *layout)
{
    firn_capacity capacity;
    uint64_t size = 1;
    if (firn_layout_capacity(layout, &capacity) == FIRN_OK) {
        const int64_t ticks = layout->tick_ns < NS_PER_MS ? NS_PER_MS / layout->tick_ns : 1;
        size =
            capacity.ids_per_tick < BATCH_MAX ? capacity.ids_per_tick * (uint64_t)ticks : BATCH_MAX;
    }
    return size < BATCH_MAX ? (size_t)size : BATCH_MAX;
}

/* A pipe that holds several batches: else each write waits for the reader, and ticks are lost. */
static void widen_pipe(void)
{
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
}

static int make_many(struct job *job)
{
    widen_pipe();
    const size_t size = batch_size(&job->layout);
    while (job->done < job->count && output_is_open()) {
        const uint64_t left = job->count - job->done;
        const size_t wanted = left < size ? (size_t)left : size;
        size_t made = 0;
        const int status = firn_wait_many(job->ids, job->timeout_ns, job->batch, wanted, &made);
        write_batch(job, made);
        if (status < 0) {
            clear_progress(job);
            return complain_stopped(job, status);
        }
        show_progress(job);
    }
    clear_progress(job);
    return EXIT_GOOD;
}

/* Whether a window of milliseconds was too short for this machine just now. */
static bool window_was_short(const struct job *job, int status)
{
    firn_state state;
    return status == FIRN_E_WINDOW ||
           (status == FIRN_E_DEADLINE && firn_state_get(job->ids, &state) == FIRN_OK &&
            state.leased != 0);
}

static int make_few(struct job *job)
{
    const int64_t deadline_ns = job->began_ns + job->timeout_ns;
    int64_t window_ms = FEW_WINDOW_MS;
    while (job->done < job->count && output_is_open()) {
        const int64_t left_ns = deadline_ns - monotonic_ns();
        const int64_t try_ns = left_ns < 0 ? 0 : left_ns < TRY_NS ? left_ns : TRY_NS;
        size_t made = 0;
        const int status =
            firn_wait_many(job->ids, try_ns, job->batch, (size_t)(job->count - job->done), &made);
        write_batch(job, made);
        if (status >= 0 || made > 0) {
            continue;
        }
        const bool is_short = window_was_short(job, status);
        if (left_ns <= 0 || !(is_short || status == FIRN_E_DEADLINE)) {
            return complain_stopped(job, status);
        }
        if (is_short) {
            window_ms *= 2;
            firn_close(job->ids);
            job->ids = NULL;
            const int code = job_open(job, window_ms);
            if (code != EXIT_GOOD) {
                return code;
            }
        }
    }
    return EXIT_GOOD;
}

static int job_run(struct job *job)
{
    const bool few = job->count <= FEW_MAX;
    job->began_ns = monotonic_ns();
    job->shown_ns =
        job->count >= PROGRESS_MIN && isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 0
            ? job->began_ns
            : -1;
    int code = registry_folder_make(&job->choice) ? EXIT_GOOD : EXIT_REGISTRY;
    if (code == EXIT_GOOD) {
        code = job_open(job, few ? FEW_WINDOW_MS : 0);
    }
    if (code == EXIT_GOOD) {
        code = few ? make_few(job) : make_many(job);
    }
    firn_close(job->ids);
    return code;
}

static bool job_read(const struct arguments *arguments, struct job *job)
{
    const char *const *values = arguments->values;
    uint64_t worker = 0;
    int64_t timeout_ms = 0;
    firn_layout layout;
    if (!input_count("-n", values[COUNT], 1, COUNT_MAX, &job->count) ||
        !input_form(values[FORMAT], &job->form) ||
        !input_span_ms("--timeout", values[TIMEOUT], TIMEOUT_MAX_MS, &timeout_ms) ||
        (values[LAYOUT] != NULL && !input_layout(values[LAYOUT], &layout)) ||
        (values[WORKER] != NULL &&
         !input_count("--worker", values[WORKER], 0, UINT32_MAX, &worker)) ||
        !registry_choose(values[REGISTRY], &job->choice)) {
        return false;
    }
    if (arguments->given[JSON] && arguments->given[FORMAT]) {
        (void)complain(EXIT_USAGE, "--json with --format: JSON gives ids in decimal; drop one");
        return false;
    }
    job->worker = values[WORKER] != NULL ? (int64_t)worker : -1;
    job->timeout_ns = timeout_ms * NS_PER_MS;
    job->layout_text = values[LAYOUT];
    job->json = arguments->given[JSON];
    return true;
}

static int run(const struct arguments *arguments)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return complain(EXIT_SYSTEM, "out of memory: a batch of ids takes %zu bytes", sizeof *job);
    }
    const int code = job_read(arguments, job) ? job_run(job) : EXIT_USAGE;
    free(job);
    return code;
}

const struct command cmd_gen = {
    .name = "gen",
    .summary = "make ids",
    .description =
        "Makes unique 64-bit ids that sort by time, one a line. Each run leases a worker number "
        "from the registry and gives it back at its end, so any number of processes may run at "
        "once. The default registry is made at its first use.",
    .options = options,
    .examples = examples,
    .run = run,
};
