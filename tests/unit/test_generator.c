/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Generators by one thread: what each call of firn/generator.h promises, on layouts that take the
 * fetch-and-add path and on layouts that take the compare-and-swap path. Threads and forks are
 * test_concurrent.c's, random clocks
 * test_step.c's, and whatever reads a clock test_generate.c's. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "generators.h"
#include "random_layout.h"
#include "scale.h"

static void assert_refused(firn_generator *gen, int64_t now_ns, int status)
{
    const uint64_t word = gen->word;
    uint64_t id = 4711;
    firn_batch batch = {1, 2, 3};
    assert_int_equal(firn_generator_next_at(gen, now_ns, &id), status);
    assert_int_equal(firn_generator_try_at(gen, now_ns, 9, &batch), status);
    assert_int_equal(id, 4711);
    assert_int_equal(batch.first + batch.stride + batch.count, 6);
    assert_true(gen->word == word);
}

static uint64_t sequence_of(const char *layout_text, uint64_t id)
{
    const firn_layout layout = layout_of(layout_text);
    firn_fields fields;
    assert_int_equal(firn_layout_decompose(&layout, id, &fields), FIRN_OK);
    return fields.sequence;
}

/* Both ways through the hot path, every place for the worker, and every kind of tick. */
static const struct kind {
    const char *layout;
    bool additive;
    int64_t tick_ns;
    uint64_t ids_per_tick;
} kinds[] = {
    {"t41w10s12@2025-01-01", true, 1000000, 4096},
    {"t41d5w5s12@1288834974657", true, 1000000, 4096},
    {"t39s8w16/10ms@2014-09-01", true, 10000000, 256},
    {"t31w10s12/1s@2025-01-01", true, 1000000000, 4096},
    {"t41w23@2025-01-01", true, 1000000, 1},
    {"t41w1s21@2025-01-01", true, 1000000, 1 << 21},
    {"t48s16@0", false, 1000000, 65536},
    {"t53w10/1us@0", false, 1000, 1},
    {"t51w6s6@1582136402000", false, 1000000, 64},
    {"t41s22@2025-01-01", true, 1000000, 1 << 22},
    {"t42s22@2025-01-01", false, 1000000, 1 << 22},
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static void a_layout_with_room_for_lost_races_adds_and_the_others_swap(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        firn_generator gen;
        make(&gen, kinds[i].layout, 0, NULL);
        print_message("%s\n", kinds[i].layout);
        assert_int_equal(gen.rules.additive, kinds[i].additive);
    }
}

static void the_seed_s_example_comes_out(void **state)
{
    (void)state;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 7, NULL);
    for (uint64_t sequence = 0; sequence < 3; sequence++) {
        assert_true(next_at(&gen, NOW_NS + 999999) == UINT64_C(236065495965528064) + sequence);
    }
    assert_true(next_at(&gen, NOW_NS) == UINT64_C(236065495965528067));
}

static void a_full_tick_gives_exactly_its_ids_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *kind = &kinds[i];
        firn_generator gen;
        const firn_layout layout = layout_of(kind->layout);
        make(&gen, kind->layout, 0, NULL);
        print_message("%s\n", kind->layout);
        uint64_t last = 0;
        for (uint64_t k = 0; k < kind->ids_per_tick; k++) {
            const uint64_t id = next_at(&gen, NOW_NS);
            assert_true(id > last);
            last = id;
        }
        firn_fields fields;
        (void)firn_layout_decompose(&layout, last, &fields);
        assert_true(fields.sequence == kind->ids_per_tick - 1);
        assert_refused(&gen, NOW_NS, FIRN_E_SEQUENCE_FULL);
        assert_true(statistics_of(&gen).made == kind->ids_per_tick);
        assert_true(next_at(&gen, NOW_NS + kind->tick_ns) > last);
    }
}

/* Each refusal that a clock can bring about, and the id that follows when the cause is gone. */
static void every_refusal_has_its_cause_and_leaves_the_state_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *kind = &kinds[i];
        const firn_layout layout = layout_of(kind->layout);
        const int64_t end_ms = NOW_MS + 60000;
        firn_generator_options options = firn_generator_options_default();
        firn_generator gen;
        options.end_ms = end_ms;
        options.back_max_ms = 2000;
        make(&gen, kind->layout, 0, &options);
        print_message("%s\n", kind->layout);
        assert_refused(&gen, layout.epoch_ms * 1000000 - 1, FIRN_E_CLOCK_EPOCH);
        assert_refused(&gen, INT64_MIN, FIRN_E_CLOCK_EPOCH);
        (void)try_at(&gen, NOW_NS, UINT64_MAX);
        assert_refused(&gen, NOW_NS, FIRN_E_SEQUENCE_FULL);
        assert_refused(&gen, NOW_NS - kind->tick_ns, FIRN_E_SEQUENCE_FULL);
        assert_refused(&gen, NOW_NS - 2000 * MS - kind->tick_ns, FIRN_E_CLOCK_BACK);
        assert_refused(&gen, end_ms * 1000000, FIRN_E_WINDOW);
        assert_int_equal(firn_generator_extend(&gen, INT64_MAX), FIRN_OK);
        firn_capacity capacity;
        (void)firn_layout_capacity(&layout, &capacity);
        if (capacity.end_us < INT64_MAX / 1000) {
            assert_refused(&gen, capacity.end_us * 1000, FIRN_E_LAYOUT_END);
            (void)next_at(&gen, capacity.end_us * 1000 - 1);
        }
        assert_int_equal(firn_generator_retire(&gen), FIRN_OK);
        assert_refused(&gen, NOW_NS + 30000 * MS, FIRN_E_RETIRED);
    }
    firn_generator_options options = firn_generator_options_default();
    options.on_clock_back = FIRN_BACK_WAIT;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 0, &options);
    (void)next_at(&gen, NOW_NS);
    assert_refused(&gen, NOW_NS - 1, FIRN_E_CLOCK_WAIT);
}

static void a_generator_that_was_not_initialised_makes_nothing(void **state)
{
    (void)state;
    firn_generator gens[3];
    memset(&gens[0], 0, sizeof gens[0]);
    memset(&gens[1], 0xa5, sizeof gens[1]);
    memset(&gens[2], 0xff, sizeof gens[2]);
    for (size_t i = 0; i < 4; i++) {
        firn_generator *gen = i < 3 ? &gens[i] : NULL;
        uint64_t ids[4] = {0};
        size_t made = 4711;
        int64_t at_ns;
        firn_batch batch;
        firn_run run;
        firn_statistics statistics;
        assert_int_equal(firn_generator_next(gen, ids), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_next_at(gen, NOW_NS, ids), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_try_at(gen, NOW_NS, 1, &batch), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_next_many(gen, ids, 4, &made), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_wait(gen, 0, ids), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_wait_many(gen, 0, ids, 4, &made), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_retry_at_ns(gen, &at_ns), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_extend(gen, NOW_MS), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_retire(gen), FIRN_E_ARGUMENT);
        assert_int_equal(firn_generator_statistics(gen, &statistics), FIRN_E_ARGUMENT);
        assert_int_equal(firn_run_init(&run, gen), FIRN_E_ARGUMENT);
        assert_int_equal(ids[0], 0);
        assert_int_equal(made, 4711);
    }
}

static void missing_outputs_and_a_count_of_zero_are_refused(void **state)
{
    (void)state;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 0, NULL);
    uint64_t ids[2] = {4711};
    size_t made = 9;
    firn_batch batch;
    firn_run run;
    assert_int_equal(firn_generator_next(&gen, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_next_at(&gen, NOW_NS, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_try_at(&gen, NOW_NS, 1, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_try_at(&gen, NOW_NS, 0, &batch), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_next_many(&gen, NULL, 1, &made), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_next_many(&gen, ids, 1, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_wait(&gen, 0, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_wait_many(&gen, 0, NULL, 1, &made), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_wait_many(&gen, 0, ids, 1, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_retry_at_ns(&gen, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_statistics(&gen, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_run_init(NULL, &gen), FIRN_E_ARGUMENT);
    assert_int_equal(firn_run_init(&run, &gen), FIRN_OK);
    assert_int_equal(firn_run_next(&run, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_run_next(NULL, ids), FIRN_E_ARGUMENT);
    /* These two make none of none, and succeed. */
    assert_int_equal(firn_generator_next_many(&gen, ids, 0, &made), FIRN_OK);
    assert_int_equal(made, 0);
    made = 9;
    assert_int_equal(firn_generator_wait_many(&gen, 0, ids, 0, &made), FIRN_OK);
    assert_int_equal(made, 0);
    assert_int_equal(ids[0], 4711);
    assert_int_equal(statistics_of(&gen).made, 0);
}

static void a_run_of_zeros_makes_nothing(void **state)
{
    (void)state;
    firn_run run = {0};
    uint64_t id = 4711;
    assert_int_equal(firn_run_next(&run, &id), FIRN_E_ARGUMENT);
    assert_int_equal(id, 4711);
}

static const struct refusal {
    const char *name;
    const char *layout;
    uint32_t worker;
    firn_generator_options options; /* size 0: the defaults */
    int status;
    const char *says;
} refusals[] = {
    {"unknown bits", "linkedin", 0, {0}, FIRN_E_LAYOUT_DECODE, "not generated"},
    {"worker 1024 of 1024", "firn", 1024, {0}, FIRN_E_FIELD_RANGE, "worker 1024"},
    {"worker 1024 of 1024, the limit", "firn", 1024, {0}, FIRN_E_FIELD_RANGE, "0 to 1023"},
    {"a worker that wraps", "firn", UINT32_MAX, {0}, FIRN_E_FIELD_RANGE, "worker 4294967295"},
    {"datacenter 32 of 32", "twitter", 32 << 5, {0}, FIRN_E_FIELD_RANGE, "0 to 1023"},
    {"worker 1 of none", "mastodon", 1, {0}, FIRN_E_FIELD_RANGE, "worker 1"},
    {"a policy too many", "firn", 0, {.on_clock_back = 3}, FIRN_E_ARGUMENT, "on_clock_back"},
    {"a negative policy", "firn", 0, {.on_clock_back = -1}, FIRN_E_ARGUMENT, "on_clock_back"},
    {"a start too many", "firn", 0, {.sequence_start = 3}, FIRN_E_ARGUMENT, "sequence_start"},
    {"a negative start", "firn", 0, {.sequence_start = -1}, FIRN_E_ARGUMENT, "sequence_start"},
    {"a clock too many", "firn", 0, {.clock = 2}, FIRN_E_ARGUMENT, "clock"},
    {"a negative clock", "firn", 0, {.clock = -1}, FIRN_E_ARGUMENT, "clock"},
    {"a policy that would wrap a byte", "firn", 0, {.on_clock_back = 256}, FIRN_E_ARGUMENT, "on_"},
    {"a negative tolerance", "firn", 0, {.back_max_ms = -1}, FIRN_E_ARGUMENT, "back_max_ms"},
    {"a huge tolerance", "firn", 0, {.back_max_ms = INT64_MAX}, FIRN_E_ARGUMENT, "back_max_ms"},
    {"random in 16 ids",
     "t41w10s4@0",
     0,
     {.sequence_start = FIRN_START_RANDOM},
     FIRN_E_ARGUMENT,
     "this one has 16"},
    {"carried in 1 id",
     "t41w10@0",
     0,
     {.sequence_start = FIRN_START_CARRIED},
     FIRN_E_ARGUMENT,
     "this one has 1"},
    {"an empty window",
     "firn",
     0,
     {.start_ms = NOW_MS, .end_ms = NOW_MS},
     FIRN_E_TIME_RANGE,
     "no whole tick"},
    {"a window that ends first",
     "firn",
     0,
     {.start_ms = NOW_MS, .end_ms = NOW_MS - 9},
     FIRN_E_TIME_RANGE,
     "no whole tick"},
    {"a window before the epoch",
     "firn",
     0,
     {.start_ms = 5, .end_ms = 1735689600000},
     FIRN_E_TIME_RANGE,
     "no whole tick"},
    {"a window after the layout's end",
     "firn",
     0,
     {.start_ms = INT64_C(3934712855552), .end_ms = INT64_MAX},
     FIRN_E_TIME_RANGE,
     "no whole tick"},
    {"a window inside one tick",
     "t31w10s12/1s@0",
     0,
     {.start_ms = 1791972000001, .end_ms = 1791972001999},
     FIRN_E_TIME_RANGE,
     "no whole tick"},
};

static void a_generator_that_cannot_work_is_refused_and_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *row = &refusals[i];
        print_message("%s\n", row->name);
        const firn_layout layout = layout_of(row->layout);
        firn_generator_options options = row->options;
        options.size = sizeof options;
        if (options.start_ms == 0 && options.end_ms == 0) {
            options.end_ms = INT64_MAX;
        }
        firn_generator gen;
        memset(&gen, 0, sizeof gen);
        firn_error error;
        assert_int_equal(firn_generator_init(&gen, &layout, row->worker, &options, &error),
                         row->status);
        if (strstr(error.text, row->says) == NULL) {
            fail_msg("'%s' should stand in: %s", row->says, error.text);
        }
        uint64_t id;
        assert_int_equal(firn_generator_next(&gen, &id), FIRN_E_ARGUMENT);
    }
}

static void null_and_unaligned_memory_and_unmade_layouts_are_refused(void **state)
{
    (void)state;
    const firn_layout layout = layout_of("firn");
    const firn_layout unmade = {0};
    static _Alignas(64) unsigned char memory[2 * sizeof(firn_generator)];
    firn_generator gen;
    assert_int_equal(firn_generator_init(NULL, &layout, 0, NULL, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_init(&gen, NULL, 0, NULL, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_generator_init(&gen, &unmade, 0, NULL, NULL), FIRN_E_ARGUMENT);
    for (size_t offset = 1; offset < 64; offset++) {
        void *unaligned = memory + offset;
        assert_int_equal(firn_generator_init(unaligned, &layout, 0, NULL, NULL), FIRN_E_ARGUMENT);
    }
    void *aligned = memory + 64;
    assert_int_equal(firn_generator_init(aligned, &layout, 0, NULL, NULL), FIRN_OK);
}

static void the_options_of_an_older_caller_are_completed_with_defaults(void **state)
{
    (void)state;
    const firn_layout layout = layout_of("firn");
    /* The struct as it was before the members after back_max_ms; canaries stand behind it. */
    union {
        firn_generator_options options;
        unsigned char bytes[sizeof(firn_generator_options)];
    } old;
    const size_t old_size = offsetof(firn_generator_options, sequence_seed);
    memset(&old, 0x7b, sizeof old);
    firn_generator_options_fill(&old.options, old_size);
    for (size_t i = old_size; i < sizeof old; i++) {
        assert_int_equal(old.bytes[i], 0x7b);
    }
    assert_int_equal(old.options.size, old_size);
    assert_int_equal(old.options.back_max_ms, 10);
    old.options.back_max_ms = 5;
    firn_generator gen;
    assert_int_equal(firn_generator_init(&gen, &layout, 3, &old.options, NULL), FIRN_OK);
    assert_int_equal(gen.rules.back_max_ticks, 5);
    assert_int_equal(gen.rules.on_clock_back, FIRN_BACK_CONTINUE);
    assert_int_equal(gen.rules.sequence_start, FIRN_START_ZERO);
    assert_int_equal(gen.clock, FIRN_CLOCK_PRECISE);

    /* A newer caller may rely on members that this library does not know. */
    firn_generator_options options = firn_generator_options_default();
    assert_int_equal(options.size, sizeof options);
    options.size = sizeof options + 8;
    assert_int_equal(firn_generator_init(&gen, &layout, 3, &options, NULL), FIRN_E_ARGUMENT);
    options.size = 0;
    assert_int_equal(firn_generator_init(&gen, &layout, 3, &options, NULL), FIRN_E_ARGUMENT);
}

static void the_largest_worker_of_every_layout_stands_in_the_id(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (size_t i = test_scaled(2000); i > 0; i--) {
        char text[128];
        firn_layout layout;
        firn_generator gen;
        firn_fields fields;
        random_layout(&random, false, &layout, text);
        const uint32_t worker = (uint32_t)firn__mask(firn__worker_number_bits(&layout));
        if (firn_generator_init(&gen, &layout, worker, NULL, NULL) != FIRN_OK) {
            fail_msg("%s: worker %u is refused", text, worker);
        }
        const uint64_t id = next_at(&gen, layout.epoch_ms * 1000000 + layout.tick_ns);
        assert_int_equal(firn_layout_decompose(&layout, id, &fields), FIRN_OK);
        assert_int_equal(fields.worker, worker);
        assert_int_equal(fields.tick, 1);
        assert_int_equal(fields.sequence, 0);
    }
}

static void the_window_s_ticks_are_stamped_and_their_neighbours_are_not(void **state)
{
    (void)state;
    firn_generator_options options = firn_generator_options_default();
    options.start_ms = NOW_MS;
    options.end_ms = NOW_MS + 5;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 1, &options);
    assert_refused(&gen, NOW_NS - 20 * MS, FIRN_E_CLOCK_BACK);
    assert_refused(&gen, NOW_NS - 1, FIRN_E_SEQUENCE_FULL);
    (void)next_at(&gen, NOW_NS);
    (void)next_at(&gen, NOW_NS + 5 * MS - 1);
    assert_refused(&gen, NOW_NS + 5 * MS, FIRN_E_WINDOW);

    /* With 10 ms ticks this window holds one whole tick, 120 to 130 ms, and parts of two. */
    options.start_ms = NOW_MS - 12;
    options.end_ms = NOW_MS + 16;
    make(&gen, "t39w10s8/10ms@2025-01-01", 1, &options);
    assert_refused(&gen, NOW_NS - 4 * MS, FIRN_E_SEQUENCE_FULL);
    (void)next_at(&gen, NOW_NS);
    assert_refused(&gen, NOW_NS + 7 * MS, FIRN_E_WINDOW);
}

static void extend_raises_the_window_s_end_and_never_lowers_it(void **state)
{
    (void)state;
    firn_generator_options options = firn_generator_options_default();
    options.end_ms = NOW_MS;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 1, &options);
    assert_refused(&gen, NOW_NS, FIRN_E_WINDOW);
    assert_int_equal(firn_generator_extend(&gen, NOW_MS + 1), FIRN_OK);
    (void)next_at(&gen, NOW_NS);
    assert_refused(&gen, NOW_NS + MS, FIRN_E_WINDOW);
    const int64_t lower_ms[] = {NOW_MS, 0, INT64_MIN};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(firn_generator_extend(&gen, lower_ms[i]), FIRN_OK);
        (void)next_at(&gen, NOW_NS);
    }
    assert_int_equal(firn_generator_extend(&gen, INT64_MAX), FIRN_OK);
    (void)next_at(&gen, NOW_NS + 86400000 * MS);
    assert_int_equal(firn_generator_retire(&gen), FIRN_OK);
    assert_int_equal(firn_generator_extend(&gen, INT64_MAX), FIRN_E_RETIRED);
}

static void retiring_is_for_ever(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        firn_generator gen;
        make(&gen, kinds[i].layout, 0, NULL);
        (void)next_at(&gen, NOW_NS);
        assert_int_equal(firn_generator_retire(&gen), FIRN_OK);
        assert_int_equal(firn_generator_retire(&gen), FIRN_OK);
        for (int64_t k = -3; k < 4; k++) {
            assert_refused(&gen, NOW_NS + k * kinds[i].tick_ns, FIRN_E_RETIRED);
        }
        uint64_t id = 4711;
        firn_run run;
        size_t made = 0;
        assert_int_equal(firn_generator_next(&gen, &id), FIRN_E_RETIRED);
        assert_int_equal(firn_generator_next_many(&gen, &id, 1, &made), FIRN_E_RETIRED);
        assert_int_equal(firn_generator_wait(&gen, 1000000000, &id), FIRN_E_RETIRED);
        assert_int_equal(firn_run_init(&run, &gen), FIRN_OK);
        assert_int_equal(firn_run_next(&run, &id), FIRN_E_RETIRED);
        assert_int_equal(id, 4711);
        int64_t at_ns;
        assert_int_equal(firn_generator_retry_at_ns(&gen, &at_ns), FIRN_OK);
        assert_true(at_ns == INT64_MAX);
    }
}

static void the_time_to_retry_is_the_start_of_the_next_tick(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *kind = &kinds[i];
        firn_generator gen;
        int64_t at_ns;
        make(&gen, kind->layout, 0, NULL);
        (void)try_at(&gen, NOW_NS, UINT64_MAX);
        assert_int_equal(firn_generator_retry_at_ns(&gen, &at_ns), FIRN_OK);
        assert_in_range(at_ns, NOW_NS + 1, NOW_NS + kind->tick_ns);
        assert_refused(&gen, at_ns - 1, FIRN_E_SEQUENCE_FULL);
        (void)next_at(&gen, at_ns);
    }
    firn_generator gen;
    int64_t at_ns;
    make(&gen, FIRN_LAYOUT_DEFAULT, 0, NULL);
    (void)next_at(&gen, INT64_C(3934712855551) * 1000000);
    assert_int_equal(firn_generator_retry_at_ns(&gen, &at_ns), FIRN_OK);
    assert_true(at_ns == INT64_MAX);
}

static void a_clock_3_ms_behind_gives_nothing_until_it_has_passed_the_last_tick(void **state)
{
    (void)state;
    const struct {
        int32_t policy;
        int status;
    } policies[] = {{FIRN_BACK_REFUSE, FIRN_E_CLOCK_BACK}, {FIRN_BACK_WAIT, FIRN_E_CLOCK_WAIT}};
    for (size_t i = 0; i < 2; i++) {
        firn_generator_options options = firn_generator_options_default();
        options.on_clock_back = policies[i].policy;
        firn_generator gen;
        make(&gen, FIRN_LAYOUT_DEFAULT, 7, &options);
        for (unsigned k = 0; k < 5; k++) {
            (void)next_at(&gen, NOW_NS);
        }
        for (int64_t us = -3000; us < 1000; us += 10) {
            assert_refused(&gen, NOW_NS + us * 1000, policies[i].status);
        }
        const uint64_t id = next_at(&gen, NOW_NS + MS);
        assert_int_equal(sequence_of(FIRN_LAYOUT_DEFAULT, id), 0);
    }
}

static void the_tolerance_is_rounded_up_to_whole_ticks(void **state)
{
    (void)state;
    const struct {
        const char *layout;
        int64_t back_max_ms;
        int64_t ticks;
    } tolerances[] = {
        {"t39w10s8/10ms@2025-01-01", 15, 2}, {"t39w10s8/10ms@2025-01-01", 20, 2},
        {"t39w10s8/10ms@2025-01-01", 21, 3}, {"t31w10s12/1s@2025-01-01", 1, 1},
        {"t41w10s12@2025-01-01", 10, 10},    {"t41w10s12@2025-01-01", 0, 0},
        {"t51w5s8/1us@2025-01-01", 1, 1000},
    };
    for (size_t i = 0; i < sizeof tolerances / sizeof tolerances[0]; i++) {
        firn_generator_options options = firn_generator_options_default();
        options.back_max_ms = tolerances[i].back_max_ms;
        firn_generator gen;
        make(&gen, tolerances[i].layout, 0, &options);
        const int64_t tick_ns = (int64_t)gen.tick_ns;
        (void)next_at(&gen, NOW_NS);
        (void)next_at(&gen, NOW_NS - tolerances[i].ticks * tick_ns);
        assert_refused(&gen, NOW_NS - (tolerances[i].ticks + 1) * tick_ns, FIRN_E_CLOCK_BACK);
    }
}

static void steps_back_and_forth_to_one_tick_repeat_nothing(void **state)
{
    (void)state;
    for (int32_t policy = FIRN_BACK_CONTINUE; policy <= FIRN_BACK_REFUSE; policy++) {
        firn_generator_options options = firn_generator_options_default();
        options.on_clock_back = policy;
        firn_generator gen;
        make(&gen, FIRN_LAYOUT_DEFAULT, 0, &options);
        int64_t now_ns = NOW_NS;
        uint64_t last = next_at(&gen, now_ns);
        for (int64_t back_ms = 1; back_ms < 1000; back_ms++) {
            uint64_t id = 0;
            if (firn_generator_next_at(&gen, now_ns - back_ms * MS, &id) == FIRN_OK) {
                assert_true(id > last);
                last = id;
            }
            if (policy != FIRN_BACK_CONTINUE) {
                /* The tick that the clock was seen behind is closed. */
                assert_refused(&gen, now_ns,
                               policy == FIRN_BACK_WAIT ? FIRN_E_CLOCK_WAIT : FIRN_E_CLOCK_BACK);
                now_ns += MS;
            }
            id = next_at(&gen, now_ns);
            assert_true(policy == FIRN_BACK_CONTINUE
                            ? id == last + 1
                            : id > last && sequence_of(FIRN_LAYOUT_DEFAULT, id) == 0);
            last = id;
        }
    }
}

/* At most 11 ticks lie within reach of a clock that stands still; a generator that borrowed would
 * give more than one of them. */
static void a_frozen_clock_gives_one_tick_s_ids_in_order_and_no_more(void **state)
{
    (void)state;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 0, NULL);
    uint64_t last = 0;
    uint64_t made = 0;
    for (size_t i = 0; i < 11 * 4096 + 1; i++) {
        uint64_t id;
        if (firn_generator_next_at(&gen, NOW_NS, &id) == FIRN_OK) {
            assert_true(id > last);
            last = id;
            made++;
        }
    }
    assert_int_equal(made, 4096);
}

static void ids_return_to_the_clock_and_never_run_ahead_of_it(void **state)
{
    (void)state;
    const firn_layout layout = layout_of(FIRN_LAYOUT_DEFAULT);
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 0, NULL);
    /* Twice what the layout can make, for 50 ms. */
    for (int64_t us = 0; us < 50000; us++) {
        for (unsigned k = 0; k < 8; k++) {
            uint64_t id;
            firn_fields fields;
            if (firn_generator_next_at(&gen, NOW_NS + us * 1000, &id) == FIRN_OK) {
                (void)firn_layout_decompose(&layout, id, &fields);
                assert_int_equal(fields.time_us, (NOW_NS / 1000 + us) / 1000 * 1000);
            }
        }
    }
    const firn_statistics statistics = statistics_of(&gen);
    assert_int_equal(statistics.made, 50 * 4096);
    assert_int_equal(statistics.full_ticks, 50);
}

static void the_counters_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *kind = &kinds[i];
        const int64_t tick_ns = kind->tick_ns;
        const int64_t start_ns = NOW_NS - NOW_NS % tick_ns;
        firn_generator gen;
        firn_generator_options options = firn_generator_options_default();
        options.back_max_ms = 5000;
        make(&gen, kind->layout, 0, &options);
        firn_statistics read = statistics_of(&gen);
        assert_int_equal(read.made + read.waits + read.full_ticks + read.back_count, 0);
        assert_true(read.last_us == INT64_MIN && read.back_max_ns == 0);

        /* Two full ticks, one by singles and one by batches, and a third with one id. */
        for (uint64_t k = 0; k < kind->ids_per_tick; k++) {
            (void)next_at(&gen, start_ns);
        }
        assert_int_equal(statistics_of(&gen).full_ticks, 1);
        const firn_batch most = try_at(&gen, start_ns + tick_ns, kind->ids_per_tick / 2 + 1);
        if (most.count < kind->ids_per_tick) {
            assert_int_equal(statistics_of(&gen).full_ticks, 1);
            (void)try_at(&gen, start_ns + tick_ns, UINT64_MAX);
        }
        (void)next_at(&gen, start_ns + 2 * tick_ns);
        read = statistics_of(&gen);
        assert_int_equal(read.made, 2 * kind->ids_per_tick + 1);
        assert_int_equal(read.full_ticks, kind->ids_per_tick == 1 ? 3 : 2);
        assert_int_equal(read.last_us, (start_ns + 2 * tick_ns) / 1000);
        const uint64_t full = read.full_ticks;

        /* One step back that two calls see, and a larger one in the next tick. */
        uint64_t id;
        (void)firn_generator_next_at(&gen, start_ns + tick_ns, &id);
        (void)firn_generator_next_at(&gen, start_ns + tick_ns, &id);
        read = statistics_of(&gen);
        assert_int_equal(read.back_count, 1);
        assert_int_equal(read.back_max_ns, tick_ns);
        (void)next_at(&gen, start_ns + 3 * tick_ns);
        assert_int_equal(firn_generator_next_at(&gen, start_ns - 9997 * tick_ns, &id),
                         tick_ns == 1000 ? FIRN_E_SEQUENCE_FULL : FIRN_E_CLOCK_BACK);
        read = statistics_of(&gen);
        assert_int_equal(read.back_count, 2);
        assert_int_equal(read.back_max_ns, 10000 * tick_ns);
        assert_int_equal(read.waits, 0);

        const uint64_t made = read.made;
        assert_int_equal(firn_generator_retire(&gen), FIRN_OK);
        read = statistics_of(&gen);
        assert_int_equal(read.made, made);
        assert_int_equal(read.full_ticks, full + (kind->ids_per_tick == 1));
        assert_int_equal(read.last_us, (start_ns + 3 * tick_ns) / 1000);
    }
}

static void a_retired_generator_that_made_nothing_says_so(void **state)
{
    (void)state;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 0, NULL);
    assert_int_equal(firn_generator_retire(&gen), FIRN_OK);
    const firn_statistics read = statistics_of(&gen);
    assert_int_equal(read.made + read.full_ticks, 0);
    assert_true(read.last_us == INT64_MIN);
}

/* Pearson's statistic of id mod 2^bits, for ids made one by one at even times. */
static double chi_square(int32_t start, int64_t ids_a_second, unsigned bits)
{
    enum { IDS = 20000 };
    static uint64_t bins[256];
    memset(bins, 0, sizeof bins);
    firn_generator_options options = firn_generator_options_default();
    options.sequence_start = start;
    options.sequence_seed = 20261014;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 7, &options);
    for (int64_t i = 0; i < IDS; i++) {
        const uint64_t id = next_at(&gen, NOW_NS + i * (1000000000 / ids_a_second));
        bins[id & firn__mask(bits)]++;
    }
    const double expected = (double)IDS / (double)(1U << bits);
    double sum = 0;
    for (size_t i = 0; i < (size_t)1 << bits; i++) {
        const double off = (double)bins[i] - expected;
        sum += off * off / expected;
    }
    return sum;
}

/* With n bins the statistic has mean n - 1 and variance 2(n - 1); six deviations are far out for
 * even 2 bins, and the seed is fixed. */
static void random_and_carried_starts_spread_ids_modulo_powers_of_two(void **state)
{
    (void)state;
    const int64_t rates[] = {1, 10, 1000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        for (unsigned bits = 1; bits <= 8; bits++) {
            const double freedom = (double)((1U << bits) - 1);
            /* (6 deviations)^2 = 72 (n - 1), without a square root */
            const double carried = chi_square(FIRN_START_CARRIED, rates[i], bits) - freedom;
            const double scattered = chi_square(FIRN_START_RANDOM, rates[i], bits) - freedom;
            const double zero = chi_square(FIRN_START_ZERO, rates[i], bits) - freedom;
            print_message("%" PRId64 "/s mod %u: carried %.1f, random %.1f, zero %.1f\n", rates[i],
                          1U << bits, carried, scattered, zero);
            assert_true(carried < 0 || carried * carried < 72 * freedom);
            assert_true(scattered < 0 || scattered * scattered < 72 * freedom);
            assert_true(zero > 0 && zero * zero > 10000 * 72 * freedom);
        }
    }
}

static void fifteen_sixteenths_of_every_tick_are_left_whatever_the_start(void **state)
{
    (void)state;
    const char *layouts[] = {"t41w10s12@0", "t41w10s5@0", "t48s16@0", "t41w1s21@0"};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        for (int32_t start = FIRN_START_RANDOM; start <= FIRN_START_CARRIED; start++) {
            firn_generator_options options = firn_generator_options_default();
            options.sequence_start = start;
            firn_generator gen;
            make(&gen, layouts[i], 0, &options);
            const uint64_t ids = gen.rules.sequence_last + 1;
            uint64_t least = ids;
            for (int64_t tick = 0; tick < 3000; tick++) {
                const int64_t at_ns = NOW_NS + tick * MS;
                const uint64_t taken = try_at(&gen, at_ns, 1 + (uint64_t)tick % 3).count;
                /* Only some ticks are filled: after those, carried starts at 0. */
                if (tick % 2 == 0) {
                    const uint64_t left = try_at(&gen, at_ns, UINT64_MAX).count;
                    least = taken + left < least ? taken + left : least;
                }
            }
            print_message("%s: at least %" PRIu64 " of %" PRIu64 "\n", layouts[i], least, ids);
            assert_true(least >= ids / 16 * 15);
        }
    }
}

static void instants_become_ticks_exactly_for_every_allowed_tick(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    size_t ticks = 0;
    for (uint64_t tick_us = 1; tick_us <= 1000000; tick_us++) {
        if (1000000 % tick_us != 0) {
            continue;
        }
        ticks++;
        char text[64];
        (void)snprintf(text, sizeof text, "t40w10s12/%" PRIu64 "us@0", tick_us);
        firn_generator gen;
        make(&gen, text, 0, NULL);
        const uint64_t tick_ns = tick_us * 1000;
        for (size_t i = test_scaled(20000); i > 0; i--) {
            const uint64_t any = random_any_size(&random) >> 1;
            /* a tick's first and last nanosecond, and the first of the next */
            const uint64_t edge = any - any % tick_ns;
            const uint64_t spans[] = {any,      edge,           edge + tick_ns - 1,
                                      edge - 1, edge + tick_ns, INT64_MAX - any % tick_ns};
            for (size_t k = 0; k < sizeof spans / sizeof spans[0]; k++) {
                if (spans[k] <= INT64_MAX &&
                    firn__generator_tick(&gen, (int64_t)spans[k]) != spans[k] / tick_ns) {
                    fail_msg("%" PRIu64 " ns in ticks of %" PRIu64, spans[k], tick_ns);
                }
            }
        }
    }
    assert_int_equal(ticks, 49); /* the divisors of 10^6 */
}

static void the_last_tick_ends_in_an_error_never_in_a_wrapped_id(void **state)
{
    (void)state;
    const int64_t last_ns = INT64_C(3934712855551) * 1000000;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 1023, NULL);
    assert_true(try_at(&gen, last_ns, UINT64_MAX).count == 4096);
    uint64_t id = 4711;
    assert_true(firn_generator_next_at(&gen, last_ns, &id) < 0);
    assert_int_equal(firn_generator_next_at(&gen, last_ns + MS, &id), FIRN_E_LAYOUT_END);
    assert_int_equal(firn_generator_next_at(&gen, INT64_MAX, &id), FIRN_E_LAYOUT_END);
    assert_int_equal(id, 4711);
    assert_int_equal(statistics_of(&gen).made, 4096);
    assert_int_equal(statistics_of(&gen).last_us, last_ns / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layout_with_room_for_lost_races_adds_and_the_others_swap),
        cmocka_unit_test(the_seed_s_example_comes_out),
        cmocka_unit_test(a_full_tick_gives_exactly_its_ids_in_order),
        cmocka_unit_test(every_refusal_has_its_cause_and_leaves_the_state_alone),
        cmocka_unit_test(a_generator_that_was_not_initialised_makes_nothing),
        cmocka_unit_test(missing_outputs_and_a_count_of_zero_are_refused),
        cmocka_unit_test(a_run_of_zeros_makes_nothing),
        cmocka_unit_test(a_generator_that_cannot_work_is_refused_and_says_why),
        cmocka_unit_test(null_and_unaligned_memory_and_unmade_layouts_are_refused),
        cmocka_unit_test(the_options_of_an_older_caller_are_completed_with_defaults),
        cmocka_unit_test(the_largest_worker_of_every_layout_stands_in_the_id),
        cmocka_unit_test(the_window_s_ticks_are_stamped_and_their_neighbours_are_not),
        cmocka_unit_test(extend_raises_the_window_s_end_and_never_lowers_it),
        cmocka_unit_test(retiring_is_for_ever),
        cmocka_unit_test(the_time_to_retry_is_the_start_of_the_next_tick),
        cmocka_unit_test(a_clock_3_ms_behind_gives_nothing_until_it_has_passed_the_last_tick),
        cmocka_unit_test(the_tolerance_is_rounded_up_to_whole_ticks),
        cmocka_unit_test(steps_back_and_forth_to_one_tick_repeat_nothing),
        cmocka_unit_test(a_frozen_clock_gives_one_tick_s_ids_in_order_and_no_more),
        cmocka_unit_test(ids_return_to_the_clock_and_never_run_ahead_of_it),
        cmocka_unit_test(the_counters_are_exact),
        cmocka_unit_test(a_retired_generator_that_made_nothing_says_so),
        cmocka_unit_test(random_and_carried_starts_spread_ids_modulo_powers_of_two),
        cmocka_unit_test(fifteen_sixteenths_of_every_tick_are_left_whatever_the_start),
        cmocka_unit_test(instants_become_ticks_exactly_for_every_allowed_tick),
        cmocka_unit_test(the_last_tick_ends_in_an_error_never_in_a_wrapped_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
