/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The promises of a shared generator, in every order that its threads' operations and the clock's
 * steps can have. How orders are enumerated is explore.c's. With --must-find PROMISE CASES it passes
 * only when that promise is broken in one of those cases: so are sources with a planted fault shown
 * to be caught. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/generator.h"
#include "explore.h"
#include "firn/layout.h"
#include "generator_cases.h"
#include "port/generate.h"

#define WORKER 1

/* What a call gave. Without gaps, to be compared byte by byte. */
typedef struct outcome {
    int64_t status;
    uint64_t count;
    uint64_t ids[IDS_MAX];
} outcome;

/* What steps change. calls_done says which of the outcomes below there are already. */
static struct {
    firn_generator gen;
    uint64_t calls_done[EXPLORE_THREADS_MAX];
} shared;

/* All that a thread knows between two calls. */
typedef struct own {
    uint64_t calls_done;
    firn_run run;
    outcome outcomes[CALLS_MAX];
} own;

static const test_case *current;
static firn_layout layout;
static explore_time times[TIMES_MAX];
static unsigned times_count;
static unsigned threads;
static uint64_t before_word; /* when the threads start */
static own owns[EXPLORE_THREADS_MAX];
static uint64_t seen;
static bool overshoot_seen;

/* Runs ask which process they are in; here there is one. */
static const uint64_t fork_mark = 1;
const uint64_t *firn__memory_fork_word = &fork_mark;

uint64_t firn__memory_fork_mark(void)
{
    return fork_mark;
}

static const firn_rules *rules(void)
{
    return &shared.gen.rules;
}

static uint64_t tick_at(unsigned time)
{
    return current->ticks[time];
}

static uint64_t coarse_tick_at(unsigned time)
{
    const uint64_t coarse_tick = current->coarse_ticks[time];
    return coarse_tick == 0 ? tick_at(time) : coarse_tick;
}

/* The largest tick that the clock has shown until then. */
static uint64_t highest_tick(unsigned time)
{
    uint64_t highest = 0;
    for (unsigned i = 0; i <= time; i++) {
        highest = tick_at(i) > highest ? tick_at(i) : highest;
    }
    return highest;
}

static bool steps_back(void)
{
    for (unsigned i = 1; i < times_count; i++) {
        if (tick_at(i) < tick_at(i - 1)) {
            return true;
        }
    }
    return false;
}

static bool is_final(uint64_t word)
{
    return firn__word_is_final(rules(), word);
}

static bool program_has(const char *calls)
{
    for (unsigned i = 0; i < threads; i++) {
        if (strpbrk(current->programs[i], calls) != NULL) {
            return true;
        }
    }
    return false;
}

static void require(bool holds, const char *promise)
{
    if (!holds) {
        explore_fail(promise);
    }
}

/* The word that an id was made from. */
static uint64_t word_of(uint64_t id)
{
    firn_fields fields;
    require(firn_layout_decompose(&layout, id, &fields) == FIRN_OK &&
                fields.worker == shared.gen.worker,
            "an id has the generator's worker and no bit above the layout");
    return fields.tick << rules()->word_shift | fields.sequence;
}

static bool has_id(const outcome *result, size_t below, uint64_t id)
{
    for (size_t i = 0; i < below; i++) {
        if (result->ids[i] == id) {
            return true;
        }
    }
    return false;
}

static void check_new(uint64_t id)
{
    require(word_of(id) > before_word, "no id is made twice");
    for (unsigned i = 0; i < threads; i++) {
        for (uint64_t call = 0; call < shared.calls_done[i]; call++) {
            require(!has_id(&owns[i].outcomes[call], owns[i].outcomes[call].count, id),
                    "no id is made twice");
        }
    }
}

/* A run may hold ids from before its thread's other calls, so its order is its own. */
static uint64_t last_id(unsigned thread, bool of_run)
{
    const char *const calls = current->programs[thread];
    for (uint64_t call = shared.calls_done[thread]; call > 0; call--) {
        const outcome *const result = &owns[thread].outcomes[call - 1];
        if (result->count > 0 && (calls[call - 1] == RUN) == of_run) {
            return result->ids[result->count - 1];
        }
    }
    return 0;
}

/* explore_observed() */
enum { WORD_AT_START, END_AT_START };

static void check_id(unsigned thread, int call, uint64_t id, uint64_t above)
{
    const uint64_t word = word_of(id);
    const uint64_t tick = firn__word_tick(rules(), word);
    check_new(id);
    require(id > above && id > last_id(thread, call == RUN), "a thread's ids increase");
    require(call == RUN || word > explore_observed(WORD_AT_START),
            "an id is above all that were made before its call");
    require(tick >= shared.gen.start_tick && tick < shared.gen.end_tick, "ids lie in the window");
    require(tick <= highest_tick(explore_time_now()), "no id is of a tick that is yet to come");
    require(tick >= (current->clock == FIRN_CLOCK_COARSE ? coarse_tick_at(explore_time_read())
                                                         : tick_at(explore_time_read())),
            "no id is of a tick before the clock reading");
}

static void check_ids(unsigned thread, int call, const outcome *result)
{
    require(result->count >= 1 && result->count <= (call == MANY || call == TRY_AT ? WANT_MANY : 1),
            "a call gives at least one id and at most as many as wanted");
    for (size_t i = 0; i < result->count; i++) {
        check_id(thread, call, result->ids[i], i == 0 ? 0 : result->ids[i - 1]);
    }
    require(!is_final(explore_observed(WORD_AT_START)), "after retire nobody gets an id");
    require(current->on_clock_back == FIRN_BACK_CONTINUE ||
                firn__word_tick(rules(), explore_observed(WORD_AT_START)) <=
                    tick_at(explore_time_read()),
            "with wait and refuse nothing is made while the clock is behind");
}

/* A clock that never went back is never said to have done so. */
static void check_back(int call, int64_t status)
{
    const uint64_t tick = tick_at(explore_time_read());
    const uint64_t behind =
        (call == AT || call == TRY_AT ? firn__word_tick(rules(), shared.gen.word)
                                      : highest_tick(explore_time_read())) -
        tick;
    /* With wait and refuse, a tick that the clock was seen behind stays closed. */
    const bool closed =
        current->on_clock_back != FIRN_BACK_CONTINUE && behind == 0 && shared.gen.back_tick == tick;
    require(behind != 0 || closed, "only a step back is called one");
    if (status == FIRN_E_CLOCK_WAIT) {
        require(current->on_clock_back == FIRN_BACK_WAIT, "only the policy wait says CLOCK_WAIT");
    } else {
        require(current->on_clock_back == FIRN_BACK_REFUSE || behind > rules()->back_max_ticks,
                "a small step back is refused by the policy refuse only");
    }
}

static void check_refusal(int call, int64_t status)
{
    const uint64_t word = shared.gen.word;
    const uint64_t tick = tick_at(explore_time_read());
    switch (status) {
    case FIRN_E_SEQUENCE_FULL:
        require(firn__word_tick(rules(), word) > tick ||
                    (firn__word_tick(rules(), word) == tick && firn__word_left(rules(), word) == 0),
                "a tick is called full only when it is");
        break;
    case FIRN_E_CLOCK_WAIT:
    case FIRN_E_CLOCK_BACK:
        check_back(call, status);
        break;
    case FIRN_E_WINDOW:
        require(tick >= explore_observed(END_AT_START),
                "the window is over only when the clock is past its end");
        break;
    case FIRN_E_RETIRED:
        require(is_final(word), "only a retired generator says so");
        break;
    case FIRN_E_DEADLINE:
        require(call == WAIT && explore_time_now() + 1 == times_count,
                "a wait ends when the clock comes to it, or at its deadline");
        break;
    case FIRN__STALE:
        require(false, "FIRN__STALE stays inside");
        break;
    default:
        require(false, "a call gives a status that its header names");
        break;
    }
}

static void check_ids_call(unsigned thread, int call, const outcome *result)
{
    if (result->status == FIRN_OK) {
        check_ids(thread, call, result);
    } else {
        require(result->count == 0, "a refused call gives no id");
        check_refusal(call, result->status);
        require(!is_final(explore_observed(WORD_AT_START)) || result->status == FIRN_E_RETIRED,
                "a retired generator always says so");
    }
}

static void check_extend(int64_t status, uint64_t end_tick)
{
    require(shared.gen.end_tick >= end_tick, "after extend the window ends no earlier");
    require(status == FIRN_OK || (status == FIRN_E_RETIRED && is_final(shared.gen.word)),
            "extend says whether the generator was retired");
    require(status == FIRN_E_RETIRED || !is_final(explore_observed(WORD_AT_START)),
            "extend says that the generator was retired");
}

static void check_last_word(uint64_t word)
{
    const uint64_t at_start = explore_observed(WORD_AT_START);
    require(!is_final(word), "the last word is of an id, also while another retires");
    require(is_final(at_start) || word >= at_start, "the last word is not an older one");
}

static void check_statistics(const firn_statistics *statistics)
{
    /* Together the counters may be a tick apart. */
    const uint64_t ticks = highest_tick(explore_time_now()) + 1;
    require(statistics->made <= ticks * (rules()->sequence_last + 1),
            "the count of ids is a count of ids at any moment");
    require(statistics->full_ticks <= ticks,
            "the count of full ticks is a count of ticks at any moment");
}

static int make_many(outcome *result)
{
    size_t made = 0;
    const int status = firn_generator_next_many(&shared.gen, result->ids, WANT_MANY, &made);
    result->count = made;
    return status;
}

static int try_at(int64_t now_ns, outcome *result)
{
    firn_batch batch = {.count = 0};
    const int status = firn_generator_try_at(&shared.gen, now_ns, WANT_MANY, &batch);
    require(batch.count <= WANT_MANY, "a call gives at most as many ids as wanted");
    firn__generate_fill(&batch, result->ids);
    result->count = (size_t)batch.count;
    return status;
}

static int one(int status, outcome *result)
{
    result->count = status == FIRN_OK;
    return status;
}

static int make_ids(int call, firn_run *run, outcome *result)
{
    firn_generator *const gen = &shared.gen;
    switch (call) {
    case NEXT:
        return one(firn_generator_next(gen, result->ids), result);
    case MANY:
        return make_many(result);
    case AT:
        return one(firn_generator_next_at(gen, firn__clock_real_ns(), result->ids), result);
    case TRY_AT:
        return try_at(firn__clock_real_ns(), result);
    case WAIT:
        return one(firn_generator_wait(gen, WAIT_NS, result->ids), result);
    default:
        return one(firn_run_next(run, result->ids), result);
    }
}

/* The first instant of a tick; windows are set in these. */
static int64_t tick_ms(uint64_t tick)
{
    return (int64_t)tick * layout.tick_ns / 1000000;
}

static void extend(uint64_t end_tick, outcome *result)
{
    result->status = firn_generator_extend(&shared.gen, tick_ms(end_tick));
    if (explore_is_new()) {
        check_extend(result->status, end_tick);
    }
}

static void retire(outcome *result)
{
    result->status = firn_generator_retire(&shared.gen);
    if (explore_is_new()) {
        require(result->status == FIRN_OK && is_final(shared.gen.word),
                "retire ends the generator");
    }
}

static void read_last_word(void)
{
    const uint64_t word = firn__generator_last_word(&shared.gen);
    if (explore_is_new()) {
        check_last_word(word);
    }
}

static void read_statistics(outcome *result)
{
    firn_statistics statistics;
    result->status = firn_generator_statistics(&shared.gen, &statistics);
    if (explore_is_new()) {
        check_statistics(&statistics);
    }
}

static void make_call(unsigned thread, int call, firn_run *run, outcome *result)
{
    switch (call) {
    case EXTEND:
        extend(NEXT_END, result);
        break;
    case EXTEND_MORE:
        extend(LATER_END, result);
        break;
    case RETIRE:
        retire(result);
        break;
    case LAST:
        read_last_word();
        break;
    case STATISTICS:
        read_statistics(result);
        break;
    default:
        result->status = make_ids(call, run, result);
        if (explore_is_new()) {
            check_ids_call(thread, call, result);
        }
        break;
    }
}

static uint64_t bit_of(int64_t status)
{
    return status <= 0 && status > -64 ? BIT(status) : 0;
}

static void run_thread(unsigned thread)
{
    own *const known = &owns[thread];
    memset(known, 0, sizeof *known);
    (void)firn_run_init(&known->run, &shared.gen);
    for (unsigned i = 0; current->programs[thread][i] != 0; i++) {
        outcome result = {.status = FIRN_OK};
        explore_begin();
        make_call(thread, current->programs[thread][i], &known->run, &result);
        known->outcomes[i] = result;
        known->calls_done = i + 1;
        explore_forget(known, sizeof *known);
        if (explore_is_new()) {
            seen |= bit_of(result.status);
            shared.calls_done[thread] = i + 1;
        }
    }
}

static void check_step(const void *before)
{
    const firn_generator *const old = before;
    const uint64_t word = shared.gen.word;
    const uint64_t tick = firn__word_tick(rules(), word);
    require(word >= old->word, "the word only grows");
    require(shared.gen.end_tick >= old->end_tick, "the window's end only rises");
    const uint64_t sequence = firn__word_sequence(rules(), word);
    if (sequence > rules()->sequence_last) {
        overshoot_seen = true;
        require(sequence - rules()->sequence_last < threads,
                "each thread but one overshoots a tick once, at most");
    }
    if (word != old->word && !is_final(word)) {
        require(tick < shared.gen.end_tick, "the word stays in the window");
        require(tick <= highest_tick(explore_time_now()), "the word is not ahead of the clock");
    }
}

/* How many ids the threads have; and the highest word among them. */
static uint64_t count_ids(uint64_t *highest_word)
{
    uint64_t count = 0;
    *highest_word = 0;
    for (unsigned i = 0; i < threads; i++) {
        for (uint64_t call = 0; call < shared.calls_done[i]; call++) {
            const outcome *const result = &owns[i].outcomes[call];
            for (size_t id = 0; id < result->count; id++) {
                const uint64_t word = word_of(result->ids[id]);
                *highest_word = word > *highest_word ? word : *highest_word;
                count++;
            }
        }
    }
    return count;
}

static uint64_t count_ids_of(uint64_t tick)
{
    uint64_t count = tick == tick_at(0) ? current->made_before : 0;
    for (unsigned i = 0; i < threads; i++) {
        for (uint64_t call = 0; call < shared.calls_done[i]; call++) {
            for (size_t id = 0; id < owns[i].outcomes[call].count; id++) {
                count += firn__word_tick(rules(), word_of(owns[i].outcomes[call].ids[id])) == tick;
            }
        }
    }
    return count;
}

static uint64_t count_full_ticks(void)
{
    uint64_t full = 0;
    for (uint64_t tick = 0; tick <= highest_tick(times_count - 1); tick++) {
        full += count_ids_of(tick) == rules()->sequence_last + 1;
    }
    return full;
}

static bool some_call_gave(int64_t status)
{
    for (unsigned i = 0; i < threads; i++) {
        for (uint64_t call = 0; call < shared.calls_done[i]; call++) {
            if (owns[i].outcomes[call].status == status) {
                return true;
            }
        }
    }
    return false;
}

static void check_end(void)
{
    uint64_t highest_word;
    const uint64_t count = count_ids(&highest_word) + current->made_before;
    const uint64_t last_word = firn__generator_last_word(&shared.gen);
    firn_statistics statistics;
    assert(firn_generator_statistics(&shared.gen, &statistics) == FIRN_OK);
    require(!is_final(last_word) && highest_word <= last_word,
            "no id is above the last word, retired or not");
    if (program_has("x")) { /* what a run drops counts as made */
        require(statistics.made >= count, "no id goes uncounted");
    } else {
        require(statistics.made == count, "made is the number of ids");
        require(current->sequence_start != FIRN_START_ZERO ||
                    statistics.full_ticks == count_full_ticks(),
                "full_ticks is the number of ticks that are full");
    }
    require(program_has("w") || statistics.waits == 0, "waits counts waits");
    if (!steps_back() && !program_has("at")) {
        require(statistics.back_count == 0 && statistics.back_max_ns == 0,
                "a clock that never went back is not counted as one that did");
    }
    require(statistics.back_count > 0 ||
                !(some_call_gave(FIRN_E_CLOCK_BACK) || some_call_gave(FIRN_E_CLOCK_WAIT)),
            "a step back that is refused is counted");
    require(count == 0 || statistics.last_us ==
                              firn__tick_start_us(&layout, firn__word_tick(rules(), last_word)),
            "last_us is the last id's tick");
}

static int64_t middle_ns(uint64_t tick)
{
    return (int64_t)tick * layout.tick_ns + layout.tick_ns / 2;
}

static void set_times(void)
{
    times_count = 0;
    while (times_count < TIMES_MAX && tick_at(times_count) != 0) {
        times[times_count].precise_ns = middle_ns(tick_at(times_count));
        times[times_count].coarse_ns = middle_ns(coarse_tick_at(times_count));
        times_count++;
    }
}

static void make_before(void)
{
    for (uint64_t i = 0; i < current->made_before; i++) {
        uint64_t id;
        assert(firn_generator_next_at(&shared.gen, times[0].precise_ns, &id) == FIRN_OK);
    }
    before_word = shared.gen.word;
}

static void set_generator(void)
{
    memset(&shared, 0, sizeof shared);
    assert(firn_layout_parse(current->layout, &layout, NULL) == FIRN_OK);
    firn_generator_options options = firn_generator_options_default();
    options.on_clock_back = current->on_clock_back;
    options.sequence_start = current->sequence_start;
    options.clock = current->clock;
    if (current->ends) {
        options.end_ms = tick_ms(FIRST_END);
    }
    const uint32_t worker = layout.worker_bits == 0 ? 0 : WORKER;
    assert(firn_generator_init(&shared.gen, &layout, worker, &options, NULL) == FIRN_OK);
    threads = 0;
    while (threads < EXPLORE_THREADS_MAX && current->programs[threads] != NULL) {
        threads++;
    }
    set_times();
    make_before();
}

static unsigned twin_of(unsigned thread)
{
    unsigned twin = 0;
    while (twin < thread && thread < threads &&
           strcmp(current->programs[twin], current->programs[thread]) != 0) {
        twin++;
    }
    return twin;
}

/* Returns the promise that was broken, or NULL. */
static const char *run_case(const test_case *test, explore_result *total)
{
    current = test;
    seen = 0;
    overshoot_seen = false;
    set_generator();
    const explore_model model = {
        .shared = &shared,
        .shared_size = sizeof shared,
        .compared_size = sizeof shared.gen,
        .threads = threads,
        .twins = {twin_of(0), twin_of(1), twin_of(2)},
        .times = times,
        .times_count = times_count,
        .counters_switch = test->counters_switch,
        .observed = {[WORD_AT_START] = &shared.gen.word, [END_AT_START] = &shared.gen.end_tick},
        .run = run_thread,
        .check_step = check_step,
        .check_end = check_end,
    };
    explore_result result;
    explore(&model, &result);
    total->schedules += result.schedules;
    total->states += result.states;
    /* A case that does not come to what it is about shows nothing. */
    if (result.violation == NULL && seen != test->seen) {
        result.violation = "a case is about the statuses that its orders give";
    }
    if (result.violation == NULL &&
        overshoot_seen != (test->overshoots && test->on_clock_back == FIRN_BACK_CONTINUE)) {
        result.violation = "a case that is about ticks that overshoot has one";
    }
    if (result.violation == NULL && test->orders > 0 &&
        (result.schedules < test->orders || result.schedules > test->orders)) {
        result.violation = "the explorer misses no order";
    }
    printf("%-6s %16.15g schedules %8" PRIu64 " states  %s, %s\n",
           result.violation == NULL ? "holds" : "BROKEN", result.schedules, result.states,
           test->name, test->layout);
    if (result.violation != NULL) {
        printf("    not so: %s\n    order: %s; statuses: %" PRIx64 "\n", result.violation,
               result.schedule, seen);
    }
    return result.violation;
}

int main(int argc, char **argv)
{
    const bool must_find = argc == 4 && strcmp(argv[1], "--must-find") == 0;
    const char *const wanted = must_find ? argv[2] : NULL;
    const char *const only = argc > 1 ? argv[argc - 1] : "";
    explore_result total = {.schedules = 0};
    unsigned broken = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strstr(cases[i].name, only) == NULL) {
            continue;
        }
        const char *const promise = run_case(&cases[i], &total);
        if (wanted != NULL && promise != NULL && strcmp(wanted, promise) == 0) {
            return 0;
        }
        broken += promise != NULL;
    }
    printf("%.15g schedules, %" PRIu64 " states, %u cases broken\n", total.schedules, total.states,
           broken);
    return wanted != NULL || broken > 0;
}
