/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The step: a table with a row for every branch of firn__step(), and then the two invariants that
 * uniqueness rests on, checked at every call of a generator under clocks that no machine should
 * have. I1: no id outside the window. I2: (tick, sequence) strictly increases. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/generator.h"
#include "core/step.h"
#include "random_layout.h"
#include "scale.h"

#define RANDOM_STEPS         10000000
#define STEPS_A_WORLD        2500
#define STATUSES             64
#define BATCH_MAX            100000
#define NS_A_MS              INT64_C(1000000)
#define NS_A_YEAR            (INT64_C(365) * 86400 * 1000000000)
#define NEVER                UINT64_MAX
#define WORD(tick, sequence) (UINT64_C(tick) << 23 | (sequence))

#define TICK_LAST ((UINT64_C(1) << 41) - 1)

/* The default layout's rules, by policy. */
#define RULES_41_12(policy)                                                                        \
    {                                                                                              \
        .sequence_last = 4095, .back_max_ticks = 10, .tick_last = TICK_LAST, .word_shift = 23,     \
        .on_clock_back = (policy),                                                                 \
    }
static const firn_rules go_on = RULES_41_12(FIRN_BACK_CONTINUE);
static const firn_rules wait = RULES_41_12(FIRN_BACK_WAIT);
static const firn_rules refuse = RULES_41_12(FIRN_BACK_REFUSE);
/* t41w10s12 with back_max_ms 0. */
static const firn_rules strict = {.sequence_last = 4095, .tick_last = TICK_LAST, .word_shift = 23};
/* t41w10: one id a tick. */
static const firn_rules single = {.back_max_ticks = 10, .tick_last = TICK_LAST, .word_shift = 23};
/* t62s2/1us: as much time as a layout can have. */
static const firn_rules wide = {.sequence_last = 3,
                                .back_max_ticks = 10000,
                                .tick_last = (UINT64_C(1) << 62) - 1,
                                .word_shift = 2};
#define WIDE_LAST ((UINT64_C(1) << 62) - 1)

static const struct row {
    const char *name;
    const firn_rules *rules;
    uint64_t word;
    uint64_t now_tick;
    uint64_t end_tick;
    uint64_t want;
    uint64_t start;
    int status;
    /* of a refused row only back_ticks counts; the rest is left out */
    uint64_t tick;
    uint64_t sequence;
    uint64_t count;
    uint64_t back_ticks;
    bool fresh;
} rows[] = {
    {"a later tick is fresh", &go_on, WORD(100, 7), 101, NEVER, 1, 0, FIRN_OK, 101, 0, 1, 0, true},
    {"a much later tick", &go_on, WORD(100, 7), 5000000, NEVER, 1, 0, FIRN_OK, 5000000, 0, 1, 0,
     true},
    {"a fresh tick after a full one", &go_on, WORD(100, 4095), 101, NEVER, 1, 0, FIRN_OK, 101, 0, 1,
     0, true},
    {"a fresh tick after lost races", &go_on, WORD(100, 4095 + 700), 101, NEVER, 1, 0, FIRN_OK, 101,
     0, 1, 0, true},
    {"a fresh tick's start", &go_on, WORD(100, 7), 101, NEVER, 1, 255, FIRN_OK, 101, 255, 1, 0,
     true},
    {"a fresh tick starts at its last", &go_on, WORD(100, 7), 101, NEVER, 5, 4095, FIRN_OK, 101,
     4095, 1, 0, true},
    {"many of a fresh tick", &go_on, WORD(100, 7), 101, NEVER, 1000, 0, FIRN_OK, 101, 0, 1000, 0,
     true},
    {"all of a fresh tick", &go_on, WORD(100, 7), 101, NEVER, 4096, 0, FIRN_OK, 101, 0, 4096, 0,
     true},
    {"more than a fresh tick has", &go_on, WORD(100, 7), 101, NEVER, 4097, 0, FIRN_OK, 101, 0, 4096,
     0, true},
    {"a huge number wanted", &go_on, WORD(100, 7), 101, NEVER, NEVER, 200, FIRN_OK, 101, 200, 3896,
     0, true},
    {"the same tick goes on", &go_on, WORD(100, 7), 100, NEVER, 1, 0, FIRN_OK, 100, 8, 1, 0, false},
    {"the start is for fresh ticks alone", &go_on, WORD(100, 7), 100, NEVER, 1, 200, FIRN_OK, 100,
     8, 1, 0, false},
    {"the tick's last id", &go_on, WORD(100, 4094), 100, NEVER, 1, 0, FIRN_OK, 100, 4095, 1, 0,
     false},
    {"many of what is left", &go_on, WORD(100, 4000), 100, NEVER, 90, 0, FIRN_OK, 100, 4001, 90, 0,
     false},
    {"more than is left", &go_on, WORD(100, 4000), 100, NEVER, 1000, 0, FIRN_OK, 100, 4001, 95, 0,
     false},
    {"a full tick", &go_on, WORD(100, 4095), 100, NEVER, 1, 0, FIRN_E_SEQUENCE_FULL, 0, 0, 0, 0,
     false},
    {"a tick that lost races ran past", &go_on, WORD(100, 4096), 100, NEVER, 1, 0,
     FIRN_E_SEQUENCE_FULL, 0, 0, 0, 0, false},
    {"a tick that many lost races ran past", &go_on, WORD(100, 4095 + 4000000), 100, NEVER, 1, 0,
     FIRN_E_SEQUENCE_FULL, 0, 0, 0, 0, false},

    {"continue: one tick back", &go_on, WORD(100, 7), 99, NEVER, 1, 0, FIRN_OK, 100, 8, 1, 1,
     false},
    {"continue: back_max exactly", &go_on, WORD(100, 7), 90, NEVER, 1, 0, FIRN_OK, 100, 8, 1, 10,
     false},
    {"continue: one more than back_max", &go_on, WORD(100, 7), 89, NEVER, 1, 0, FIRN_E_CLOCK_BACK,
     0, 0, 0, 11, false},
    {"continue: back and full", &go_on, WORD(100, 4095), 99, NEVER, 1, 0, FIRN_E_SEQUENCE_FULL, 0,
     0, 0, 1, false},
    {"continue: back, past lost races", &go_on, WORD(100, 4097), 90, NEVER, 1, 0,
     FIRN_E_SEQUENCE_FULL, 0, 0, 0, 10, false},
    {"continue: many, back", &go_on, WORD(100, 4090), 95, NEVER, 100, 0, FIRN_OK, 100, 4091, 5, 5,
     false},
    {"continue: far back", &go_on, WORD(5000000, 7), 0, NEVER, 1, 0, FIRN_E_CLOCK_BACK, 0, 0, 0,
     5000000, false},
    {"wait: the same tick goes on", &wait, WORD(100, 7), 100, NEVER, 1, 0, FIRN_OK, 100, 8, 1, 0,
     false},
    {"wait: one tick back", &wait, WORD(100, 7), 99, NEVER, 1, 0, FIRN_E_CLOCK_WAIT, 0, 0, 0, 1,
     false},
    {"wait: back_max exactly", &wait, WORD(100, 7), 90, NEVER, 1, 0, FIRN_E_CLOCK_WAIT, 0, 0, 0, 10,
     false},
    {"wait: one more than back_max", &wait, WORD(100, 7), 89, NEVER, 1, 0, FIRN_E_CLOCK_BACK, 0, 0,
     0, 11, false},
    {"wait: back and full", &wait, WORD(100, 4095), 99, NEVER, 1, 0, FIRN_E_CLOCK_WAIT, 0, 0, 0, 1,
     false},
    {"wait: caught up, a fresh tick", &wait, WORD(100, 7), 101, NEVER, 1, 0, FIRN_OK, 101, 0, 1, 0,
     true},
    {"refuse: the same tick goes on", &refuse, WORD(100, 7), 100, NEVER, 1, 0, FIRN_OK, 100, 8, 1,
     0, false},
    {"refuse: one tick back", &refuse, WORD(100, 7), 99, NEVER, 1, 0, FIRN_E_CLOCK_BACK, 0, 0, 0, 1,
     false},
    {"refuse: one more than back_max", &refuse, WORD(100, 7), 89, NEVER, 1, 0, FIRN_E_CLOCK_BACK, 0,
     0, 0, 11, false},
    {"refuse: caught up, a fresh tick", &refuse, WORD(100, 7), 101, NEVER, 1, 0, FIRN_OK, 101, 0, 1,
     0, true},
    {"back_max 0: one tick back", &strict, WORD(100, 7), 99, NEVER, 1, 0, FIRN_E_CLOCK_BACK, 0, 0,
     0, 1, false},
    {"back_max 0: the same tick", &strict, WORD(100, 7), 100, NEVER, 1, 0, FIRN_OK, 100, 8, 1, 0,
     false},

    {"the window's last tick", &go_on, WORD(100, 7), 199, 200, 1, 0, FIRN_OK, 199, 0, 1, 0, true},
    {"the window's end exactly", &go_on, WORD(100, 7), 200, 200, 1, 0, FIRN_E_WINDOW, 0, 0, 0, 0,
     true},
    {"past the window's end", &go_on, WORD(100, 7), 201, 200, 1, 0, FIRN_E_WINDOW, 0, 0, 0, 0,
     true},
    {"past the end though the word's tick has room", &go_on, WORD(199, 7), 200, 200, 1, 0,
     FIRN_E_WINDOW, 0, 0, 0, 0, true},
    {"back inside the window", &go_on, WORD(199, 7), 195, 200, 1, 0, FIRN_OK, 199, 8, 1, 4, false},
    {"before the window", &go_on, WORD(99, 4095), 50, 200, 1, 0, FIRN_E_CLOCK_BACK, 0, 0, 0, 49,
     false},
    {"the tick before the window", &go_on, WORD(99, 4095), 99, 200, 1, 0, FIRN_E_SEQUENCE_FULL, 0,
     0, 0, 0, false},
    {"the window's first tick", &go_on, WORD(99, 4095), 100, 200, 1, 0, FIRN_OK, 100, 0, 1, 0,
     true},

    {"the layout's last tick", &go_on, WORD(100, 7), TICK_LAST, NEVER, 1, 0, FIRN_OK, TICK_LAST, 0,
     1, 0, true},
    {"the layout's very last id", &go_on, TICK_LAST << 23 | 4094, TICK_LAST, NEVER, 9, 0, FIRN_OK,
     TICK_LAST, 4095, 1, 0, false},
    {"after the layout's end", &go_on, WORD(100, 7), TICK_LAST + 1, NEVER, 1, 0, FIRN_E_LAYOUT_END,
     0, 0, 0, 0, true},
    {"the layout's end comes before the window's", &go_on, WORD(100, 7), TICK_LAST + 1, 200, 1, 0,
     FIRN_E_LAYOUT_END, 0, 0, 0, 0, true},
    {"retired", &go_on, TICK_LAST << 23 | 4095, 101, NEVER, 1, 0, FIRN_E_RETIRED, 0, 0, 0, 0,
     false},
    {"retired, past the window", &go_on, TICK_LAST << 23 | 4095, 300, 200, 1, 0, FIRN_E_RETIRED, 0,
     0, 0, 0, false},
    {"retired, with lost races on top", &go_on, TICK_LAST << 23 | 4099, 101, NEVER, 1, 0,
     FIRN_E_RETIRED, 0, 0, 0, 0, false},
    {"retired, after the layout's end", &go_on, TICK_LAST << 23 | 4095, TICK_LAST + 1, NEVER, 1, 0,
     FIRN_E_LAYOUT_END, 0, 0, 0, 0, false},

    {"one id a tick: fresh", &single, WORD(100, 0), 101, NEVER, 9, 0, FIRN_OK, 101, 0, 1, 0, true},
    {"one id a tick: full", &single, WORD(100, 0), 100, NEVER, 1, 0, FIRN_E_SEQUENCE_FULL, 0, 0, 0,
     0, false},
    {"one id a tick: back", &single, WORD(100, 0), 99, NEVER, 1, 0, FIRN_E_SEQUENCE_FULL, 0, 0, 0,
     1, false},
    {"one id a tick: retired", &single, TICK_LAST << 23, 101, NEVER, 1, 0, FIRN_E_RETIRED, 0, 0, 0,
     0, false},
    {"62 bits of time: fresh", &wide, UINT64_C(5) << 2 | 3, WIDE_LAST - 1, NEVER, 9, 0, FIRN_OK,
     WIDE_LAST - 1, 0, 4, 0, true},
    {"62 bits of time: the last tick", &wide, (WIDE_LAST - 1) << 2, WIDE_LAST, WIDE_LAST + 1, 1, 0,
     FIRN_OK, WIDE_LAST, 0, 1, 0, true},
    {"62 bits of time: the last id", &wide, UINT64_MAX - 1, WIDE_LAST, NEVER, 1, 0, FIRN_OK,
     WIDE_LAST, 3, 1, 0, false},
    {"62 bits of time: retired", &wide, UINT64_MAX, 7, NEVER, 1, 0, FIRN_E_RETIRED, 0, 0, 0, 0,
     false},
    {"62 bits of time: the end", &wide, UINT64_C(20), WIDE_LAST + 1, NEVER, 1, 0, FIRN_E_LAYOUT_END,
     0, 0, 0, 0, true},
    {"62 bits of time: back", &wide, WIDE_LAST << 2 | 1, WIDE_LAST - 10000, NEVER, 9, 0, FIRN_OK,
     WIDE_LAST, 2, 2, 10000, false},
    {"62 bits of time: too far back", &wide, WIDE_LAST << 2 | 1, 0, NEVER, 9, 0, FIRN_E_CLOCK_BACK,
     0, 0, 0, WIDE_LAST, false},
};

static void every_branch_of_the_step_decides_as_its_row_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        print_message("%s\n", row->name);
        firn__step_result step = {0};
        const int status = firn__step(row->rules, row->word, row->now_tick, row->end_tick,
                                      row->want, row->start, &step);
        assert_int_equal(status, row->status);
        assert_true(step.back_ticks == row->back_ticks);
        if (status == FIRN_OK) {
            assert_int_equal(step.fresh, row->fresh);
            assert_true(step.tick == row->tick);
            assert_true(step.sequence == row->sequence);
            assert_true(step.count == row->count);
            assert_true(step.word ==
                        (row->tick << row->rules->word_shift | (row->sequence + row->count - 1)));
        }
    }
}

static void a_fresh_tick_starts_where_the_option_says(void **state)
{
    (void)state;
    firn_rules rules = go_on;
    rules.start_mask = 255;
    assert_int_equal(firn__step_start(&rules, WORD(100, 7), 101), 0);

    rules.sequence_start = FIRN_START_CARRIED;
    assert_int_equal(firn__step_start(&rules, WORD(100, 7), 101), 8);
    assert_int_equal(firn__step_start(&rules, WORD(100, 254), 101), 255);
    assert_int_equal(firn__step_start(&rules, WORD(100, 255), 101), 0);
    assert_int_equal(firn__step_start(&rules, WORD(100, 4095), 101), 0);
    assert_int_equal(firn__step_start(&rules, WORD(100, 4095 + 3), 101), 3);

    rules.sequence_start = FIRN_START_RANDOM;
    const uint64_t one = firn__step_start(&rules, WORD(100, 7), 101);
    assert_int_equal(firn__step_start(&rules, WORD(90, 3), 101), one);
    size_t differ = 0;
    for (uint64_t tick = 0; tick < 1000; tick++) {
        const uint64_t start = firn__step_start(&rules, WORD(100, 7), tick);
        assert_in_range(start, 0, 255);
        firn_rules keyed = rules;
        keyed.seed = 1;
        differ += start != firn__step_start(&keyed, WORD(100, 7), tick);
    }
    assert_in_range(differ, 950, 1000);
}

/* One generator, its window, its clock, and what it gave last. */
struct world {
    uint64_t random;
    char text[128];
    firn_layout layout;
    firn_generator_options options;
    firn_generator gen;
    int64_t now_ns;
    int64_t back_max_ns;
    uint64_t last_tick;
    uint64_t last_sequence;
    bool any;
    uint64_t made;
    uint64_t seen[STATUSES]; /* how often each status was given, by its number's size */
};

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return b < 0 ? INT64_MIN : INT64_MAX;
    }
    return sum;
}

/* A span of any size up to ten years, small ones as likely as large ones. */
static int64_t random_span_ns(uint64_t *random)
{
    return (int64_t)(random_any_size(random) % (uint64_t)(10 * NS_A_YEAR));
}

/* Where the ids are: the start of the tick after the word's. */
static int64_t span_to_ids_ns(const struct world *world)
{
    int64_t at_ns;
    assert_int_equal(firn_generator_retry_at_ns(&world->gen, &at_ns), FIRN_OK);
    return at_ns == INT64_MAX ? 0 : at_ns - world->now_ns;
}

static void move_clock(struct world *world)
{
    uint64_t *random = &world->random;
    int64_t step_ns = 0;
    if (random_below(random, 16) == 0) {
        /* A clock that never found back would only be refused. */
        step_ns = span_to_ids_ns(world) - (int64_t)random_below(random, 2);
    }
    switch (random_below(random, 64)) {
    case 0:
        step_ns = random_span_ns(random);
        break;
    case 1:
    case 2:
        step_ns = -random_span_ns(random);
        break;
    case 3:
    case 4:
        step_ns = NS_A_MS;
        break;
    case 5:
    case 6:
        step_ns = -NS_A_MS;
        break;
    case 7:
        step_ns = (int64_t)random_below(random, 200 * (uint64_t)NS_A_MS) - 100 * NS_A_MS;
        break;
    case 9:
        step_ns = world->layout.tick_ns - 1;
        break;
    case 10:
    case 11:
    case 12:
        step_ns = world->layout.tick_ns;
        break;
    default: /* what a clock does between two calls; often nothing */
        step_ns += (int64_t)random_below(random, 2) * (int64_t)random_below(random, 1000);
        break;
    }
    world->now_ns = add_saturating(world->now_ns, step_ns);
}

static void make_options(struct world *world)
{
    uint64_t *random = &world->random;
    firn_generator_options *options = &world->options;
    *options = firn_generator_options_default();
    options->on_clock_back = (int32_t)random_below(random, 3);
    if (world->layout.sequence_bits >= 5) {
        options->sequence_start = (int32_t)random_below(random, 3);
    }
    options->sequence_seed = random_next(random);
    options->back_max_ms = (int64_t)(random_any_size(random) % 100000);
    if (random_below(random, 4) != 0) {
        options->start_ms = world->now_ns / NS_A_MS - random_span_ns(random) / NS_A_MS;
        options->end_ms = world->now_ns / NS_A_MS + random_span_ns(random) / NS_A_MS;
    }
}

/* Returns false for a window without a whole tick. */
static bool make_world(struct world *world, uint64_t random)
{
    memset(world, 0, sizeof *world);
    world->random = random;
    random_layout(&world->random, false, &world->layout, world->text);
    world->now_ns =
        add_saturating(world->layout.epoch_ms * NS_A_MS, random_span_ns(&world->random));
    make_options(world);
    /* Ticks are whole, so the tolerance is too. */
    world->back_max_ns = world->options.back_max_ms * NS_A_MS + world->layout.tick_ns - 1;
    const uint64_t workers = firn__mask(firn__worker_number_bits(&world->layout));
    const uint32_t worker = (uint32_t)(random_next(&world->random) & workers);
    const int status =
        firn_generator_init(&world->gen, &world->layout, worker, &world->options, NULL);
    assert_true(status == FIRN_OK || status == FIRN_E_TIME_RANGE);
    return status == FIRN_OK;
}

#define fail_world(world, what)                                                                    \
    fail_msg("%s: %s; clock %" PRId64 ", policy %d, back_max_ms %" PRId64 ", window %" PRId64      \
             " to %" PRId64,                                                                       \
             (what), (world)->text, (world)->now_ns, (world)->options.on_clock_back,               \
             (world)->options.back_max_ms, (world)->options.start_ms, (world)->options.end_ms)

/* The ids themselves are read, not the generator's own idea of them. */
static void check_ids(struct world *world, const firn_batch *batch, uint64_t want)
{
    firn_fields first;
    firn_fields last;
    const firn_layout *layout = &world->layout;
    const uint64_t last_id = batch->first + (batch->count - 1) * batch->stride;
    if (batch->count < 1 || batch->count > want ||
        firn_layout_decompose(layout, batch->first, &first) != FIRN_OK ||
        firn_layout_decompose(layout, last_id, &last) != FIRN_OK || first.tick != last.tick ||
        last.sequence - first.sequence != batch->count - 1 || first.worker != world->gen.worker ||
        last.worker != world->gen.worker) {
        fail_world(world, "the batch is not a run of one tick of one worker");
    }
    if (world->any && (first.tick < world->last_tick || (first.tick == world->last_tick &&
                                                         first.sequence <= world->last_sequence))) {
        fail_world(world, "I2: (tick, sequence) did not increase");
    }
    const int64_t tick_us = layout->tick_ns / 1000;
    if ((world->options.start_ms != INT64_MIN && first.time_us / 1000 < world->options.start_ms) ||
        (world->options.end_ms != INT64_MAX &&
         first.time_us + tick_us > world->options.end_ms * 1000)) {
        fail_world(world, "I1: a tick that is not wholly inside the window");
    }
    if (first.time_us > add_saturating(world->now_ns, world->back_max_ns) / 1000) {
        fail_world(world, "the id runs ahead of the clock");
    }
    world->last_tick = last.tick;
    world->last_sequence = last.sequence;
    world->any = true;
    world->made += batch->count;
}

/* A refusal must be due: a clock inside the window, later than the last id, always gives one. */
static void check_refusal(struct world *world, int status)
{
    const int64_t epoch_ns = world->layout.epoch_ms * NS_A_MS;
    if (world->now_ns < epoch_ns) {
        assert_int_equal(status, FIRN_E_CLOCK_EPOCH);
        return;
    }
    const uint64_t now_tick =
        (uint64_t)(world->now_ns - epoch_ns) / (uint64_t)world->layout.tick_ns;
    const uint64_t start_tick = firn__tick_from_ms(&world->layout, world->options.start_ms);
    const uint64_t end_tick = firn__tick_until_ms(&world->layout, world->options.end_ms);
    if (now_tick > firn__tick_last(&world->layout)) {
        assert_int_equal(status, FIRN_E_LAYOUT_END);
    } else if (now_tick >= end_tick) {
        assert_true(status == FIRN_E_WINDOW || status == FIRN_E_RETIRED);
    } else if (now_tick > world->last_tick && now_tick >= start_tick && now_tick > 0) {
        fail_world(world, "refused although the clock is later than the last id");
    }
}

static void take_step(struct world *world)
{
    const uint64_t batch_max = random_below(&world->random, 8) == 0 ? BATCH_MAX : 4;
    const uint64_t want = 1 + random_below(&world->random, batch_max);
    const uint64_t word = world->gen.word;
    const firn_batch untouched = {.first = 1, .stride = 2, .count = 3};
    firn_batch batch = untouched;
    int status;
    if (want == 1) {
        uint64_t id = untouched.first;
        status = firn_generator_next_at(&world->gen, world->now_ns, &id);
        batch = status == FIRN_OK ? (firn_batch){.first = id, .stride = 1, .count = 1} : untouched;
        assert_true(status == FIRN_OK || id == untouched.first);
    } else {
        status = firn_generator_try_at(&world->gen, world->now_ns, want, &batch);
    }
    assert_in_range(-status, 0, STATUSES - 1);
    world->seen[-status]++;
    if (status == FIRN_OK) {
        check_ids(world, &batch, want);
        return;
    }
    if (world->gen.word != word || memcmp(&batch, &untouched, sizeof batch) != 0) {
        fail_world(world, "a refused call changed the state or its output");
    }
    check_refusal(world, status);
}

/* Raises the window's end, or asks for a lower one, which must change nothing. */
static void extend_window(struct world *world)
{
    if (world->options.end_ms == INT64_MAX) {
        return;
    }
    const int64_t span_ms = random_span_ns(&world->random) / NS_A_MS;
    const int64_t end_ms = random_below(&world->random, 4) == 0 ? world->options.end_ms - span_ms
                                                                : world->options.end_ms + span_ms;
    const int status = firn_generator_extend(&world->gen, end_ms);
    assert_true(status == FIRN_OK || status == FIRN_E_RETIRED);
    world->options.end_ms = end_ms > world->options.end_ms ? end_ms : world->options.end_ms;
}

static void check_end_of_world(struct world *world)
{
    firn_statistics statistics;
    assert_int_equal(firn_generator_statistics(&world->gen, &statistics), FIRN_OK);
    if (statistics.made != world->made) {
        fail_world(world, "the count of ids is wrong");
    }
    assert_int_equal(firn_generator_retire(&world->gen), FIRN_OK);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t id;
        move_clock(world);
        if (firn_generator_next_at(&world->gen, world->now_ns, &id) == FIRN_OK) {
            fail_world(world, "an id after retirement");
        }
    }
}

static const int statuses[] = {FIRN_OK,           FIRN_E_SEQUENCE_FULL, FIRN_E_CLOCK_WAIT,
                               FIRN_E_CLOCK_BACK, FIRN_E_CLOCK_EPOCH,   FIRN_E_LAYOUT_END,
                               FIRN_E_WINDOW};

/* The worlds are worth something only when every outcome is common in them. */
static void check_variety(const uint64_t seen[STATUSES], size_t steps)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        print_message("%-22s %" PRIu64 "\n", firn_status_name(statuses[i]), seen[-statuses[i]]);
        assert_true(seen[-statuses[i]] > steps / 1000 || steps < RANDOM_STEPS / 10);
    }
}

static void no_clock_and_no_layout_breaks_the_two_invariants(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    const size_t steps = test_scaled(RANDOM_STEPS);
    uint64_t seen[STATUSES] = {0};
    for (size_t done = 0; done < steps; done += STEPS_A_WORLD) {
        struct world world;
        while (!make_world(&world, random_next(&random))) {
        }
        for (size_t i = 0; i < STEPS_A_WORLD; i++) {
            move_clock(&world);
            take_step(&world);
            if (random_below(&world.random, 200) == 0) {
                extend_window(&world);
            }
        }
        check_end_of_world(&world);
        for (size_t i = 0; i < STATUSES; i++) {
            seen[i] += world.seen[i];
        }
    }
    check_variety(seen, steps);
}

/* One layout and a clock that only jitters, so that nearly all steps give ids. */
static void jitter_of_100_ms_repeats_nothing_under_any_policy(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (int32_t policy = FIRN_BACK_CONTINUE; policy <= FIRN_BACK_REFUSE; policy++) {
        struct world world = {.random = random_next(&random), .text = "t41w10s4@2025-01-01"};
        assert_int_equal(firn_layout_parse(world.text, &world.layout, NULL), FIRN_OK);
        world.options = firn_generator_options_default();
        world.options.on_clock_back = policy;
        world.options.back_max_ms = 200;
        world.back_max_ns = 200 * NS_A_MS;
        assert_int_equal(firn_generator_init(&world.gen, &world.layout, 5, &world.options, NULL),
                         FIRN_OK);
        int64_t base_ns = INT64_C(1791972000123) * NS_A_MS;
        for (size_t i = test_scaled(200000); i > 0; i--) {
            base_ns += (int64_t)random_below(&world.random, (uint64_t)NS_A_MS);
            world.now_ns = base_ns - 100 * NS_A_MS +
                           (int64_t)random_below(&world.random, 200 * (uint64_t)NS_A_MS);
            take_step(&world);
        }
        assert_true(world.made > 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_branch_of_the_step_decides_as_its_row_says),
        cmocka_unit_test(a_fresh_tick_starts_where_the_option_says),
        cmocka_unit_test(no_clock_and_no_layout_breaks_the_two_invariants),
        cmocka_unit_test(jitter_of_100_ms_repeats_nothing_under_any_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
