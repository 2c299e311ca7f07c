/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The explorer: depth first over who goes next, with a memory of the states that were seen. What the
 * threads do and what must hold is the test's. */
#include "explore.h"

#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define RESULTS_MAX   160 /* a thread's operations and notes */
#define DEPTH_MAX     250
#define TABLE_MIN     (UINT64_C(1) << 16)
#define NOBODY        EXPLORE_THREADS_MAX
#define TABLE_LOAD(n) ((n) / 4 * 3)

/* Two independent hashes of one sequence of numbers. */
typedef struct hash {
    uint64_t a;
    uint64_t b;
} hash;

/* What a thread has observed. hashes[n] is of the first n results. */
typedef struct history {
    uint64_t results[RESULTS_MAX];
    hash hashes[RESULTS_MAX + 1];
} history;

/* What is put back when the search turns. */
typedef struct state {
    unsigned lengths[EXPLORE_THREADS_MAX];
    bool done[EXPLORE_THREADS_MAX];
    int64_t waits_for_ns[EXPLORE_THREADS_MAX]; /* 0: for nothing */
    unsigned time;
} state;

typedef struct level {
    state state;
    _Alignas(64) unsigned char shared[EXPLORE_SHARED_MAX];
    hash key;
    double schedules;
    unsigned next; /* the actor to try next; the one after the threads is the clock */
} level;

typedef struct entry {
    hash key; /* 0, 0: empty */
    double schedules;
} entry;

static const explore_model *model;
static state now;
static history histories[EXPLORE_THREADS_MAX];
static level levels[DEPTH_MAX];
static const char *violation;

static entry *table;
static uint64_t table_size;
static uint64_t table_count;

/* The running thread. */
static unsigned active = NOBODY;
static unsigned cursor;
static bool stepped;
static bool beginning;
static int64_t wanted_ns;
static unsigned time_read;
static uint64_t observed[EXPLORE_OBSERVED_MAX];
static jmp_buf pause_point;

static hash mix(hash of, uint64_t number)
{
    of.a = (of.a ^ number) * UINT64_C(0x9fb21c651e98df25);
    of.a ^= of.a >> 32;
    of.b = (of.b + number) * UINT64_C(0xd6e8feb86659fd93);
    of.b ^= of.b >> 29;
    return of;
}

static hash mix_bytes(hash of, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t number;
        memcpy(&number, (const unsigned char *)bytes + i, sizeof number);
        of = mix(of, number);
    }
    return of;
}

/* A thread's hash is added to those of its twins, so that their order does not count. */
static hash state_key(void)
{
    hash sums[EXPLORE_THREADS_MAX] = {{.a = 0}};
    for (unsigned i = 0; i < model->threads; i++) {
        const hash seen = histories[i].hashes[now.lengths[i]];
        hash *const sum = &sums[model->twins[i]];
        *sum = (hash){.a = sum->a + seen.a, .b = sum->b + seen.b};
    }
    hash key = mix_bytes((hash){.a = 1, .b = 2}, model->shared, model->compared_size);
    key = mix_bytes(mix(key, now.time), sums, sizeof sums);
    return key;
}

static entry *find(hash key)
{
    uint64_t at = key.a & (table_size - 1);
    while (table[at].key.a != key.a || table[at].key.b != key.b) {
        if (table[at].key.a == 0 && table[at].key.b == 0) {
            break;
        }
        at = (at + 1) & (table_size - 1);
    }
    return &table[at];
}

static void resize(uint64_t size)
{
    entry *const old = table;
    const uint64_t old_size = table_size;
    table = calloc(size, sizeof *table);
    assert(table != NULL);
    table_size = size;
    for (uint64_t i = 0; i < old_size; i++) {
        if (old[i].key.a != 0 || old[i].key.b != 0) {
            *find(old[i].key) = old[i];
        }
    }
    free(old);
}

static void remember(hash key, double schedules)
{
    if (table_count >= TABLE_LOAD(table_size)) {
        resize(table_size * 2);
    }
    *find(key) = (entry){.key = key, .schedules = schedules};
    table_count++;
}

void explore_fail(const char *text)
{
    violation = violation == NULL ? text : violation;
    if (active != NOBODY) {
        longjmp(pause_point, 1);
    }
}

bool explore_is_new(void)
{
    return active == NOBODY || stepped;
}

void explore_begin(void)
{
    beginning = true;
}

void explore_forget(const void *known, size_t known_size)
{
    assert(known_size % sizeof(uint64_t) == 0);
    histories[active].hashes[cursor] = mix_bytes((hash){.a = 3, .b = 4}, known, known_size);
}

uint64_t explore_observed(unsigned index)
{
    return observed[index];
}

unsigned explore_time_read(void)
{
    return time_read;
}

unsigned explore_time_now(void)
{
    return now.time;
}

uint64_t explore_log(uint64_t result)
{
    if (active != NOBODY) {
        history *const own = &histories[active];
        assert(cursor < RESULTS_MAX);
        own->results[cursor] = result;
        own->hashes[cursor + 1] = mix(own->hashes[cursor], result);
        cursor++;
        now.lengths[active] = cursor;
    }
    return result;
}

uint64_t explore_recall(void)
{
    assert(cursor < now.lengths[active]);
    return histories[active].results[cursor++];
}

static void note_observed(bool is_new)
{
    beginning = false;
    for (unsigned i = 0; i < EXPLORE_OBSERVED_MAX; i++) {
        observed[i] = is_new ? explore_log(*model->observed[i]) : explore_recall();
    }
}

bool explore_switch(void)
{
    if (active == NOBODY) {
        return true;
    }
    const bool is_new = cursor == now.lengths[active];
    if (is_new && stepped) {
        longjmp(pause_point, 1);
    }
    stepped = is_new;
    if (beginning) {
        note_observed(is_new);
    }
    return is_new;
}

bool explore_switch_counter(void)
{
    return active != NOBODY && model->counters_switch ? explore_switch() : explore_is_new();
}

static const explore_time *read_time(void)
{
    time_read = (unsigned)(explore_switch() ? explore_log(now.time) : explore_recall());
    return &model->times[time_read];
}

int64_t explore_clock_precise_ns(void)
{
    return read_time()->precise_ns;
}

int64_t explore_clock_coarse_ns(void)
{
    return read_time()->coarse_ns;
}

int explore_clock_wait(int64_t at_ns)
{
    wanted_ns = at_ns;
    const explore_time *const time = read_time();
    wanted_ns = 0;
    return time->precise_ns >= at_ns ? 0 : -1;
}

static bool clock_moves(void)
{
    return now.time + 1 < model->times_count;
}

static bool may_go(unsigned thread)
{
    return !now.done[thread] && (now.waits_for_ns[thread] == 0 || !clock_moves() ||
                                 model->times[now.time].precise_ns >= now.waits_for_ns[thread]);
}

static bool all_done(void)
{
    bool all = true;
    for (unsigned i = 0; i < model->threads; i++) {
        all = all && now.done[i];
    }
    return all;
}

/* One new operation of a thread, and what it does until its next. */
static void step_thread(unsigned thread)
{
    active = thread;
    cursor = 0;
    stepped = false;
    beginning = false;
    wanted_ns = 0;
    if (setjmp(pause_point) == 0) {
        model->run(thread);
        now.done[thread] = true;
    }
    now.waits_for_ns[thread] = wanted_ns;
    active = NOBODY;
}

static void step(unsigned actor)
{
    if (actor == model->threads) {
        now.time++;
    } else {
        step_thread(actor);
    }
}

static void start(explore_result *result)
{
    memset(&now, 0, sizeof now);
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++) {
        histories[i].hashes[0] = (hash){.a = 5, .b = 6};
    }
    violation = NULL;
    table_size = 0;
    table_count = 0;
    table = NULL;
    resize(TABLE_MIN);
    *result = (explore_result){.schedules = 0};
}

/* Stands at a new state: keeps what is needed to come back, or takes its count from memory. */
static bool enter(unsigned depth, double *schedules)
{
    assert(depth < DEPTH_MAX);
    level *const at = &levels[depth];
    at->key = state_key();
    const entry *const known = find(at->key);
    if (known->schedules > 0) {
        *schedules += known->schedules;
        return false;
    }
    at->state = now;
    memcpy(at->shared, model->shared, model->shared_size);
    at->schedules = 0;
    at->next = 0;
    if (all_done()) {
        model->check_end();
        at->schedules = 1;
        at->next = model->threads + 1;
    }
    return true;
}

/* Takes a level's next step. False when it has none left. */
static bool advance(level *at)
{
    while (at->next <= model->threads) {
        const unsigned actor = at->next++;
        if (actor == model->threads ? clock_moves() : may_go(actor)) {
            step(actor);
            if (violation == NULL) {
                model->check_step(at->shared);
            }
            return true;
        }
    }
    return false;
}

static void put_back(const level *at)
{
    now = at->state;
    memcpy(model->shared, at->shared, model->shared_size);
}

static void describe(unsigned depth, explore_result *result)
{
    result->violation = violation;
    for (unsigned i = 0; i <= depth && i + 1 < sizeof result->schedule; i++) {
        const unsigned actor = levels[i].next - 1;
        result->schedule[i] = '+';
        if (actor < model->threads) {
            result->schedule[i] = (char)('A' + (int)actor);
        }
    }
}

void explore(const explore_model *of, explore_result *result_out)
{
    assert(of->shared_size <= EXPLORE_SHARED_MAX && of->compared_size % sizeof(uint64_t) == 0);
    model = of;
    start(result_out);
    unsigned depth = 0;
    (void)enter(0, &result_out->schedules);
    for (;;) {
        level *const at = &levels[depth];
        double *const above = depth == 0 ? &result_out->schedules : &levels[depth - 1].schedules;
        if (!advance(at)) {
            remember(at->key, at->schedules);
            *above += at->schedules;
            if (depth == 0) {
                break;
            }
            depth--;
            put_back(&levels[depth]);
            continue;
        }
        const bool deeper = violation == NULL && enter(depth + 1, &at->schedules);
        if (violation != NULL) {
            describe(depth, result_out);
            break;
        }
        if (deeper) {
            depth++;
        } else {
            put_back(at);
        }
    }
    result_out->states = table_count;
    free(table);
}
