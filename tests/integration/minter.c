/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * A host of the library, for the tests to start, stop, fork and kill. It opens a registry as its
 * arguments say (name=value, the table below), makes ids on one or more lanes (threads, and forked
 * children with the same handle), and appends them to a file a lane, as native uint64. An id counts
 * as used once it is in the file, so after kill -9 the files hold every id that was used. What
 * happens is said in lines on the standard output, one event a line; helpers.py reads them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "firn/firn.h"

#define BLOCK_MAX     65536
#define LANES_MAX     64
#define RETRY_NS      500000
#define NO_WORKER     UINT32_MAX
#define PATH_SIZE     4096
#define LINE_SIZE     1024
#define LIFETIME_S    300 /* so that a test that is itself killed leaves nobody behind */
#define NS_PER_SECOND INT64_C(1000000000)

enum mode { MODE_NEXT, MODE_MANY, MODE_WAIT, MODE_WAIT_MANY, MODE_RUNS };

static struct settings {
    const char *url;
    const char *out;
    const char *layout;
    const char *note;
    int64_t count; /* ids a lane; 0: until told to end */
    int64_t milliseconds;
    int64_t mode;
    int64_t threads;
    int64_t children;
    int64_t block;    /* ids between two writes */
    int64_t pause_us; /* between two blocks */
    int64_t create;
    int64_t gate; /* wait for the end of standard input before opening */
    int64_t hold; /* keep the lease, once all is made, until told to end */
    int64_t renewal;
    int64_t window_ms;
    int64_t timeout_ms;
    int64_t worker;
    int64_t keep_warm;
    int64_t back;
    int64_t back_max_ms;
    int64_t start;
    int64_t clock;
    int64_t wait_ms; /* how long a waiting call may wait */
} settings = {
    .threads = 1,
    .block = 512,
    .worker = -1,
    .timeout_ms = 5000,
    .back_max_ms = 10,
    .wait_ms = 100,
};

#define MEMBER(name) offsetof(struct settings, name)

static const struct setting {
    const char *name;
    size_t offset;
    bool is_text;
    const char *words; /* allowed values, in the order of their numbers; NULL: a number */
} table[] = {
    {"url", MEMBER(url), true, NULL},
    {"out", MEMBER(out), true, NULL},
    {"layout", MEMBER(layout), true, NULL},
    {"note", MEMBER(note), true, NULL},
    {"count", MEMBER(count), false, NULL},
    {"milliseconds", MEMBER(milliseconds), false, NULL},
    {"mode", MEMBER(mode), false, "next many wait wait-many runs"},
    {"threads", MEMBER(threads), false, NULL},
    {"children", MEMBER(children), false, NULL},
    {"block", MEMBER(block), false, NULL},
    {"pause_us", MEMBER(pause_us), false, NULL},
    {"create", MEMBER(create), false, NULL},
    {"gate", MEMBER(gate), false, NULL},
    {"hold", MEMBER(hold), false, NULL},
    {"renewal", MEMBER(renewal), false, "demand thread host"},
    {"window_ms", MEMBER(window_ms), false, NULL},
    {"timeout_ms", MEMBER(timeout_ms), false, NULL},
    {"worker", MEMBER(worker), false, NULL},
    {"keep_warm", MEMBER(keep_warm), false, NULL},
    {"back", MEMBER(back), false, "continue wait refuse"},
    {"back_max_ms", MEMBER(back_max_ms), false, NULL},
    {"start", MEMBER(start), false, "zero random carried"},
    {"clock", MEMBER(clock), false, "precise coarse"},
    {"wait_ms", MEMBER(wait_ms), false, NULL},
};

/* One thread's ids. */
struct lane {
    firn *ids;
    int number;
    int file;
    int64_t left;
    uint64_t made;
    uint64_t last;
    int64_t longest_ns; /* of the calls that wait */
    int status;         /* of the last block */
    uint32_t worker;
    firn_run run;
    uint64_t block[BLOCK_MAX];
};

static firn_layout layout;
static int64_t deadline_ns;
static atomic_bool ending;

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "minter: %s: %s\n", what, strerror(errno));
    exit(3);
}

/* One write a line: lanes and processes share the pipe. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (size < 0) {
        die("vsnprintf");
    }
    const size_t used = (size_t)size < sizeof line - 1 ? (size_t)size : sizeof line - 2;
    line[used] = '\n';
    if (write(STDOUT_FILENO, line, used + 1) < 0 && errno != EPIPE) {
        die("standard output");
    }
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec at;
    (void)clock_gettime(clock, &at);
    return at.tv_sec * NS_PER_SECOND + at.tv_nsec;
}

static int64_t monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static void nap(int64_t span_ns)
{
    const struct timespec span = {.tv_sec = span_ns / NS_PER_SECOND,
                                  .tv_nsec = span_ns % NS_PER_SECOND};
    (void)nanosleep(&span, NULL);
}

static bool is_over(void)
{
    return atomic_load(&ending) || (deadline_ns != 0 && monotonic_ns() >= deadline_ns);
}

/* The number of a word in a list of words, or -1. */
static int64_t word_number(const char *words, const char *word)
{
    const size_t size = strlen(word);
    for (int64_t number = 0;; number++) {
        const size_t each = strcspn(words, " ");
        if (each == size && strncmp(words, word, size) == 0) {
            return number;
        }
        if (words[each] == '\0') {
            return -1;
        }
        words += each + 1;
    }
}

static int set(const struct setting *row, const char *value)
{
    char *member = (char *)&settings + row->offset;
    if (row->is_text) {
        memcpy(member, &value, sizeof value);
        return 0;
    }
    char *end = NULL;
    const int64_t number =
        row->words != NULL ? word_number(row->words, value) : strtoll(value, &end, 10);
    if (row->words != NULL ? number < 0 : (*value == '\0' || *end != '\0')) {
        return -1;
    }
    memcpy(member, &number, sizeof number);
    return 0;
}

static int read_argument(const char *argument)
{
    const size_t size = strcspn(argument, "=");
    for (size_t i = 0; argument[size] == '=' && i < sizeof table / sizeof table[0]; i++) {
        if (strlen(table[i].name) == size && strncmp(table[i].name, argument, size) == 0) {
            return set(&table[i], argument + size + 1);
        }
    }
    return -1;
}

static void read_arguments(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (read_argument(arguments[i]) < 0) {
            fprintf(stderr, "minter: %s: not understood\n", arguments[i]);
            exit(2);
        }
    }
    const int64_t lanes = settings.threads * (settings.children + 1);
    if (settings.url == NULL || settings.out == NULL || settings.block < 1 ||
        settings.block > BLOCK_MAX || lanes < 1 || lanes > LANES_MAX) {
        fprintf(stderr, "minter: url and out are needed; block is 1 to %d, lanes at most %d\n",
                BLOCK_MAX, LANES_MAX);
        exit(2);
    }
}

static void on_end(int number)
{
    (void)number;
    atomic_store(&ending, true);
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_end};
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(SIGTERM, &action, NULL) < 0) {
        die("sigaction");
    }
    (void)signal(SIGPIPE, SIG_IGN);
}

static firn *open_registry(void)
{
    firn *ids;
    firn_error error = {.text = ""};
    firn_options options = firn_options_default();
    options.layout = settings.layout;
    options.note = settings.note;
    options.error_out = &error;
    options.create = (int32_t)settings.create;
    options.renewal = (int32_t)settings.renewal;
    options.window_ms = settings.window_ms;
    options.timeout_ms = settings.timeout_ms;
    options.worker = settings.worker;
    options.keep_warm = (int32_t)settings.keep_warm;
    options.on_clock_back = (int32_t)settings.back;
    options.back_max_ms = settings.back_max_ms;
    options.sequence_start = (int32_t)settings.start;
    options.clock = (int32_t)settings.clock;
    say("clock %" PRId64 " %" PRId64 " %" PRId64, clock_ns(CLOCK_REALTIME) / 1000000,
        clock_ns(CLOCK_REALTIME_COARSE) / 1000000, clock_ns(CLOCK_MONOTONIC) / 1000000);
    const int status = firn_open(settings.url, &options, &ids);
    firn_state state = {.leased = 0};
    if (status >= 0) {
        (void)firn_state_get(ids, &state);
        (void)firn_layout_get(ids, &layout);
    }
    say("open %s %" PRId64 " %s", firn_status_name(status),
        state.leased ? (int64_t)state.worker : -1, status < 0 ? error.text : state.text);
    return status < 0 ? NULL : ids;
}

static int make_one(struct lane *lane, uint64_t *id_out)
{
    switch (settings.mode) {
    case MODE_WAIT:
        return firn_wait(lane->ids, settings.wait_ms * 1000000, id_out);
    case MODE_RUNS:
        return firn_next_run(lane->ids, &lane->run, id_out);
    default:
        return firn_next(lane->ids, id_out);
    }
}

static bool is_waiting(void)
{
    return settings.mode == MODE_WAIT || settings.mode == MODE_WAIT_MANY;
}

static int make_some(struct lane *lane, size_t wanted, size_t *made)
{
    const int64_t from_ns = is_waiting() ? monotonic_ns() : 0;
    uint64_t *at = lane->block + *made;
    size_t got = 0;
    int status;
    switch (settings.mode) {
    case MODE_MANY:
        status = firn_next_many(lane->ids, at, wanted, &got);
        break;
    case MODE_WAIT_MANY:
        status = firn_wait_many(lane->ids, settings.wait_ms * 1000000, at, wanted, &got);
        break;
    default:
        status = make_one(lane, at);
        got = status == FIRN_OK;
        break;
    }
    const int64_t span_ns = is_waiting() ? monotonic_ns() - from_ns : 0;
    lane->longest_ns = span_ns > lane->longest_ns ? span_ns : lane->longest_ns;
    *made += got;
    return status;
}

/* A block of ids, or as many as there were before a failure. */
static int make_block(struct lane *lane, size_t *made_out)
{
    size_t wanted = (size_t)settings.block;
    wanted = settings.count > 0 && lane->left < settings.block ? (size_t)lane->left : wanted;
    size_t made = 0;
    int status = FIRN_OK;
    while (made < wanted && !atomic_load(&ending) &&
           (status == FIRN_OK || status == FIRN_E_SEQUENCE_FULL)) {
        status = make_some(lane, wanted - made, &made);
    }
    *made_out = made;
    return status == FIRN_E_SEQUENCE_FULL ? FIRN_OK : status;
}

static void write_block(struct lane *lane, size_t count)
{
    const char *at = (const char *)lane->block;
    size_t left = count * sizeof lane->block[0];
    while (left > 0) {
        const ssize_t size = write(lane->file, at, left);
        if (size < 0) {
            die(settings.out);
        }
        at += size;
        left -= (size_t)size;
    }
    lane->made += count;
    lane->left -= (int64_t)count;
    lane->last = lane->block[count - 1];
}

/* Events: ids are in the file before anything is said about them. */
static void note_ids(struct lane *lane, size_t count)
{
    firn_fields fields;
    if (lane->status < 0) {
        say("flow %d %" PRIu64, lane->number, lane->block[0]);
        lane->status = FIRN_OK;
    }
    if (firn_layout_decompose(&layout, lane->block[count - 1], &fields) == FIRN_OK &&
        fields.worker != lane->worker) {
        lane->worker = fields.worker;
        say("worker %d %u", lane->number, lane->worker);
    }
}

static void note_status(struct lane *lane, int status)
{
    if (status >= 0 || status == lane->status) {
        return;
    }
    firn_state state = {.text = ""};
    (void)firn_state_get(lane->ids, &state);
    say("stop %d %s %" PRIu64 " %s", lane->number, firn_status_name(status), lane->last,
        state.text[0] != '\0' ? state.text : firn_status_text(status));
    lane->status = status;
}

static void *run_lane(void *context)
{
    struct lane *lane = context;
    while (!is_over() && (settings.count == 0 || lane->left > 0)) {
        size_t made = 0;
        const int status = make_block(lane, &made);
        if (made > 0) {
            write_block(lane, made);
            note_ids(lane, made);
        }
        note_status(lane, status);
        if (status < 0) {
            nap(RETRY_NS);
        } else if (settings.pause_us > 0) {
            nap(settings.pause_us * 1000);
        }
    }
    return NULL;
}

static struct lane *new_lane(firn *ids, int number)
{
    char path[PATH_SIZE];
    const bool alone = settings.threads == 1 && settings.children == 0;
    struct lane *lane = calloc(1, sizeof *lane);
    if (lane == NULL) {
        die("calloc");
    }
    (void)snprintf(path, sizeof path, alone ? "%s" : "%s.%d", settings.out, number);
    lane->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (lane->file < 0) {
        die(path);
    }
    lane->ids = ids;
    lane->number = number;
    lane->left = settings.count;
    lane->worker = NO_WORKER;
    return lane;
}

/* What the lanes of one process did, in all. */
struct totals {
    uint64_t made;
    int64_t longest_ns;
};

/* This process's lanes, to their end. */
static struct totals run_lanes(firn *ids, int first)
{
    pthread_t threads[LANES_MAX];
    struct lane *lanes[LANES_MAX];
    const int count = (int)settings.threads;
    struct totals totals = {.made = 0};
    for (int i = 0; i < count; i++) {
        lanes[i] = new_lane(ids, first + i);
    }
    say("lanes %d %d", first, (int)getpid());
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, run_lane, lanes[i]) != 0) {
            die("pthread_create");
        }
    }
    for (int i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
        const int64_t longest_ns = lanes[i]->longest_ns;
        totals.made += lanes[i]->made;
        totals.longest_ns = longest_ns > totals.longest_ns ? longest_ns : totals.longest_ns;
        (void)close(lanes[i]->file);
        free(lanes[i]);
    }
    return totals;
}

static void say_end(firn *ids, int first, const struct totals *totals)
{
    firn_state state;
    if (firn_state_get(ids, &state) < 0) {
        die("firn_state_get");
    }
    say("end %d made=%" PRIu64 " healthy=%d reason=%s leased=%d worker=%u renewals=%" PRIu64
        " renewal_failures=%" PRIu64 " conflicts=%" PRIu64 " lost_replies=%" PRIu64
        " lease_made=%" PRIu64 " waits=%" PRIu64 " full_ticks=%" PRIu64 " back_count=%" PRIu64
        " back_max_ns=%" PRIu64 " longest_ms=%" PRId64,
        first, totals->made, state.healthy, firn_status_name(state.reason), state.leased,
        state.worker, state.renewals, state.renewal_failures, state.conflicts, state.lost_replies,
        state.statistics.made, state.statistics.waits, state.statistics.full_ticks,
        state.statistics.back_count, state.statistics.back_max_ns, totals->longest_ns / 1000000);
}

static void mint(firn *ids, int first)
{
    const struct totals totals = run_lanes(ids, first);
    if (settings.hold) {
        say("hold %d", first);
        while (!is_over()) {
            nap(RETRY_NS);
        }
    }
    say_end(ids, first, &totals);
}

static void start_children(firn *ids)
{
    for (int i = 1; i <= settings.children; i++) {
        const pid_t child = fork();
        if (child < 0) {
            die("fork");
        }
        if (child == 0) {
            (void)alarm(LIFETIME_S);
            mint(ids, i * (int)settings.threads);
            firn_close(ids);
            exit(0);
        }
    }
}

static int wait_for_children(void)
{
    int status;
    while (wait(&status) > 0) {
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            return 3;
        }
    }
    return 0;
}

int main(int count, char **arguments)
{
    char byte;
    read_arguments(count, arguments);
    (void)alarm(LIFETIME_S);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    watch_signals();
    if (settings.gate && read(STDIN_FILENO, &byte, 1) < 0) {
        die("standard input");
    }
    firn *ids = open_registry();
    if (ids == NULL) {
        return 1;
    }
    if (settings.milliseconds > 0) {
        deadline_ns = monotonic_ns() + settings.milliseconds * 1000000;
    }
    start_children(ids);
    mint(ids, 0);
    firn_close(ids);
    say("closed");
    return wait_for_children();
}
