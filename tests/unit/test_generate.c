/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Generators that read a clock: runs, the coarse clock, and waiting. Runs are driven by a clock of
 * the test's; waits by the real one, with the last id moved where the clock should not be. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "generators.h"
#include "port/generate.h"
#include "scale.h"

/* A generator with a clock of the test's. */
struct fake {
    int64_t real_ns;
};

static int64_t fake_real_ns(void *context)
{
    const struct fake *fake = context;
    return fake->real_ns;
}

static uint64_t fake_fork_mark(void *context)
{
    (void)context;
    return firn__memory_fork_mark();
}

static firn__environment environment_of(struct fake *fake)
{
    return (firn__environment){.version = FIRN__ENVIRONMENT_VERSION,
                               .context = fake,
                               .real_ns = fake_real_ns,
                               .fork_mark = fake_fork_mark};
}

static int run_next(firn_run *run, const firn__environment *env, uint64_t *id_out)
{
    return firn__generate_run(run, env, id_out) ? FIRN_OK : firn__generate_refill(run, env, id_out);
}

static uint64_t run_next_ok(firn_run *run, const firn__environment *env)
{
    uint64_t id;
    assert_int_equal(run_next(run, env, &id), FIRN_OK);
    return id;
}

static void a_run_drops_what_is_left_when_its_tick_is_over(void **state)
{
    (void)state;
    struct fake fake = {.real_ns = NOW_NS};
    const firn__environment env = environment_of(&fake);
    firn_generator gen;
    firn_run run;
    make(&gen, FIRN_LAYOUT_DEFAULT, 7, NULL);
    assert_int_equal(firn_run_init(&run, &gen), FIRN_OK);
    const uint64_t first = run_next_ok(&run, &env);
    assert_true(run_next_ok(&run, &env) == first + 1);
    fake.real_ns += MS - 1; /* the tick's last nanosecond */
    assert_true(run_next_ok(&run, &env) == first + 2);
    fake.real_ns++;
    assert_true(run_next_ok(&run, &env) == first + (1 << 22));

    /* A clock that goes back ends the run too; the generator's policy decides what follows. */
    fake.real_ns--;
    const uint64_t back = run_next_ok(&run, &env);
    assert_true(back == first + (1 << 22) + FIRN__RUN_IDS);
    fake.real_ns -= 20 * MS;
    uint64_t id = 4711;
    assert_int_equal(run_next(&run, &env, &id), FIRN_E_CLOCK_BACK);
    assert_int_equal(id, 4711);
}

static void runs_of_one_generator_share_no_id_and_fill_the_tick(void **state)
{
    (void)state;
    struct fake fake = {.real_ns = NOW_NS};
    const firn__environment env = environment_of(&fake);
    enum { RUNS = 3 };
    firn_generator gen;
    firn_run runs[RUNS];
    uint64_t lasts[RUNS] = {0};
    static bool given[4096];
    memset(given, 0, sizeof given);
    make(&gen, FIRN_LAYOUT_DEFAULT, 7, NULL);
    for (size_t i = 0; i < RUNS; i++) {
        assert_int_equal(firn_run_init(&runs[i], &gen), FIRN_OK);
    }
    size_t made = 0;
    for (size_t i = 0; i < 3 * 4096; i++) {
        uint64_t id;
        const size_t who = i % 7 % RUNS;
        if (run_next(&runs[who], &env, &id) != FIRN_OK) {
            continue;
        }
        assert_true(id > lasts[who]);
        lasts[who] = id;
        assert_false(given[id & 4095]);
        given[id & 4095] = true;
        made++;
    }
    assert_int_equal(made, 4096);
}

static void a_run_makes_nothing_after_its_generator_retired(void **state)
{
    (void)state;
    struct fake fake = {.real_ns = NOW_NS};
    const firn__environment env = environment_of(&fake);
    firn_generator gen;
    firn_run run;
    make(&gen, FIRN_LAYOUT_DEFAULT, 7, NULL);
    assert_int_equal(firn_run_init(&run, &gen), FIRN_OK);
    (void)run_next_ok(&run, &env);
    assert_int_equal(firn_generator_retire(&gen), FIRN_OK);
    uint64_t id = 4711;
    assert_int_equal(run_next(&run, &env, &id), FIRN_E_RETIRED);
    assert_int_equal(id, 4711);
}

static int64_t start_of(const firn_generator *gen, uint64_t id)
{
    return gen->epoch_ns + (int64_t)((id >> gen->time_shift) * gen->tick_ns);
}

static void no_clock_gives_an_id_that_is_ahead_of_the_real_one(void **state)
{
    (void)state;
    for (int32_t clock = FIRN_CLOCK_PRECISE; clock <= FIRN_CLOCK_COARSE; clock++) {
        firn_generator_options options = firn_generator_options_default();
        options.clock = clock;
        firn_generator gen;
        firn_run run;
        make(&gen, FIRN_LAYOUT_DEFAULT, 7, &options);
        assert_int_equal(firn_run_init(&run, &gen), FIRN_OK);
        uint64_t last = 0;
        uint64_t made = 0;
        const uint64_t ids = test_scaled(200000);
        while (made < ids) {
            uint64_t id;
            const int64_t before_ns = firn__clock_real_ns();
            const int status =
                made % 3 == 0 ? firn_run_next(&run, &id) : firn_generator_next(&gen, &id);
            if (status != FIRN_OK) {
                assert_int_equal(status, FIRN_E_SEQUENCE_FULL);
                continue;
            }
            const int64_t after_ns = firn__clock_real_ns();
            const int64_t at_ns = start_of(&gen, id);
            assert_true(at_ns <= after_ns);
            assert_true(at_ns > before_ns - MS || clock == FIRN_CLOCK_COARSE);
            assert_true(made % 3 != 0 || id > last);
            last = made % 3 == 0 ? id : last;
            made++;
        }
    }
}

/* The last id is made 5 ms ahead, by a clock that then turns out to be 5 ms behind. */
static void a_policy_that_makes_nothing_behind_holds_with_either_clock(void **state)
{
    (void)state;
    for (int32_t clock = FIRN_CLOCK_PRECISE; clock <= FIRN_CLOCK_COARSE; clock++) {
        for (int32_t policy = FIRN_BACK_WAIT; policy <= FIRN_BACK_REFUSE; policy++) {
            firn_generator_options options = firn_generator_options_default();
            options.clock = clock;
            options.on_clock_back = policy;
            firn_generator gen;
            make(&gen, FIRN_LAYOUT_DEFAULT, 7, &options);
            const int64_t ahead_ns = firn__clock_real_ns() + 5 * MS;
            const uint64_t last = next_at(&gen, ahead_ns);
            uint64_t id;
            const int status = firn_generator_next(&gen, &id);
            if (firn__clock_real_ns() < start_of(&gen, last)) {
                assert_int_equal(status,
                                 policy == FIRN_BACK_WAIT ? FIRN_E_CLOCK_WAIT : FIRN_E_CLOCK_BACK);
            }
        }
    }
}

static void a_wait_gives_the_next_tick_s_first_id(void **state)
{
    (void)state;
    const int32_t clocks[] = {FIRN_CLOCK_PRECISE, FIRN_CLOCK_COARSE};
    for (size_t i = 0; i < 2; i++) {
        firn_generator_options options = firn_generator_options_default();
        options.clock = clocks[i];
        firn_generator gen;
        make(&gen, "t39w10s8/10ms@2025-01-01", 7, &options);
        /* Whoever takes the last of a tick sees the next id in a later one. */
        const firn_batch all = try_at(&gen, firn__clock_real_ns(), UINT64_MAX);
        assert_int_equal(all.count, 256);
        uint64_t id;
        assert_int_equal(firn_generator_wait(&gen, -1, &id), FIRN_OK);
        assert_true(start_of(&gen, id) >= start_of(&gen, all.first) + 10 * MS);
        assert_true(start_of(&gen, id) <= firn__clock_real_ns());
        assert_int_equal(id & 255, 0);
    }
}

static void more_ids_than_many_ticks_hold_stay_in_order(void **state)
{
    (void)state;
    enum { COUNT = 20 * 4096 + 1 };
    static uint64_t ids[COUNT];
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 7, NULL);
    size_t made = 0;
    assert_int_equal(firn_generator_wait_many(&gen, -1, ids, COUNT, &made), FIRN_OK);
    assert_int_equal(made, COUNT);
    for (size_t i = 1; i < COUNT; i++) {
        assert_true(ids[i] > ids[i - 1]);
    }
    const int64_t span_ns = start_of(&gen, ids[COUNT - 1]) - start_of(&gen, ids[0]);
    assert_true(span_ns >= 20 * MS);
    assert_true(start_of(&gen, ids[COUNT - 1]) <= firn__clock_real_ns());
    assert_int_equal(statistics_of(&gen).made, COUNT);
}

/* A wait for a clock that is ten minutes behind and stays there. */
static void a_wait_ends_at_its_deadline_when_the_clock_stays_behind(void **state)
{
    (void)state;
    for (int32_t policy = FIRN_BACK_CONTINUE; policy <= FIRN_BACK_WAIT; policy++) {
        firn_generator_options options = firn_generator_options_default();
        options.on_clock_back = policy;
        options.back_max_ms = 3600000;
        firn_generator gen;
        make(&gen, FIRN_LAYOUT_DEFAULT, 7, &options);
        (void)try_at(&gen, firn__clock_real_ns() + 600000 * MS, UINT64_MAX);
        const uint64_t word = gen.word;
        const int64_t timeouts_ns[] = {0, 1, 30 * MS};
        for (size_t i = 0; i < 3; i++) {
            uint64_t ids[2] = {4711, 4711};
            size_t made = 9;
            int64_t start_ns = firn__clock_monotonic_ns();
            assert_int_equal(firn_generator_wait(&gen, timeouts_ns[i], ids), FIRN_E_DEADLINE);
            assert_int_equal(firn_generator_wait_many(&gen, timeouts_ns[i], ids, 2, &made),
                             FIRN_E_DEADLINE);
            const int64_t took_ns = firn__clock_monotonic_ns() - start_ns;
            assert_true(took_ns >= 2 * timeouts_ns[i]);
            /* Far above any scheduling delay, far below the ten minutes. */
            assert_true(took_ns < 2 * timeouts_ns[i] + 20000 * MS);
            assert_int_equal(ids[0], 4711);
            assert_int_equal(made, 0);
        }
        assert_true(gen.word == word);
        assert_true(statistics_of(&gen).waits >= 2);
    }
}

static void a_large_step_back_is_refused_at_once_whatever_the_clock_and_the_timeout(void **state)
{
    (void)state;
    for (int32_t clock = FIRN_CLOCK_PRECISE; clock <= FIRN_CLOCK_COARSE; clock++) {
        firn_generator_options options = firn_generator_options_default();
        options.clock = clock;
        firn_generator gen;
        firn_run run;
        make(&gen, FIRN_LAYOUT_DEFAULT, 7, &options);
        assert_int_equal(firn_run_init(&run, &gen), FIRN_OK);
        /* 8 hours, with sequence left, and at the moment it is used up. */
        const int64_t ahead_ns = firn__clock_real_ns() + 8 * 3600000 * MS;
        for (uint64_t count = 1; count <= 4096; count += 4095) {
            (void)try_at(&gen, ahead_ns, count);
            uint64_t ids[2];
            size_t made = 9;
            const int64_t start_ns = firn__clock_monotonic_ns();
            assert_int_equal(firn_generator_next(&gen, ids), FIRN_E_CLOCK_BACK);
            assert_int_equal(firn_run_next(&run, ids), FIRN_E_CLOCK_BACK);
            assert_int_equal(firn_generator_wait(&gen, -1, ids), FIRN_E_CLOCK_BACK);
            assert_int_equal(firn_generator_wait_many(&gen, -1, ids, 2, &made), FIRN_E_CLOCK_BACK);
            assert_int_equal(made, 0);
            assert_true(firn__clock_monotonic_ns() - start_ns < 20000 * MS);
        }
        assert_int_equal(statistics_of(&gen).waits, 0);
    }
}

static void a_wait_of_no_time_is_one_try_and_counts_as_no_wait(void **state)
{
    (void)state;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 7, NULL);
    uint64_t id;
    assert_int_equal(firn_generator_wait(&gen, 0, &id), FIRN_OK);
    (void)try_at(&gen, firn__clock_real_ns() + 9 * MS, UINT64_MAX);
    if (firn_generator_wait(&gen, 0, &id) == FIRN_E_DEADLINE) {
        assert_int_equal(statistics_of(&gen).waits, 0);
    }
}

static void the_counters_show_waits_full_ticks_and_steps_back(void **state)
{
    (void)state;
    static uint64_t ids[4096 * 3];
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, 7, NULL);
    size_t made;
    assert_int_equal(firn_generator_wait_many(&gen, -1, ids, 4096 * 3, &made), FIRN_OK);
    const firn_statistics read = statistics_of(&gen);
    assert_true(read.waits >= 2);
    assert_true(read.full_ticks >= 1);
    assert_int_equal(read.made, 4096 * 3);
    assert_int_equal(read.back_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_drops_what_is_left_when_its_tick_is_over),
        cmocka_unit_test(runs_of_one_generator_share_no_id_and_fill_the_tick),
        cmocka_unit_test(a_run_makes_nothing_after_its_generator_retired),
        cmocka_unit_test(no_clock_gives_an_id_that_is_ahead_of_the_real_one),
        cmocka_unit_test(a_policy_that_makes_nothing_behind_holds_with_either_clock),
        cmocka_unit_test(a_wait_gives_the_next_tick_s_first_id),
        cmocka_unit_test(more_ids_than_many_ticks_hold_stay_in_order),
        cmocka_unit_test(a_wait_ends_at_its_deadline_when_the_clock_stays_behind),
        cmocka_unit_test(a_large_step_back_is_refused_at_once_whatever_the_clock_and_the_timeout),
        cmocka_unit_test(a_wait_of_no_time_is_one_try_and_counts_as_no_wait),
        cmocka_unit_test(the_counters_show_waits_full_ticks_and_steps_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
