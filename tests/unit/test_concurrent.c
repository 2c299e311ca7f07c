/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Generators under threads and forks: every id distinct, each thread's ids increasing, whichever way
 * they are made. Run it under ThreadSanitizer too, with FIRN_TEST_SCALE below 1. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/generator.h"
#include "port/clock.h"
#include "port/memory.h"
#include "scale.h"

#define THREADS       8
#define CROWD         100
#define IDS_A_THREAD  1000000
#define WRAP_ROUNDS   3000
#define CHILDREN      64
#define IDS_A_CHILD   20000
#define RUN_CHILD_IDS 100
#define NOW_NS        (INT64_C(1791972000123) * 1000000)
#define DEADLINE_NS   (INT64_C(100) * 1000000000)
#define BATCH         37

/* One thread or child: the ids it made, in its order. */
struct maker {
    firn_generator *gen;
    uint64_t *ids;
    size_t count;
    size_t index;
    int status; /* what stopped it, or FIRN_OK */
};

static void make(firn_generator *gen, const char *layout_text, int32_t clock)
{
    firn_layout layout;
    firn_generator_options options = firn_generator_options_default();
    options.clock = clock;
    assert_int_equal(firn_layout_parse(layout_text, &layout, NULL), FIRN_OK);
    assert_int_equal(firn_generator_init(gen, &layout, 0, &options, NULL), FIRN_OK);
}

static void *share(size_t size)
{
    void *memory = firn__memory_share(size);
    assert_non_null(memory);
    return memory;
}

/* Each way of asking, and asking again when a tick is full. */
static int make_some(firn_generator *gen, firn_run *run, size_t way, uint64_t *ids, size_t count,
                     size_t *made_out)
{
    *made_out = 1;
    switch (way) {
    case 0:
        return firn_generator_next(gen, ids);
    case 1:
        return firn_generator_next_many(gen, ids, count < BATCH ? count : BATCH, made_out);
    case 2:
        return firn_generator_wait(gen, DEADLINE_NS, ids);
    default:
        return firn_run_next(run, ids);
    }
}

static void make_all(struct maker *maker, size_t way)
{
    firn_run run;
    maker->status = firn_run_init(&run, maker->gen);
    for (size_t made = 0; maker->status == FIRN_OK && made < maker->count;) {
        size_t some = 0;
        const int status =
            make_some(maker->gen, &run, way, maker->ids + made, maker->count - made, &some);
        if (status == FIRN_OK) {
            made += some;
        } else if (status == FIRN_E_SEQUENCE_FULL) {
            (void)sched_yield();
        } else {
            maker->status = status;
        }
    }
}

static void *make_singles(void *context)
{
    make_all(context, 0);
    return NULL;
}

static void *make_by_index(void *context)
{
    struct maker *maker = context;
    make_all(maker, maker->index % 4);
    return NULL;
}

static void *make_runs(void *context)
{
    make_all(context, 3);
    return NULL;
}

/* Merges the makers' ids, which are in order: any two that are equal meet. */
static void assert_increasing_and_distinct(const struct maker *makers, size_t count)
{
    size_t *at = calloc(count, sizeof *at);
    assert_non_null(at);
    uint64_t last = 0;
    for (;;) {
        const struct maker *least = NULL;
        for (size_t i = 0; i < count; i++) {
            if (at[i] < makers[i].count &&
                (least == NULL || makers[i].ids[at[i]] < least->ids[at[least - makers]])) {
                least = &makers[i];
            }
        }
        if (least == NULL) {
            break;
        }
        const uint64_t id = least->ids[at[least - makers]++];
        if (id <= last) {
            fail_msg("maker %zu: %llu comes after %llu", (size_t)(least - makers),
                     (unsigned long long)id, (unsigned long long)last);
        }
        last = id;
    }
    free(at);
}

static void run_makers(firn_generator *gen, void *(*work)(void *), size_t threads, size_t ids)
{
    struct maker *makers = calloc(threads, sizeof *makers);
    pthread_t *handles = calloc(threads, sizeof *handles);
    assert_true(makers != NULL && handles != NULL);
    for (size_t i = 0; i < threads; i++) {
        makers[i] = (struct maker){.gen = gen, .count = ids, .index = i};
        makers[i].ids = calloc(ids, sizeof *makers[i].ids);
        assert_non_null(makers[i].ids);
        assert_int_equal(pthread_create(&handles[i], NULL, work, &makers[i]), 0);
    }
    for (size_t i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(handles[i], NULL), 0);
        assert_int_equal(makers[i].status, FIRN_OK);
    }
    assert_increasing_and_distinct(makers, threads);
    for (size_t i = 0; i < threads; i++) {
        free(makers[i].ids);
    }
    free(handles);
    free(makers);
}

static void assert_made(const firn_generator *gen, size_t made)
{
    firn_statistics statistics;
    assert_int_equal(firn_generator_statistics(gen, &statistics), FIRN_OK);
    assert_int_equal(statistics.made, made);
}

static void eight_threads_that_add_repeat_nothing(void **state)
{
    (void)state;
    firn_generator gen;
    make(&gen, "t41w1s21@2025-01-01", FIRN_CLOCK_PRECISE);
    assert_true(gen.rules.additive);
    run_makers(&gen, make_singles, THREADS, test_scaled(IDS_A_THREAD));
    assert_made(&gen, THREADS * test_scaled(IDS_A_THREAD));
}

static void eight_threads_that_swap_repeat_nothing(void **state)
{
    (void)state;
    firn_generator gen;
    make(&gen, "t48s16@0", FIRN_CLOCK_PRECISE);
    assert_false(gen.rules.additive);
    run_makers(&gen, make_singles, THREADS, test_scaled(IDS_A_THREAD));
    assert_made(&gen, THREADS * test_scaled(IDS_A_THREAD));
}

static void eight_threads_at_the_default_layout_s_limit_repeat_nothing(void **state)
{
    (void)state;
    firn_generator gen;
    make(&gen, FIRN_LAYOUT_DEFAULT, FIRN_CLOCK_PRECISE);
    const int64_t start_ns = firn__clock_real_ns();
    const size_t ids = test_scaled(IDS_A_THREAD / 4);
    run_makers(&gen, make_singles, THREADS, ids);
    assert_made(&gen, THREADS * ids);
    /* 4,096 a millisecond and never more. */
    const int64_t ticks = (firn__clock_real_ns() - start_ns) / 1000000 + 2;
    assert_true((int64_t)(THREADS * ids) <= ticks * 4096);
}

static void singles_batches_waits_and_runs_may_be_mixed_with_either_clock(void **state)
{
    (void)state;
    for (int32_t clock = FIRN_CLOCK_PRECISE; clock <= FIRN_CLOCK_COARSE; clock++) {
        firn_generator gen;
        make(&gen, FIRN_LAYOUT_DEFAULT, clock);
        run_makers(&gen, make_by_index, THREADS, test_scaled(IDS_A_THREAD / 8));
    }
}

static void runs_of_eight_threads_share_no_id(void **state)
{
    (void)state;
    for (int32_t clock = FIRN_CLOCK_PRECISE; clock <= FIRN_CLOCK_COARSE; clock++) {
        firn_generator gen;
        make(&gen, "t41w1s21@2025-01-01", clock);
        run_makers(&gen, make_runs, THREADS, test_scaled(IDS_A_THREAD / 4));
    }
}

static void a_hundred_threads_repeat_nothing(void **state)
{
    (void)state;
    const char *layouts[] = {"t41w10s12@2025-01-01", "t48s16@0"};
    for (size_t i = 0; i < 2; i++) {
        firn_generator gen;
        make(&gen, layouts[i], FIRN_CLOCK_PRECISE);
        run_makers(&gen, make_singles, CROWD, test_scaled(IDS_A_THREAD / 50));
    }
}

/* All threads empty one small tick at once, again and again: what is contended is its last id. */
struct wrap {
    firn_generator *gen;
    pthread_barrier_t *start;
    uint64_t *ids; /* [rounds * IDS_A_TICK] */
    size_t *made;  /* [rounds], by fetch-and-add */
    size_t rounds;
    int status;
};

#define IDS_A_TICK 16

static void *empty_ticks(void *context)
{
    struct wrap *wrap = context;
    for (size_t round = 0; round < wrap->rounds; round++) {
        (void)pthread_barrier_wait(wrap->start);
        for (;;) {
            uint64_t id;
            const int64_t now_ns = NOW_NS + (int64_t)round * 1000000;
            const int status = firn_generator_next_at(wrap->gen, now_ns, &id);
            if (status != FIRN_OK) {
                wrap->status = status == FIRN_E_SEQUENCE_FULL ? wrap->status : status;
                break;
            }
            const size_t place = __atomic_fetch_add(&wrap->made[round], 1, __ATOMIC_RELAXED);
            if (place < IDS_A_TICK) {
                wrap->ids[round * IDS_A_TICK + place] = id;
            }
        }
        (void)pthread_barrier_wait(wrap->start);
    }
    return NULL;
}

static void a_contended_tick_gives_each_of_its_ids_once(void **state)
{
    (void)state;
    const char *layouts[] = {"t41w19s4@2025-01-01", "t51w9s4@0", "t60s4/1us@0"};
    for (size_t i = 0; i < 3; i++) {
        firn_generator gen;
        pthread_barrier_t start;
        struct wrap wraps[THREADS];
        pthread_t handles[THREADS];
        const size_t rounds = test_scaled(WRAP_ROUNDS);
        make(&gen, layouts[i], FIRN_CLOCK_PRECISE);
        assert_int_equal(gen.rules.additive, i == 0);
        uint64_t *ids = calloc(rounds * IDS_A_TICK, sizeof *ids);
        size_t *made = calloc(rounds, sizeof *made);
        assert_true(ids != NULL && made != NULL);
        assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
        for (size_t k = 0; k < THREADS; k++) {
            wraps[k] = (struct wrap){
                .gen = &gen, .start = &start, .ids = ids, .made = made, .rounds = rounds};
            assert_int_equal(pthread_create(&handles[k], NULL, empty_ticks, &wraps[k]), 0);
        }
        for (size_t k = 0; k < THREADS; k++) {
            assert_int_equal(pthread_join(handles[k], NULL), 0);
            assert_int_equal(wraps[k].status, FIRN_OK);
        }
        for (size_t round = 0; round < rounds; round++) {
            assert_int_equal(made[round], IDS_A_TICK);
            unsigned seen = 0;
            for (size_t k = 0; k < IDS_A_TICK; k++) {
                seen |= 1U << (ids[round * IDS_A_TICK + k] & (IDS_A_TICK - 1));
            }
            assert_int_equal(seen, (1U << IDS_A_TICK) - 1);
        }
        assert_made(&gen, rounds * IDS_A_TICK);
        firn_statistics statistics;
        (void)firn_generator_statistics(&gen, &statistics);
        assert_int_equal(statistics.full_ticks, rounds);
        (void)pthread_barrier_destroy(&start);
        free(ids);
        free(made);
    }
}

struct retiring {
    firn_generator *gen;
    uint64_t *retired; /* 1 once firn_generator_retire() has returned */
    uint64_t *running;
    size_t late; /* ids that a call got which began after that */
};

static void *make_until_retired(void *context)
{
    struct retiring *retiring = context;
    firn__count_add(retiring->running, 1);
    for (;;) {
        const uint64_t retired = firn__load(retiring->retired);
        uint64_t id;
        const int status = firn_generator_next(retiring->gen, &id);
        retiring->late += retired != 0 && status == FIRN_OK;
        if (status == FIRN_E_RETIRED && retired != 0) {
            return NULL;
        }
    }
}

static void once_retire_has_returned_no_thread_gets_an_id(void **state)
{
    (void)state;
    const char *layouts[] = {"t41w1s21@2025-01-01", "t48s16@0"};
    for (size_t i = 0; i < 2 * test_scaled(50); i++) {
        firn_generator gen;
        uint64_t retired = 0;
        uint64_t running = 0;
        struct retiring threads[4];
        pthread_t handles[4];
        make(&gen, layouts[i % 2], FIRN_CLOCK_PRECISE);
        for (size_t k = 0; k < 4; k++) {
            threads[k] = (struct retiring){.gen = &gen, .retired = &retired, .running = &running};
            assert_int_equal(pthread_create(&handles[k], NULL, make_until_retired, &threads[k]), 0);
        }
        while (firn__load(&running) < 4) {
            (void)sched_yield();
        }
        assert_int_equal(firn_generator_retire(&gen), FIRN_OK);
        const uint64_t last_word = firn__generator_last_word(&gen);
        firn__store(&retired, 1);
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(pthread_join(handles[k], NULL), 0);
            assert_int_equal(threads[k].late, 0);
        }
        assert_true(firn__generator_last_word(&gen) == last_word);
    }
}

struct reading {
    firn_generator *gens;
    size_t count;
    int64_t last_us;
    size_t wrong;
    uint64_t at; /* the generator that is being read; the retiring thread waits for it */
};

static void *read_until_retired(void *context)
{
    struct reading *reading = context;
    for (size_t i = 0; i < reading->count; i++) {
        firn__store(&reading->at, i + 1);
        do {
            firn_statistics statistics;
            (void)firn_generator_statistics(&reading->gens[i], &statistics);
            reading->wrong += statistics.last_us != reading->last_us;
        } while (firn_generator_extend(&reading->gens[i], 0) == FIRN_OK);
    }
    return NULL;
}

/* A registry's next mark depends on it. */
static void the_last_id_s_time_is_right_while_a_generator_is_being_retired(void **state)
{
    (void)state;
    const size_t count = test_scaled(50000);
    firn_generator *gens = share(sizeof *gens * count);
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        make(&gens[i], FIRN_LAYOUT_DEFAULT, FIRN_CLOCK_PRECISE);
        assert_int_equal(firn_generator_next_at(&gens[i], NOW_NS, &id), FIRN_OK);
    }
    struct reading reading = {.gens = gens, .count = count, .last_us = NOW_NS / 1000};
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_until_retired, &reading), 0);
    for (size_t i = 0; i < count; i++) {
        while (firn__load(&reading.at) <= i) {
            (void)sched_yield();
        }
        assert_int_equal(firn_generator_retire(&gens[i]), FIRN_OK);
    }
    assert_int_equal(pthread_join(reader, NULL), 0);
    firn__memory_unshare(gens, sizeof *gens * count);
    assert_int_equal(reading.wrong, 0);
}

/* The three ways to make a child. The raw system call skips the C library, and all its handlers. */
static pid_t make_child(size_t way)
{
    switch (way % 3) {
    case 0:
        return fork();
    case 1:
        return _Fork();
    default:
        return (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0UL, 0UL, 0UL, 0UL);
    }
}

/* Ends a child. Not by _exit(): under ThreadSanitizer that reports the parent's threads, which the
 * child never had, as leaked. */
static void leave(bool good)
{
    (void)syscall(SYS_exit_group, good ? 0L : 1L);
}

static void wait_for_children(const pid_t *children, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int result = -1;
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_true(WIFEXITED(result));
        assert_int_equal(WEXITSTATUS(result), 0);
    }
}

static void children_of_every_kind_share_a_generator_and_repeat_nothing(void **state)
{
    (void)state;
    const size_t ids = test_scaled(IDS_A_CHILD);
    firn_generator *gen = share(sizeof *gen);
    uint64_t *all = share(sizeof *all * ids * (CHILDREN + 1));
    struct maker makers[CHILDREN + 1];
    pid_t children[CHILDREN];
    make(gen, FIRN_LAYOUT_DEFAULT, FIRN_CLOCK_PRECISE);
    for (size_t i = 0; i <= CHILDREN; i++) {
        makers[i] = (struct maker){.gen = gen, .ids = all + i * ids, .count = ids};
    }
    for (size_t i = 0; i < CHILDREN; i++) {
        children[i] = make_child(i);
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            make_all(&makers[i], i / 3 % 4);
            leave(makers[i].status == FIRN_OK);
        }
    }
    make_all(&makers[CHILDREN], 0);
    assert_int_equal(makers[CHILDREN].status, FIRN_OK);
    wait_for_children(children, CHILDREN);
    assert_increasing_and_distinct(makers, CHILDREN + 1);
    firn__memory_unshare(all, sizeof *all * ids * (CHILDREN + 1));
    firn__memory_unshare(gen, sizeof *gen);
}

static int fill_from_run(firn_run *run, uint64_t *ids)
{
    for (size_t i = 0; i < RUN_CHILD_IDS; i++) {
        const int status = firn_run_next(run, &ids[i]);
        if (status != FIRN_OK) {
            return status;
        }
    }
    return FIRN_OK;
}

/* A tick of a second, so that what is left of the run is still good when the children start; tried
 * again if the tick ended meanwhile. */
static void a_child_s_copy_of_a_run_gives_no_id_that_the_parent_s_gives(void **state)
{
    (void)state;
    enum { MAKERS = 7 };
    firn_generator *gen = share(sizeof *gen);
    uint64_t *all = share(sizeof *all * RUN_CHILD_IDS * MAKERS);
    struct maker makers[MAKERS];
    pid_t children[MAKERS - 1];
    make(gen, "t32w10s20/1s@2025-01-01", FIRN_CLOCK_PRECISE);
    for (size_t i = 0; i < MAKERS; i++) {
        makers[i] = (struct maker){.ids = all + i * RUN_CHILD_IDS, .count = RUN_CHILD_IDS};
    }
    bool one_tick = false;
    while (!one_tick) {
        firn_run run;
        uint64_t first;
        assert_int_equal(firn_run_init(&run, gen), FIRN_OK);
        assert_int_equal(firn_run_next(&run, &first), FIRN_OK);
        assert_true(run.left > 0);
        for (size_t i = 0; i < MAKERS - 1; i++) {
            children[i] = make_child(i);
            assert_true(children[i] >= 0);
            if (children[i] == 0) {
                leave(fill_from_run(&run, makers[i].ids) == FIRN_OK);
            }
        }
        assert_int_equal(fill_from_run(&run, makers[MAKERS - 1].ids), FIRN_OK);
        wait_for_children(children, MAKERS - 1);
        assert_increasing_and_distinct(makers, MAKERS);
        /* The parent's run went on: its copies had the same ids to give. */
        one_tick = makers[MAKERS - 1].ids[0] == first + 1 &&
                   firn__clock_real_ns() / 1000000000 ==
                       gen->epoch_ns / 1000000000 + (int64_t)(first >> gen->time_shift);
    }
    firn__memory_unshare(all, sizeof *all * RUN_CHILD_IDS * MAKERS);
    firn__memory_unshare(gen, sizeof *gen);
}

static void children_made_while_threads_generate_repeat_nothing(void **state)
{
    (void)state;
    enum { FORKERS = 24 };
    const size_t ids = test_scaled(IDS_A_CHILD);
    firn_generator *gen = share(sizeof *gen);
    uint64_t *all = share(sizeof *all * ids * (FORKERS + 2));
    struct maker makers[FORKERS + 2];
    pid_t children[FORKERS];
    pthread_t handles[2];
    make(gen, "t48s16@0", FIRN_CLOCK_PRECISE);
    for (size_t i = 0; i < FORKERS + 2; i++) {
        makers[i] = (struct maker){.gen = gen, .ids = all + i * ids, .count = ids, .index = i};
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&handles[i], NULL, make_by_index, &makers[FORKERS + i]), 0);
    }
    for (size_t i = 0; i < FORKERS; i++) {
        children[i] = make_child(i);
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            make_all(&makers[i], 0);
            leave(makers[i].status == FIRN_OK);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(handles[i], NULL), 0);
        assert_int_equal(makers[FORKERS + i].status, FIRN_OK);
    }
    wait_for_children(children, FORKERS);
    assert_increasing_and_distinct(makers, FORKERS + 2);
    firn__memory_unshare(all, sizeof *all * ids * (FORKERS + 2));
    firn__memory_unshare(gen, sizeof *gen);
}

struct asking {
    pthread_barrier_t *start;
    uint64_t mark;
};

static void *read_mark(void *context)
{
    struct asking *asking = context;
    (void)pthread_barrier_wait(asking->start);
    asking->mark = firn__memory_fork_mark();
    return NULL;
}

/* Returns whether all threads of this process got one mark. */
static bool ask_at_once(void)
{
    enum { ASKING = 4 };
    pthread_barrier_t start;
    struct asking asking[ASKING];
    pthread_t handles[ASKING];
    bool good = pthread_barrier_init(&start, NULL, ASKING) == 0;
    for (size_t i = 0; i < ASKING; i++) {
        asking[i] = (struct asking){.start = &start};
        good &= pthread_create(&handles[i], NULL, read_mark, &asking[i]) == 0;
    }
    for (size_t i = 0; i < ASKING; i++) {
        good &= pthread_join(handles[i], NULL) == 0;
        good &= asking[i].mark != 0 && asking[i].mark == asking[0].mark;
    }
    return good;
}

static void threads_that_ask_at_once_get_one_fork_mark(void **state)
{
    (void)state;
    /* In a fresh child the mark has to be made anew, by whichever thread comes first. */
    for (size_t round = 0; round < test_scaled(200); round++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            leave(ask_at_once());
        }
        wait_for_children(&child, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_that_add_repeat_nothing),
        cmocka_unit_test(eight_threads_that_swap_repeat_nothing),
        cmocka_unit_test(eight_threads_at_the_default_layout_s_limit_repeat_nothing),
        cmocka_unit_test(singles_batches_waits_and_runs_may_be_mixed_with_either_clock),
        cmocka_unit_test(runs_of_eight_threads_share_no_id),
        cmocka_unit_test(a_hundred_threads_repeat_nothing),
        cmocka_unit_test(a_contended_tick_gives_each_of_its_ids_once),
        cmocka_unit_test(once_retire_has_returned_no_thread_gets_an_id),
        cmocka_unit_test(the_last_id_s_time_is_right_while_a_generator_is_being_retired),
        cmocka_unit_test(children_of_every_kind_share_a_generator_and_repeat_nothing),
        cmocka_unit_test(a_child_s_copy_of_a_run_gives_no_id_that_the_parent_s_gives),
        cmocka_unit_test(children_made_while_threads_generate_repeat_nothing),
        cmocka_unit_test(threads_that_ask_at_once_get_one_fork_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
