/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The lease policy, rules R1 to R9 and R11 of docs/design.md: on the in-memory registry with
 * injected faults, and under a clock that the test sets. A test's name is a rule's promise. What a
 * real store does is test_sqlite.c's, forks (R10) are test_fork.c's. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "registry/mem.h"
#include "registry/session.h"
#include "world.h"

#define WINDOW_MS       INT64_C(3000)
#define SKEW_MAX_MS     INT64_C(60000)
#define TIMEOUT_MS      1000
#define YEAR_MS         INT64_C(31557600000)
#define NAME_SIZE       48
#define CRASH_CYCLES    10000
#define CRASH_WORKERS   1024
#define RANDOM_STEPS    20000
#define RANDOM_WORKERS  3
#define RANDOM_HOLDERS  5
#define SHORT_TIME_BITS 36 /* two years of milliseconds */
#define YEAR_2000_MS    INT64_C(946684800000)
#define EPOCH_MS        INT64_C(1735689600000)
#define SECOND_TICKS    "t33w10s12/1s@2025-01-01"
#define DEADLINE_NS     INT64_C(60000000000)

/* A realm in memory, a world around it, and a holder. */
struct scene {
    world here;
    firn__environment env;
    char name[NAME_SIZE];
    firn__url url;
    firn__mem_faults *faults;
    firn__holder holder;
    firn_error error;
};

static uint64_t scene_seed = 1;

/* A holder as another process would have it, with its realm read. */
static firn__holder new_holder(struct scene *scene)
{
    firn__holder holder;
    assert_int_equal(
        firn__holder_open(&holder, &scene->url, TIMEOUT_MS, &scene->env, &scene->error), FIRN_OK);
    (void)snprintf(holder.note, sizeof holder.note, "a test");
    assert_int_equal(firn__holder_read(&holder, &scene->error), FIRN_OK);
    return holder;
}

static firn_realm realm_with(uint32_t workers, int64_t grace_ms)
{
    firn_realm realm = firn_realm_default();
    realm.window_ms = WINDOW_MS;
    realm.grace_ms = grace_ms;
    realm.worker_last = workers - 1;
    return realm;
}

static void begin_with(struct scene *scene, const firn_realm *realm)
{
    static unsigned number;
    memset(scene, 0, sizeof *scene);
    scene->here = world_new(scene_seed++);
    scene->env = world_environment(&scene->here);
    (void)snprintf(scene->name, sizeof scene->name, "lease-%u", number++);
    scene->url = (firn__url){.scheme = "mem", .worker = FIRN__ANY_WORKER};
    (void)snprintf(scene->url.path, sizeof scene->url.path, "%s", scene->name);
    scene->faults = firn__mem_faults_of(scene->name);
    assert_non_null(scene->faults);
    assert_int_equal(
        firn__holder_open(&scene->holder, &scene->url, TIMEOUT_MS, &scene->env, &scene->error),
        FIRN_OK);
    assert_int_equal(firn__holder_create(&scene->holder, realm, &scene->error), FIRN_OK);
    scene->holder = new_holder(scene);
}

static void begin(struct scene *scene, uint32_t workers)
{
    const firn_realm realm = realm_with(workers, 0);
    begin_with(scene, &realm);
}

static int acquire(struct scene *scene, firn__grant *grant)
{
    return firn__lease_acquire(&scene->holder, 0, grant, &scene->error);
}

static int extend(struct scene *scene, firn__grant *grant)
{
    return firn__lease_extend(&scene->holder, grant, 0, 0, &scene->error);
}

static firn_worker *record(const struct scene *scene, uint32_t worker)
{
    return firn__mem_record(scene->name, worker);
}

/* A handle on the scene's realm. */
static firn *open_with(struct scene *scene, firn_options *options, int expected)
{
    char url[NAME_SIZE + 8];
    firn *ids = NULL;
    (void)snprintf(url, sizeof url, "mem:%s", scene->name);
    options->vmclock_path = NULL;
    options->error_out = &scene->error;
    const int status = firn__open(url, options, &scene->env, &ids);
    if (status < 0) {
        print_message("%s\n", scene->error.text);
    }
    assert_int_equal(status, expected);
    return ids;
}

static firn *open_handle(struct scene *scene)
{
    firn_options options = firn_options_default();
    return open_with(scene, &options, FIRN_OK);
}

static firn_state state_of(firn *ids)
{
    firn_state state;
    assert_int_equal(firn_state_get(ids, &state), FIRN_OK);
    return state;
}

static uint32_t worker_of(firn *ids)
{
    const firn_state state = state_of(ids);
    assert_int_equal(state.leased, 1);
    return state.worker;
}

/* Another process writes a worker's record: what its holder read is no longer true. */
static void change_record(struct scene *scene, uint32_t worker)
{
    firn_worker *stored = record(scene, worker);
    assert_non_null(stored);
    stored->attempt[3] ^= 0x10;
}

/* R1 */

static firn__backend racing;
static struct scene *raced;
static int races_left;

/* Between a holder's reading and its swap, another takes the worker. */
static int swap_in_a_race(void *store, const firn_realm *realm, const firn_worker *expected,
                          const firn_worker *desired, firn_error *error_out)
{
    if (races_left > 0) {
        races_left--;
        firn_worker *stored = record(raced, desired->worker);
        stored->mark_ms += 7777;
        stored->counter++;
        stored->attempt[0] ^= 1;
    }
    return firn__mem_backend.swap(store, realm, expected, desired, error_out);
}

static void a_window_starts_at_the_mark_that_its_own_swap_compared(void **state)
{
    struct scene scene;
    firn__grant first;
    firn__grant second;
    (void)state;
    begin(&scene, 1);
    assert_int_equal(acquire(&scene, &first), FIRN_OK);
    assert_int_equal(first.end_ms, record(&scene, 0)->mark_ms);
    const int64_t mark_ms = first.end_ms;
    world_pass(&scene.here, WINDOW_MS + 1);
    racing = firn__mem_backend;
    racing.swap = swap_in_a_race;
    raced = &scene;
    races_left = 1;
    scene.holder.backend = &racing;
    /* The mark that was read at first is out of date by the time of the swap. */
    assert_int_equal(acquire(&scene, &second), FIRN_E_WORKERS_BUSY);
    assert_int_equal(races_left, 0);
    assert_int_equal(scene.holder.retry_ms, mark_ms + 7777);
    world_pass(&scene.here, 7777);
    assert_int_equal(acquire(&scene, &second), FIRN_OK);
    assert_int_equal(second.start_ms, mark_ms + 7777);
    assert_int_equal(second.record.mark_ms, second.end_ms);
}

static void gives_up_after_losing_every_race(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    world_pass(&scene.here, 1000 * WINDOW_MS);
    racing = firn__mem_backend;
    racing.swap = swap_in_a_race;
    raced = &scene;
    races_left = INT32_MAX;
    scene.holder.backend = &racing;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_REGISTRY_BUSY);
    races_left = 0;
}

/* R2 */

static void a_lost_reply_is_never_adopted_and_its_range_is_burned(void **state)
{
    struct scene scene;
    firn__grant grant = {.start_ms = -1};
    (void)state;
    begin(&scene, 1);
    scene.faults->swap_status = FIRN_E_REGISTRY_IO;
    scene.faults->swap_applies = true;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_REGISTRY_IO);
    assert_int_equal(grant.start_ms, -1);
    assert_int_equal(scene.holder.lost_replies, 1);
    const int64_t burned_ms = record(&scene, 0)->mark_ms;
    assert_int_equal(burned_ms, world_ms(&scene.here) + WINDOW_MS);
    scene.faults->swap_status = FIRN_OK;
    scene.faults->swap_applies = false;
    /* The record is in its own name, and still not its own. */
    assert_memory_equal(record(&scene, 0)->holder, scene.holder.id, sizeof scene.holder.id);
    assert_int_equal(acquire(&scene, &grant), FIRN_E_WORKERS_BUSY);
    world_pass(&scene.here, WINDOW_MS + 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.start_ms, burned_ms);
}

static void a_renewal_with_a_lost_reply_leaves_the_window_as_it_was(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 2);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    const firn__grant before = grant;
    world_pass(&scene.here, WINDOW_MS / 2);
    scene.faults->swap_status = FIRN_E_REGISTRY_IO;
    scene.faults->swap_applies = true;
    assert_int_equal(extend(&scene, &grant), FIRN_E_REGISTRY_IO);
    assert_memory_equal(&grant, &before, sizeof grant);
    assert_true(record(&scene, grant.record.worker)->mark_ms > before.end_ms);
    scene.faults->swap_status = FIRN_OK;
    assert_int_equal(extend(&scene, &grant), FIRN_E_CONFLICT);
    assert_memory_equal(&grant, &before, sizeof grant);
    /* A reply that is lost before the write costs nothing but the try. */
    firn__grant other;
    assert_int_equal(acquire(&scene, &other), FIRN_OK);
    scene.faults->swap_status = FIRN_E_REGISTRY_IO;
    scene.faults->swap_applies = false;
    world_pass(&scene.here, WINDOW_MS / 2);
    assert_int_equal(extend(&scene, &other), FIRN_E_REGISTRY_IO);
    scene.faults->swap_status = FIRN_OK;
    assert_int_equal(extend(&scene, &other), FIRN_OK);
}

static void a_handle_survives_a_lost_reply_on_another_worker(void **state)
{
    struct scene scene;
    uint64_t first;
    uint64_t id;
    (void)state;
    begin(&scene, 4);
    firn *ids = open_handle(&scene);
    const uint32_t worker = worker_of(ids);
    assert_int_equal(firn_next(ids, &first), FIRN_OK);
    world_pass(&scene.here, WINDOW_MS / 2);
    scene.faults->swap_status = FIRN_E_REGISTRY_IO;
    scene.faults->swap_applies = true;
    assert_int_equal(firn_renew(ids), FIRN_E_REGISTRY_IO);
    assert_int_equal(state_of(ids).lost_replies, 1);
    assert_int_equal(firn_next(ids, &id), FIRN_OK); /* its own window is not lost */
    assert_int_equal(worker_of(ids), worker);
    world_pass(&scene.here, WINDOW_MS / 2);
    assert_int_equal(firn_next(ids, &id), FIRN_E_REGISTRY_IO);
    scene.faults->swap_status = FIRN_OK;
    world_pass(&scene.here, 10);
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    assert_int_not_equal(worker_of(ids), worker);
    firn_close(ids);
}

/* R3 */

static void the_mark_is_a_window_after_the_clock_or_the_last_stamp(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 2);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.end_ms, world_ms(&scene.here) + WINDOW_MS);
    world_pass(&scene.here, 2000);
    assert_int_equal(extend(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.end_ms, world_ms(&scene.here) + WINDOW_MS);
    /* The last id was stamped before the clock was set back. */
    world_pass(&scene.here, 2900);
    const int64_t last_ms = world_ms(&scene.here);
    scene.here.real_ns -= 50 * MS_NS;
    assert_int_equal(firn__lease_extend(&scene.holder, &grant, 0, last_ms, &scene.error), FIRN_OK);
    assert_int_equal(grant.end_ms, last_ms + 1 + WINDOW_MS);
    assert_int_equal(record(&scene, grant.record.worker)->mark_ms, grant.end_ms);
}

static void closing_keeps_the_mark_and_says_released(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(record(&scene, 0)->released, 0);
    assert_int_equal(firn__lease_release(&scene.holder, &grant, &scene.error), FIRN_OK);
    assert_int_equal(record(&scene, 0)->mark_ms, grant.end_ms);
    assert_int_equal(record(&scene, 0)->released, 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_E_WORKERS_BUSY);
    world_pass(&scene.here, WINDOW_MS + 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(record(&scene, 0)->released, 0);
}

static void a_short_window_makes_a_worker_free_soon(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 1);
    assert_int_equal(firn__lease_acquire(&scene.holder, 5, &grant, &scene.error), FIRN_OK);
    assert_int_equal(grant.end_ms, world_ms(&scene.here) + 5);
    world_pass(&scene.here, 6);
    assert_int_equal(firn__lease_acquire(&scene.holder, 5, &grant, &scene.error), FIRN_OK);
    world_pass(&scene.here, 6);
    /* More than the realm's window is not to be had, and nothing shorter than two ticks. */
    assert_int_equal(firn__lease_acquire(&scene.holder, 10 * WINDOW_MS, &grant, &scene.error),
                     FIRN_OK);
    assert_int_equal(grant.end_ms, world_ms(&scene.here) + WINDOW_MS);
    world_pass(&scene.here, WINDOW_MS + 1);
    assert_int_equal(firn__lease_acquire(&scene.holder, 1, &grant, &scene.error), FIRN_OK);
    assert_true(grant.end_ms - world_ms(&scene.here) >= 2);
}

static void no_window_is_longer_than_the_realms(void **state)
{
    struct scene scene;
    firn__grant grant;
    firn_realm realm = realm_with(1, 0);
    (void)state;
    memcpy(realm.layout, SECOND_TICKS, sizeof SECOND_TICKS);
    realm.window_ms = 2000; /* two ticks: the least that is allowed */
    begin_with(&scene, &realm);
    assert_int_equal(firn__lease_acquire(&scene.holder, 1, &grant, &scene.error), FIRN_OK);
    assert_true(grant.end_ms <= world_ms(&scene.here) + 2000);
}

/* R4 */

static void a_lost_lease_is_a_new_object_and_the_old_one_is_dead(void **state)
{
    struct scene scene;
    uint64_t id;
    (void)state;
    begin(&scene, 4);
    firn *ids = open_handle(&scene);
    firn__lease *old = firn__lease_of(ids);
    const uint32_t worker = old->generator.worker;
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    change_record(&scene, worker);
    world_pass(&scene.here, WINDOW_MS / 2);
    assert_int_equal(firn_renew(ids), FIRN_OK);
    assert_ptr_not_equal(firn__lease_of(ids), old);
    /* A thread that was paused with the old lease in hand gets nothing from it. */
    assert_int_equal(old->generator.worker, worker);
    assert_int_equal(firn_generator_next_at(&old->generator, scene.here.real_ns, &id),
                     FIRN_E_RETIRED);
    firn_close(ids);
}

static void the_tick_that_is_checked_is_the_tick_that_is_stamped(void **state)
{
    struct scene scene;
    firn_layout layout;
    firn_fields fields;
    firn_options options = firn_options_default();
    uint64_t id;
    (void)state;
    begin(&scene, 1);
    options.renewal = FIRN_RENEWAL_HOST;
    firn *ids = open_with(&scene, &options, FIRN_OK);
    const int64_t end_ms = state_of(ids).window_end_ms;
    assert_int_equal(firn_layout_get(ids, &layout), FIRN_OK);
    scene.here.real_ns = end_ms * MS_NS - 1;
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    assert_int_equal(firn_layout_decompose(&layout, id, &fields), FIRN_OK);
    assert_int_equal(fields.time_us, (end_ms - 1) * 1000);
    scene.here.real_ns = end_ms * MS_NS;
    assert_int_equal(firn_next(ids, &id), FIRN_E_WINDOW);
    firn_close(ids);
}

/* R5 */

static void a_missing_record_refuses(void **state)
{
    struct scene scene;
    firn__grant grants[3];
    firn__grant grant;
    (void)state;
    begin(&scene, 8);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(acquire(&scene, &grants[i]), FIRN_OK);
    }
    firn__mem_forget(scene.name, 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_E_REGISTRY_CORRUPT);
    assert_non_null(strstr(scene.error.text, "3 workers"));
    assert_non_null(strstr(scene.error.text, "only 2"));
    assert_int_equal(extend(&scene, &grants[0]), FIRN_OK); /* its own record is there */
    world_pass(&scene.here, 10);
    assert_int_equal(extend(&scene, &grants[1]), FIRN_E_CONFLICT);
    assert_null(record(&scene, 1));
}

static void a_new_worker_is_counted_as_it_is_added(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(firn__mem_realm(scene.name)->workers_used, i);
        assert_int_equal(acquire(&scene, &grant), FIRN_OK);
        assert_int_equal(grant.record.worker, i);
        assert_int_equal(grant.start_ms, 0);
    }
    assert_int_equal(firn__mem_realm(scene.name)->workers_used, 3);
}

/* R6 */

static void a_changed_record_stops_a_live_holder_at_once(void **state)
{
    struct scene scene;
    uint8_t holder[16];
    uint64_t id;
    (void)state;
    begin(&scene, 4);
    firn *ids = open_handle(&scene);
    const uint32_t worker = worker_of(ids);
    memcpy(holder, record(&scene, worker)->holder, sizeof holder);
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    change_record(&scene, worker);
    const firn_worker changed = *record(&scene, worker);
    world_pass(&scene.here, WINDOW_MS / 2);
    assert_int_equal(firn_renew(ids), FIRN_OK);
    const firn_state state_after = state_of(ids);
    assert_int_equal(state_after.conflicts, 1);
    assert_int_not_equal(state_after.worker, worker);
    assert_memory_not_equal(record(&scene, state_after.worker)->holder, holder, sizeof holder);
    assert_memory_equal(record(&scene, worker), &changed, sizeof changed); /* never touched again */
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    firn_close(ids);
    assert_memory_equal(record(&scene, worker), &changed, sizeof changed);
}

static void a_worker_that_lapsed_and_was_taken_is_no_conflict(void **state)
{
    struct scene scene;
    firn__grant grant;
    uint64_t id;
    (void)state;
    begin(&scene, 2);
    firn *ids = open_handle(&scene);
    const uint32_t worker = worker_of(ids);
    world_pass(&scene.here, WINDOW_MS + 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK); /* another takes what is free */
    assert_int_equal(grant.record.worker, worker);
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    assert_int_equal(state_of(ids).conflicts, 0);
    assert_int_not_equal(worker_of(ids), worker);
    firn_close(ids);
}

static void a_worker_asked_for_by_number_says_that_it_was_taken(void **state)
{
    struct scene scene;
    firn_options options = firn_options_default();
    uint64_t id;
    (void)state;
    begin(&scene, 8);
    options.worker = 5;
    firn *ids = open_with(&scene, &options, FIRN_OK);
    assert_int_equal(worker_of(ids), 5);
    world_pass(&scene.here, WINDOW_MS / 2);
    change_record(&scene, 5);
    assert_int_equal(firn_renew(ids), FIRN_E_WORKER_TAKEN);
    firn_state state_after = state_of(ids);
    assert_int_equal(state_after.conflicts, 1);
    assert_int_equal(state_after.reason, FIRN_E_WORKER_TAKEN);
    assert_int_equal(state_after.healthy, 0);
    assert_non_null(strstr(state_after.text, "worker 5"));
    world_pass(&scene.here, 10);
    assert_int_equal(firn_next(ids, &id), FIRN_E_WORKER_HELD);
    world_pass(&scene.here, WINDOW_MS);
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    assert_int_equal(worker_of(ids), 5);
    firn_close(ids);
}

/* R7 */

static void clock_skew_refuses_before_a_mark_is_written(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 4);
    scene.faults->has_clock = true;
    scene.faults->clock_ms = world_ms(&scene.here) + SKEW_MAX_MS + 1;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_CLOCK_SKEW);
    scene.faults->clock_ms = world_ms(&scene.here) - SKEW_MAX_MS - 1;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_CLOCK_SKEW);
    assert_null(record(&scene, 0));
    assert_int_equal(firn__mem_realm(scene.name)->workers_used, 0);
    scene.faults->clock_ms = world_ms(&scene.here) - SKEW_MAX_MS;
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    scene.faults->clock_ms = world_ms(&scene.here) + SKEW_MAX_MS;
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    /* The clock jumps years ahead under a live holder. */
    const firn_worker before = *record(&scene, 1);
    scene.here.real_ns += 20 * YEAR_MS * MS_NS;
    assert_int_equal(extend(&scene, &grant), FIRN_E_CLOCK_SKEW);
    assert_memory_equal(record(&scene, 1), &before, sizeof before);
}

static void a_clock_far_from_the_build_date_refuses(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 4);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    const firn_worker before = *record(&scene, 0);
    scene.here.real_ns = YEAR_2000_MS * MS_NS;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_CLOCK_SKEW);
    assert_non_null(strstr(scene.error.text, "2000-01-01"));
    assert_non_null(strstr(scene.error.text, "built"));
    assert_int_equal(extend(&scene, &grant), FIRN_E_CLOCK_SKEW);
    assert_memory_equal(record(&scene, 0), &before, sizeof before);
    assert_null(record(&scene, 1));
    scene.here.real_ns = YEAR_2000_MS * MS_NS + 90 * YEAR_MS * MS_NS;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_CLOCK_SKEW);
    assert_null(record(&scene, 1));
}

static void most_marks_ahead_refuse_and_a_single_poisoned_one_does_not(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 16);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    }
    const int64_t far_ms = world_ms(&scene.here) + YEAR_MS / 2;
    record(&scene, 0)->mark_ms = far_ms;
    assert_int_equal(acquire(&scene, &grant), FIRN_OK); /* one of four */
    record(&scene, 1)->mark_ms = far_ms;
    assert_int_equal(acquire(&scene, &grant), FIRN_OK); /* two of five */
    record(&scene, 2)->mark_ms = far_ms;
    assert_int_equal(acquire(&scene, &grant), FIRN_OK); /* three of six are not most */
    record(&scene, 3)->mark_ms = far_ms;
    const uint32_t used = firn__mem_realm(scene.name)->workers_used;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_CLOCK_SKEW); /* four of seven */
    assert_non_null(strstr(scene.error.text, "4 of 7"));
    assert_int_equal(firn__mem_realm(scene.name)->workers_used, used);
    /* Marks as far ahead as the skew allows say nothing. */
    const int64_t allowed_ms = world_ms(&scene.here) + WINDOW_MS + SKEW_MAX_MS;
    for (uint32_t i = 0; i < 4; i++) {
        record(&scene, i)->mark_ms = allowed_ms;
    }
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
}

static void marks_years_ahead_are_poisoned_and_no_witnesses(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 16);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(acquire(&scene, &grant), FIRN_OK);
        record(&scene, i)->mark_ms = i == 3 ? INT64_MAX : world_ms(&scene.here) + 10 * YEAR_MS;
    }
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.record.worker, 4);
}

static void one_poisoned_mark_alone_in_a_realm_does_not_refuse(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 4);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    record(&scene, 0)->mark_ms = world_ms(&scene.here) + YEAR_MS / 2;
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.record.worker, 1);
}

static void a_mark_more_than_a_window_ahead_is_left_alone(void **state)
{
    struct scene scene;
    firn__grant grant;
    firn__grant other;
    (void)state;
    begin(&scene, 2);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    /* The clock goes back: this holder's mark is now far ahead. */
    scene.here.real_ns -= 5000 * MS_NS;
    const firn_worker before = *record(&scene, 0);
    assert_int_equal(extend(&scene, &grant), FIRN_OK);
    assert_memory_equal(record(&scene, 0), &before, sizeof before);
    assert_int_equal(grant.end_ms, before.mark_ms);
    /* A poisoned record is skipped by those who look for a worker, and never written. */
    assert_int_equal(acquire(&scene, &other), FIRN_OK);
    record(&scene, 0)->mark_ms += YEAR_MS;
    const firn_worker poisoned = *record(&scene, 0);
    world_pass(&scene.here, 2 * WINDOW_MS);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(acquire(&scene, &other), FIRN_OK);
        assert_int_equal(other.record.worker, 1);
        world_pass(&scene.here, WINDOW_MS + 1);
    }
    assert_memory_equal(record(&scene, 0), &poisoned, sizeof poisoned);
}

static void the_mark_stays_inside_the_layouts_life(void **state)
{
    struct scene scene;
    firn_layout layout;
    firn_fields fields;
    firn_realm realm = realm_with(4, 0);
    uint64_t id;
    (void)state;
    /* An epoch of today, so that the end is no further away than clocks are believed. */
    const int64_t epoch_ms = world_new(0).real_ns / MS_NS - 1000;
    const int64_t end_ms = epoch_ms + (INT64_C(1) << SHORT_TIME_BITS);
    (void)snprintf(realm.layout, sizeof realm.layout, "t%dw10s12@%" PRId64, SHORT_TIME_BITS,
                   epoch_ms);
    begin_with(&scene, &realm);
    scene.here.real_ns = (end_ms - 10) * MS_NS;
    firn *ids = open_handle(&scene);
    assert_int_equal(state_of(ids).window_end_ms, end_ms);
    assert_int_equal(record(&scene, 0)->mark_ms, end_ms);
    scene.here.real_ns = end_ms * MS_NS - 1; /* the last millisecond */
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    assert_int_equal(firn_layout_get(ids, &layout), FIRN_OK);
    assert_int_equal(firn_layout_decompose(&layout, id, &fields), FIRN_OK);
    assert_int_equal(fields.tick, (UINT64_C(1) << SHORT_TIME_BITS) - 1);
    scene.here.real_ns = end_ms * MS_NS;
    assert_int_equal(firn_next(ids, &id), FIRN_E_LAYOUT_END);
    assert_int_equal(firn_renew(ids), FIRN_E_LAYOUT_END);
    firn_close(ids);
    /* In the last millisecond a lease may still be taken, after it none. */
    firn__grant grant;
    scene.here.real_ns = end_ms * MS_NS - 1;
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.end_ms, end_ms);
    scene.here.real_ns = end_ms * MS_NS;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_LAYOUT_END);
    assert_int_equal(record(&scene, 0)->mark_ms, end_ms);
}

/* R8 */

static void stamping_goes_on_without_the_registry_until_the_window_ends(void **state)
{
    struct scene scene;
    uint64_t last = 0;
    uint64_t id;
    (void)state;
    begin(&scene, 4);
    firn *ids = open_handle(&scene);
    scene.faults->swap_status = FIRN_E_REGISTRY_IO;
    scene.faults->read_status = FIRN_E_REGISTRY_IO;
    for (int64_t i = 0; i < WINDOW_MS; i++) {
        assert_int_equal(firn_next(ids, &id), FIRN_OK);
        assert_true(id > last);
        last = id;
        world_pass(&scene.here, 1);
    }
    assert_int_equal(firn_next(ids, &id), FIRN_E_REGISTRY_IO);
    assert_int_equal(id, last); /* untouched */
    scene.faults->swap_status = FIRN_OK;
    scene.faults->read_status = FIRN_OK;
    world_pass(&scene.here, 10);
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    assert_true(id > last);
    firn_close(ids);
}

static void health_turns_before_the_ids_stop(void **state)
{
    struct scene scene;
    firn_state now;
    uint64_t id;
    (void)state;
    begin(&scene, 4);
    firn *ids = open_handle(&scene);
    assert_int_equal(state_of(ids).healthy, 1);
    scene.faults->swap_status = FIRN_E_REGISTRY_IO;
    world_pass(&scene.here, WINDOW_MS / 3);
    assert_int_equal(firn_renew(ids), FIRN_E_REGISTRY_IO);
    now = state_of(ids);
    assert_int_equal(now.healthy, 1); /* one failure, most of the window left */
    assert_int_equal(now.renewal_failures, 1);
    world_pass(&scene.here, WINDOW_MS / 3);
    now = state_of(ids);
    assert_int_equal(now.healthy, 0);
    assert_int_equal(now.reason, FIRN_E_REGISTRY_IO);
    assert_string_not_equal(now.text, "");
    assert_int_equal(now.leased, 1);
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    scene.faults->swap_status = FIRN_OK;
    assert_int_equal(firn_renew(ids), FIRN_OK);
    now = state_of(ids);
    assert_int_equal(now.healthy, 1);
    assert_int_equal(now.reason, FIRN_OK);
    assert_string_equal(now.text, "");
    firn_close(ids);
}

static void a_renewal_is_due_when_two_thirds_are_left(void **state)
{
    struct scene scene;
    firn_options options = firn_options_default();
    int64_t at_ms;
    (void)state;
    begin(&scene, 4);
    options.renewal = FIRN_RENEWAL_HOST;
    firn *ids = open_with(&scene, &options, FIRN_OK);
    assert_int_equal(firn_renew_at(ids, &at_ms), FIRN_OK);
    assert_int_equal(at_ms, state_of(ids).window_end_ms - WINDOW_MS * 2 / 3);
    firn_close(ids);
    options.window_ms = 300;
    ids = open_with(&scene, &options, FIRN_OK);
    assert_int_equal(firn_renew_at(ids, &at_ms), FIRN_OK);
    assert_int_equal(at_ms, state_of(ids).window_end_ms - 200);
    firn_close(ids);
}

static void the_next_id_after_a_lapse_renews_first(void **state)
{
    struct scene scene;
    uint64_t first;
    uint64_t id;
    (void)state;
    begin(&scene, 4);
    firn *ids = open_handle(&scene);
    const uint32_t worker = worker_of(ids);
    assert_int_equal(firn_next(ids, &first), FIRN_OK);
    world_pass(&scene.here, 100 * WINDOW_MS);
    assert_true(state_of(ids).window_left_ms < 0);
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    assert_true(id > first);
    assert_int_equal(worker_of(ids), worker); /* nobody wanted it meanwhile */
    assert_int_equal(record(&scene, worker)->mark_ms, world_ms(&scene.here) + WINDOW_MS);
    assert_int_equal(state_of(ids).renewals, 2);
    firn_close(ids);
}

static void a_failing_registry_is_not_stormed(void **state)
{
    struct scene scene;
    uint64_t id;
    (void)state;
    begin(&scene, 4);
    firn *ids = open_handle(&scene);
    scene.faults->swap_status = FIRN_E_REGISTRY_IO;
    world_pass(&scene.here, WINDOW_MS);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(firn_next(ids, &id), FIRN_E_REGISTRY_IO);
    }
    assert_int_equal(state_of(ids).renewal_failures, 1);
    firn_close(ids);
}

/* R9 */

static void a_change_of_identity_refuses_until_adopted(void **state)
{
    struct scene scene;
    firn__grant grant;
    firn__grant other;
    (void)state;
    begin(&scene, 4);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    scene.faults->identity = "a restored store";
    assert_int_equal(acquire(&scene, &other), FIRN_E_REGISTRY_MOVED);
    assert_non_null(strstr(scene.error.text, "a restored store"));
    assert_non_null(strstr(scene.error.text, "adopt"));
    assert_int_equal(firn__mem_realm(scene.name)->workers_used, 1);
    const int64_t now_ms = world_ms(&scene.here);
    assert_int_equal(scene.holder.backend->adopt(scene.holder.store, now_ms + 2 * WINDOW_MS,
                                                 2 * WINDOW_MS, "a test", &scene.error),
                     FIRN_OK);
    assert_int_equal(record(&scene, 0)->mark_ms, grant.end_ms + 2 * WINDOW_MS);
    /* Nobody gets a worker until what may have been lost is over, with or without a record. */
    assert_int_equal(acquire(&scene, &other), FIRN_E_WORKERS_BUSY);
    world_pass(&scene.here, 2 * WINDOW_MS + 1);
    assert_int_equal(acquire(&scene, &other), FIRN_OK);
    assert_int_equal(other.record.worker, 1);
    /* Who held a worker before the adoption has lost it. */
    world_pass(&scene.here, 1);
    assert_int_equal(extend(&scene, &grant), FIRN_E_CONFLICT);
}

static void a_change_of_identity_refuses_renewals_too(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 4);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    const firn_worker before = *record(&scene, 0);
    scene.faults->identity = "a restored store";
    world_pass(&scene.here, WINDOW_MS / 2);
    assert_true(extend(&scene, &grant) < 0);
    assert_memory_equal(record(&scene, 0), &before, sizeof before);
}

static void an_adoption_covers_lost_records_of_workers_chosen_by_number(void **state)
{
    struct scene scene;
    firn__grant live;
    firn__grant taken;
    (void)state;
    begin(&scene, 1024);
    assert_int_equal(acquire(&scene, &live), FIRN_OK); /* worker 0 */
    scene.holder.worker = 500;
    assert_int_equal(acquire(&scene, &live), FIRN_OK);
    assert_int_equal(live.record.worker, 500);
    firn__mem_forget(scene.name, 500);
    const int64_t floor_ms = world_ms(&scene.here) + 2 * WINDOW_MS;
    assert_int_equal(scene.holder.backend->adopt(scene.holder.store, floor_ms, 2 * WINDOW_MS,
                                                 "a test", &scene.error),
                     FIRN_OK);
    /* The old holder may stamp until live.end_ms: nobody else may before. */
    const int status = acquire(&scene, &taken);
    assert_true(status == FIRN_E_WORKER_HELD ||
                (status == FIRN_OK && taken.start_ms >= live.end_ms));
}

static void another_realm_at_the_same_place_is_refused(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 4);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    firn__mem_realm(scene.name)->uuid[0] ^= 1;
    assert_int_equal(acquire(&scene, &grant), FIRN_E_REGISTRY_MOVED);
    assert_int_equal(extend(&scene, &grant), FIRN_OK); /* the mark was far enough: nothing asked */
    world_pass(&scene.here, 1);
    assert_int_equal(extend(&scene, &grant), FIRN_E_CONFLICT);
}

static void a_damaged_layout_in_the_realm_refuses(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 4);
    memcpy(firn__mem_realm(scene.name)->layout, "nonsense", sizeof "nonsense");
    assert_int_equal(acquire(&scene, &grant), FIRN_E_REGISTRY_CORRUPT);
    assert_non_null(strstr(scene.error.text, "nonsense"));
}

static void a_realm_that_got_another_layout_stops_its_holders(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 4);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    memcpy(firn__mem_realm(scene.name)->layout, "t41w12s10@2025-01-01",
           sizeof "t41w12s10@2025-01-01");
    world_pass(&scene.here, WINDOW_MS / 2);
    assert_int_equal(extend(&scene, &grant), FIRN_E_CONFLICT);
    assert_int_equal(acquire(&scene, &grant), FIRN_E_REALM_LAYOUT);
    assert_non_null(strstr(scene.error.text, "t41w12s10@2025-01-01"));
}

/* R11 */

static void a_store_that_cannot_say_no_is_caught(void **state)
{
    struct scene scene;
    firn_options options = firn_options_default();
    (void)state;
    begin(&scene, 4);
    assert_int_equal(firn__holder_probe(&scene.holder, &scene.error), FIRN_OK);
    scene.faults->accepts_all = true;
    assert_int_equal(firn__holder_probe(&scene.holder, &scene.error), FIRN_E_REGISTRY_UNSAFE);
    assert_null(open_with(&scene, &options, FIRN_E_REGISTRY_UNSAFE));
    assert_int_equal(scene.error.status, FIRN_E_REGISTRY_UNSAFE);
}

/* Which worker, and when. */

static void grace_is_honoured_to_the_millisecond(void **state)
{
    struct scene scene;
    firn__grant first;
    firn__grant grant;
    const firn_realm realm = realm_with(1, 5000);
    (void)state;
    begin_with(&scene, &realm);
    assert_int_equal(acquire(&scene, &first), FIRN_OK);
    world_pass(&scene.here, WINDOW_MS + 5000); /* mark + grace == now: not yet */
    assert_int_equal(acquire(&scene, &grant), FIRN_E_WORKERS_BUSY);
    assert_int_equal(scene.holder.retry_ms, first.end_ms + 5000);
    world_pass(&scene.here, 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.start_ms, first.end_ms);
}

static void all_workers_busy_says_when_one_is_free(void **state)
{
    struct scene scene;
    firn__grant grants[3];
    (void)state;
    begin(&scene, 2);
    assert_int_equal(acquire(&scene, &grants[0]), FIRN_OK);
    world_pass(&scene.here, 1000);
    assert_int_equal(acquire(&scene, &grants[1]), FIRN_OK);
    world_pass(&scene.here, 500);
    assert_int_equal(acquire(&scene, &grants[2]), FIRN_E_WORKERS_BUSY);
    assert_int_equal(scene.holder.retry_ms, grants[0].end_ms);
    assert_non_null(strstr(scene.error.text, "all 2 workers"));
    world_pass(&scene.here, scene.holder.retry_ms - world_ms(&scene.here) + 1);
    assert_int_equal(acquire(&scene, &grants[2]), FIRN_OK);
    assert_int_equal(grants[2].record.worker, grants[0].record.worker);
    assert_int_equal(grants[2].start_ms, grants[0].end_ms);
}

static void a_handle_opens_without_a_lease_and_gets_one_when_one_is_free(void **state)
{
    struct scene scene;
    firn_options options = firn_options_default();
    firn__grant grant;
    uint64_t id = 77;
    (void)state;
    begin(&scene, 1);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    firn *ids = open_with(&scene, &options, FIRN_R_NO_LEASE);
    firn_state now = state_of(ids);
    assert_int_equal(now.leased, 0);
    assert_int_equal(now.healthy, 0);
    assert_int_equal(now.reason, FIRN_E_WORKERS_BUSY);
    assert_int_equal(firn_next(ids, &id), FIRN_E_WORKERS_BUSY);
    assert_int_equal(firn_wait(ids, 100 * MS_NS, &id), FIRN_E_DEADLINE);
    assert_int_equal(id, 77);
    assert_int_equal(firn_wait(ids, DEADLINE_NS, &id), FIRN_OK);
    assert_true(world_ms(&scene.here) > grant.end_ms);
    assert_int_equal(worker_of(ids), 0);
    assert_int_equal(state_of(ids).healthy, 1);
    firn_close(ids);
}

static void a_worker_by_number_is_held_or_free_as_any_other(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, 8);
    scene.holder.worker = 5;
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.record.worker, 5);
    firn__holder second = new_holder(&scene);
    firn__grant other;
    second.worker = 5;
    assert_int_equal(firn__lease_acquire(&second, 0, &other, &scene.error), FIRN_E_WORKER_HELD);
    assert_int_equal(second.retry_ms, grant.end_ms);
    assert_non_null(strstr(scene.error.text, "worker 5 is held by 'a test'"));
    assert_int_equal(firn__lease_release(&scene.holder, &grant, &scene.error), FIRN_OK);
    assert_int_equal(firn__lease_acquire(&second, 0, &other, &scene.error), FIRN_E_WORKER_HELD);
    assert_non_null(strstr(scene.error.text, "released"));
    world_pass(&scene.here, WINDOW_MS + 1);
    assert_int_equal(firn__lease_acquire(&second, 0, &other, &scene.error), FIRN_OK);
    assert_int_equal(other.start_ms, grant.end_ms);
    assert_int_equal(extend(&scene, &grant), FIRN_E_CONFLICT);
    second.worker = 1024;
    assert_int_equal(firn__lease_acquire(&second, 0, &other, &scene.error), FIRN_E_FIELD_RANGE);
}

static void only_workers_of_the_realms_range_are_given(void **state)
{
    struct scene scene;
    firn_realm realm = realm_with(1, 0);
    firn__grant grant;
    (void)state;
    realm.worker_first = 100;
    realm.worker_last = 101;
    begin_with(&scene, &realm);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.record.worker, 100);
    assert_int_equal(acquire(&scene, &grant), FIRN_OK);
    assert_int_equal(grant.record.worker, 101);
    assert_int_equal(acquire(&scene, &grant), FIRN_E_WORKERS_BUSY);
}

static const struct bad_realm {
    const char *name;
    int64_t window_ms;
    int64_t grace_ms;
    int64_t skew_max_ms;
    uint32_t first;
    uint32_t last;
    const char *layout;
    int status;
} bad_realms[] = {
    {"a negative window", -1, 0, 0, 0, 1023, "", FIRN_E_ARGUMENT},
    {"a window above an hour", 3600001, 0, 0, 0, 1023, "", FIRN_E_ARGUMENT},
    {"a window below two ticks", 1999, 0, 0, 0, 1023, SECOND_TICKS, FIRN_E_ARGUMENT},
    {"a grace of -2", 0, -2, 0, 0, 1023, "", FIRN_E_ARGUMENT},
    {"a grace above 30 days", 0, INT64_C(2592000001), 0, 0, 1023, "", FIRN_E_ARGUMENT},
    {"a negative skew", 0, 0, -1, 0, 1023, "", FIRN_E_ARGUMENT},
    {"a skew above 30 days", 0, 0, INT64_C(2592000001), 0, 1023, "", FIRN_E_ARGUMENT},
    {"an empty range of workers", 0, 0, 0, 8, 7, "", FIRN_E_ARGUMENT},
    {"a range beyond the layout", 0, 0, 0, 0, 1024, "", FIRN_E_ARGUMENT},
    {"a layout that is no layout", 0, 0, 0, 0, 1023, "w10t41", FIRN_E_LAYOUT_SYNTAX},
    {"a layout of 72 bits", 0, 0, 0, 0, 1023, "t50w10s12", FIRN_E_LAYOUT_BITS},
    {"an epoch after now", 0, 0, 0, 0, 1023, "t41w10s12@2150-01-01", FIRN_E_LAYOUT_EPOCH},
    {"a layout to read only", 0, 0, 0, 0, 1023, "t41x22@2025-01-01", FIRN_E_LAYOUT_DECODE},
    {"a life that is over", 0, 0, 0, 0, 1023, "t30w10s12@1990-01-01", FIRN_E_LAYOUT_LIFE},
};

static void refuses_to_make_a_realm_that_cannot_work(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, 4);
    for (size_t i = 0; i < sizeof bad_realms / sizeof bad_realms[0]; i++) {
        const struct bad_realm *bad = &bad_realms[i];
        firn_realm realm = firn_realm_default();
        realm.window_ms = bad->window_ms;
        realm.grace_ms = bad->grace_ms;
        realm.skew_max_ms = bad->skew_max_ms;
        realm.worker_first = bad->first;
        realm.worker_last = bad->last;
        (void)snprintf(realm.layout, sizeof realm.layout, "%s", bad->layout);
        print_message("%s\n", bad->name);
        scene.error.text[0] = '\0';
        assert_int_equal(firn__holder_create(&scene.holder, &realm, &scene.error), bad->status);
        assert_string_not_equal(scene.error.text, "");
    }
}

static void crash_cycles_never_exhaust_the_workers(void **state)
{
    struct scene scene;
    firn__grant grant;
    (void)state;
    begin(&scene, CRASH_WORKERS);
    int64_t *ends = calloc(CRASH_WORKERS, sizeof *ends);
    assert_non_null(ends);
    /* A crash frees its worker after one window; so at most 1,024 crashes a window can go on for
     * ever. Every process is killed at once, and the next takes its place 3 ms later. */
    for (int cycle = 0; cycle < CRASH_CYCLES; cycle++) {
        firn__holder holder = new_holder(&scene);
        assert_int_equal(firn__lease_acquire(&holder, 0, &grant, &scene.error), FIRN_OK);
        const uint32_t worker = grant.record.worker;
        assert_true(worker < CRASH_WORKERS);
        assert_int_equal(grant.start_ms, ends[worker]);
        ends[worker] = grant.end_ms;
        world_pass(&scene.here, 3);
    }
    assert_true(firn__mem_realm(scene.name)->workers_used <= CRASH_WORKERS);
    free(ends);
}

/* What every window ever granted must satisfy, whatever the clocks did. */
struct history {
    int64_t ends[RANDOM_WORKERS];
    uint64_t grants;
    uint64_t refusals;
};

static void note_grant(struct history *history, const struct scene *scene, const firn__grant *grant,
                       int64_t own_end_ms)
{
    int64_t *end_ms = &history->ends[grant->record.worker];
    if (own_end_ms == grant->end_ms) {
        return; /* it reached far enough, and nothing was granted */
    }
    /* A new window starts where the last one of that worker ended; a renewed one is its own. */
    assert_true(own_end_ms >= 0 ? own_end_ms == *end_ms : grant->start_ms >= *end_ms);
    assert_true(grant->end_ms >= *end_ms);
    assert_true(record(scene, grant->record.worker)->mark_ms >= grant->end_ms);
    *end_ms = grant->end_ms;
    history->grants++;
}

/* One thing that happens in a realm; holder and grant are of one process. */
static void random_event(struct scene *scene, struct history *history, firn__holder *holder,
                         firn__grant *grant, uint64_t *dice)
{
    int status = FIRN_OK;
    const int64_t own_end_ms = grant->end_ms;
    switch (random_next(dice) % 8) {
    case 0: /* a crash, and a new process */
        *holder = new_holder(scene);
        grant->end_ms = -1;
        break;
    case 1: /* a step of the clock, by up to two windows either way */
        scene->here.real_ns += ((int64_t)(random_next(dice) % 12001) - 6000) * MS_NS;
        break;
    case 2: /* a reply that is lost, after the write or before it */
        scene->faults->swap_status = FIRN_E_REGISTRY_IO;
        scene->faults->swap_applies = random_next(dice) % 2 == 0;
        break;
    case 3:
        if (own_end_ms >= 0 && firn__lease_release(holder, grant, NULL) == FIRN_OK) {
            grant->end_ms = -1;
        }
        break;
    default:
        world_pass(&scene->here, (int64_t)(random_next(dice) % 1500));
        status = own_end_ms < 0 ? firn__lease_acquire(holder, 0, grant, NULL)
                                : firn__lease_extend(holder, grant, 0, grant->end_ms - 1, NULL);
        if (status == FIRN_OK) {
            note_grant(history, scene, grant, own_end_ms);
        } else {
            history->refusals++;
            grant->end_ms = status == FIRN_E_CONFLICT ? -1 : own_end_ms;
        }
        scene->faults->swap_status = FIRN_OK;
    }
}

static void windows_of_one_worker_never_overlap(void **state)
{
    struct scene scene;
    struct history history = {.grants = 0};
    firn__holder holders[RANDOM_HOLDERS];
    firn__grant grants[RANDOM_HOLDERS];
    uint64_t dice = random_seed("windows_of_one_worker_never_overlap");
    (void)state;
    begin(&scene, RANDOM_WORKERS);
    scene.here.real_ns += YEAR_MS * MS_NS; /* so that no step back reaches the build date */
    for (int i = 0; i < RANDOM_HOLDERS; i++) {
        holders[i] = new_holder(&scene);
        grants[i] = (firn__grant){.end_ms = -1};
    }
    for (int i = 0; i < RANDOM_STEPS; i++) {
        const size_t who = (size_t)(random_next(&dice) % RANDOM_HOLDERS);
        random_event(&scene, &history, &holders[who], &grants[who], &dice);
    }
    print_message("%" PRIu64 " windows, %" PRIu64 " refusals\n", history.grants, history.refusals);
    assert_true(history.grants > RANDOM_STEPS / 20);
    assert_true(history.refusals > RANDOM_STEPS / 100);
}

/* The clock under a handle. */

static void a_clock_that_goes_back_is_handled_as_the_options_say(void **state)
{
    static const struct {
        int32_t policy;
        int64_t back_ms;
        int status;
    } rows[] = {
        {FIRN_BACK_CONTINUE, 3, FIRN_OK},         {FIRN_BACK_CONTINUE, 11, FIRN_E_CLOCK_BACK},
        {FIRN_BACK_WAIT, 3, FIRN_E_CLOCK_WAIT},   {FIRN_BACK_WAIT, 11, FIRN_E_CLOCK_BACK},
        {FIRN_BACK_REFUSE, 3, FIRN_E_CLOCK_BACK},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        firn_options options = firn_options_default();
        uint64_t first;
        uint64_t id = 0;
        begin(&scene, 1);
        options.on_clock_back = rows[i].policy;
        firn *ids = open_with(&scene, &options, FIRN_OK);
        world_pass(&scene.here, 100);
        assert_int_equal(firn_next(ids, &first), FIRN_OK);
        scene.here.real_ns -= rows[i].back_ms * MS_NS;
        assert_int_equal(firn_next(ids, &id), rows[i].status);
        assert_true(rows[i].status == FIRN_OK ? id > first : id == 0);
        assert_int_equal(state_of(ids).statistics.back_count, 1);
        if (rows[i].status != FIRN_E_CLOCK_BACK) {
            assert_int_equal(firn_wait(ids, DEADLINE_NS, &id), FIRN_OK);
            assert_true(id > first);
        }
        firn_close(ids);
    }
}

static void a_clock_before_the_epoch_is_said(void **state)
{
    struct scene scene;
    uint64_t id;
    (void)state;
    begin(&scene, 1);
    firn *ids = open_handle(&scene);
    assert_int_equal(firn_next(ids, &id), FIRN_OK);
    scene.here.real_ns = (EPOCH_MS - 1) * MS_NS;
    assert_int_equal(firn_next(ids, &id), FIRN_E_CLOCK_EPOCH);
    firn_close(ids);
}

static void a_full_tick_is_said_and_can_be_waited_out(void **state)
{
    struct scene scene;
    uint64_t last = 0;
    uint64_t id;
    (void)state;
    begin(&scene, 1);
    firn *ids = open_handle(&scene);
    for (int i = 0; i < 4096; i++) {
        assert_int_equal(firn_next(ids, &id), FIRN_OK);
        assert_true(id > last);
        last = id;
    }
    assert_int_equal(firn_next(ids, &id), FIRN_E_SEQUENCE_FULL);
    assert_int_equal(firn_wait(ids, 0, &id), FIRN_E_DEADLINE);
    assert_int_equal(firn_wait(ids, DEADLINE_NS, &id), FIRN_OK);
    assert_true(id > last);
    assert_int_equal(state_of(ids).statistics.full_ticks, 1);
    firn_close(ids);
}

static void a_failing_random_source_refuses(void **state)
{
    struct scene scene;
    firn_options options = firn_options_default();
    firn__grant grant;
    (void)state;
    begin(&scene, 4);
    scene.here.random_status = FIRN_E_RANDOM;
    assert_null(open_with(&scene, &options, FIRN_E_RANDOM));
    assert_int_equal(acquire(&scene, &grant), FIRN_E_RANDOM);
    assert_null(record(&scene, 0));
}

static void a_handle_that_loses_every_lease_gives_up(void **state)
{
    struct scene scene;
    int status = FIRN_OK;
    int losses = 0;
    (void)state;
    begin(&scene, 1024);
    firn *ids = open_handle(&scene);
    while (status == FIRN_OK && losses <= FIRN__LEASES_MAX) {
        change_record(&scene, worker_of(ids));
        world_pass(&scene.here, WINDOW_MS / 2);
        status = firn_renew(ids);
        losses += status == FIRN_OK;
    }
    assert_int_equal(status, FIRN_E_LEASES);
    assert_int_equal(losses, FIRN__LEASES_MAX - 1);
    firn_close(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_starts_at_the_mark_that_its_own_swap_compared),
        cmocka_unit_test(gives_up_after_losing_every_race),
        cmocka_unit_test(a_lost_reply_is_never_adopted_and_its_range_is_burned),
        cmocka_unit_test(a_renewal_with_a_lost_reply_leaves_the_window_as_it_was),
        cmocka_unit_test(a_handle_survives_a_lost_reply_on_another_worker),
        cmocka_unit_test(the_mark_is_a_window_after_the_clock_or_the_last_stamp),
        cmocka_unit_test(closing_keeps_the_mark_and_says_released),
        cmocka_unit_test(a_short_window_makes_a_worker_free_soon),
        cmocka_unit_test(no_window_is_longer_than_the_realms),
        cmocka_unit_test(a_lost_lease_is_a_new_object_and_the_old_one_is_dead),
        cmocka_unit_test(the_tick_that_is_checked_is_the_tick_that_is_stamped),
        cmocka_unit_test(a_missing_record_refuses),
        cmocka_unit_test(a_new_worker_is_counted_as_it_is_added),
        cmocka_unit_test(a_changed_record_stops_a_live_holder_at_once),
        cmocka_unit_test(a_worker_that_lapsed_and_was_taken_is_no_conflict),
        cmocka_unit_test(a_worker_asked_for_by_number_says_that_it_was_taken),
        cmocka_unit_test(clock_skew_refuses_before_a_mark_is_written),
        cmocka_unit_test(a_clock_far_from_the_build_date_refuses),
        cmocka_unit_test(most_marks_ahead_refuse_and_a_single_poisoned_one_does_not),
        cmocka_unit_test(marks_years_ahead_are_poisoned_and_no_witnesses),
        cmocka_unit_test(one_poisoned_mark_alone_in_a_realm_does_not_refuse),
        cmocka_unit_test(a_mark_more_than_a_window_ahead_is_left_alone),
        cmocka_unit_test(the_mark_stays_inside_the_layouts_life),
        cmocka_unit_test(stamping_goes_on_without_the_registry_until_the_window_ends),
        cmocka_unit_test(health_turns_before_the_ids_stop),
        cmocka_unit_test(a_renewal_is_due_when_two_thirds_are_left),
        cmocka_unit_test(the_next_id_after_a_lapse_renews_first),
        cmocka_unit_test(a_failing_registry_is_not_stormed),
        cmocka_unit_test(a_change_of_identity_refuses_until_adopted),
        cmocka_unit_test(a_change_of_identity_refuses_renewals_too),
        cmocka_unit_test(an_adoption_covers_lost_records_of_workers_chosen_by_number),
        cmocka_unit_test(another_realm_at_the_same_place_is_refused),
        cmocka_unit_test(a_damaged_layout_in_the_realm_refuses),
        cmocka_unit_test(a_realm_that_got_another_layout_stops_its_holders),
        cmocka_unit_test(a_store_that_cannot_say_no_is_caught),
        cmocka_unit_test(grace_is_honoured_to_the_millisecond),
        cmocka_unit_test(all_workers_busy_says_when_one_is_free),
        cmocka_unit_test(a_handle_opens_without_a_lease_and_gets_one_when_one_is_free),
        cmocka_unit_test(a_worker_by_number_is_held_or_free_as_any_other),
        cmocka_unit_test(only_workers_of_the_realms_range_are_given),
        cmocka_unit_test(refuses_to_make_a_realm_that_cannot_work),
        cmocka_unit_test(crash_cycles_never_exhaust_the_workers),
        cmocka_unit_test(windows_of_one_worker_never_overlap),
        cmocka_unit_test(a_clock_that_goes_back_is_handled_as_the_options_say),
        cmocka_unit_test(a_clock_before_the_epoch_is_said),
        cmocka_unit_test(a_full_tick_is_said_and_can_be_waited_out),
        cmocka_unit_test(a_failing_random_source_refuses),
        cmocka_unit_test(a_handle_that_loses_every_lease_gives_up),
    };
    return cmocka_run_group_tests_name("registry: leases", tests, NULL, NULL);
}
