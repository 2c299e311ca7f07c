/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The handle of firn/firn.h as its users have it: on a SQLite file, under the real clock, with
 * threads. The lease policy is test_lease.c's, what becomes of a handle in a fork test_fork.c's. */
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "firn/firn.h"
#include "world.h"

#if !FIRN_WITH_SQLITE

int main(void)
{
    (void)puts("this build has no SQLite registry: nothing to test");
    return 0;
}

#else

#include <sqlite3.h>

#define PATH_SIZE      (2 * WORLD_PATHS)
#define URL_SIZE       (PATH_SIZE + 32)
#define SHORT_MS       INT64_C(200) /* a window that passes while one looks on */
#define PATIENCE_NS    INT64_C(20000000000)
#define SECOND_NS      INT64_C(1000000000)
#define THREADS        4
#define THREAD_IDS     (WORLD_ASAN || WORLD_TSAN ? 20000 : 100000)
#define MANY           10000
#define HANDLES        16
#define HANDLE_MAX     65536
#define GENERATOR_MAX  256
#define SLOW_LAYOUT    "t33w10s12/1s@2025-01-01"
#define SCARCE_LAYOUT  "t33w10s1/1s@2025-01-01"
#define UNTOUCHED      UINT64_C(0x5555555555555555)
#define VMCLOCK_MAGIC  0x4b4c4356
#define VMCLOCK_SIZE   4096
#define LAST_NOTE_SIZE 63

static char folder[WORLD_PATHS];

/* A registry that no test has used, and how it is opened. */
struct place {
    char path[PATH_SIZE];
    char url[URL_SIZE];
    firn_options options;
    firn_error error;
};

static void begin(struct place *place)
{
    static unsigned number;
    memset(place, 0, sizeof *place);
    (void)snprintf(place->path, sizeof place->path, "%s/handle-%u.db", folder, number++);
    (void)snprintf(place->url, sizeof place->url, "sqlite:%s", place->path);
    place->options = firn_options_default();
    place->options.create = 1;
    place->options.timeout_ms = 20000;
    place->options.vmclock_path = NULL;
    place->options.error_out = &place->error;
}

/* The same, with a realm that has this window. */
static void begin_with_window(struct place *place, int64_t window_ms, const char *layout)
{
    firn_registry *registry;
    firn_realm realm = firn_realm_default();
    begin(place);
    realm.window_ms = window_ms;
    if (layout != NULL) {
        (void)snprintf(realm.layout, sizeof realm.layout, "%s", layout);
    }
    assert_int_equal(firn_registry_open(place->url, 20000, &registry, &place->error), FIRN_OK);
    assert_int_equal(firn_registry_create(registry, &realm, &place->error), FIRN_OK);
    firn_registry_close(registry);
}

static firn *open_as(struct place *place, int expected)
{
    firn *ids = NULL;
    const int status = firn_open(place->url, &place->options, &ids);
    if (status != expected) {
        print_message("%s: %s\n", firn_status_name(status), place->error.text);
    }
    assert_int_equal(status, expected);
    assert_true((status < 0) == (ids == NULL));
    return ids;
}

static firn *open_place(struct place *place)
{
    return open_as(place, FIRN_OK);
}

static firn_state state_of(firn *ids)
{
    firn_state state;
    assert_int_equal(firn_state_get(ids, &state), FIRN_OK);
    return state;
}

static uint64_t one_id(firn *ids)
{
    uint64_t id;
    assert_int_equal(firn_wait(ids, PATIENCE_NS, &id), FIRN_OK);
    return id;
}

static firn_fields fields_of(firn *ids, uint64_t id)
{
    firn_layout layout;
    firn_fields fields;
    assert_int_equal(firn_layout_get(ids, &layout), FIRN_OK);
    assert_int_equal(firn_layout_decompose(&layout, id, &fields), FIRN_OK);
    return fields;
}

static int64_t now_ms(void)
{
    return firn__clock_real_ns() / MS_NS;
}

/* Looks again and again until something is so; false when it never is. */
static bool becomes(bool (*is_so)(firn *ids), firn *ids)
{
    const int64_t end_ns = firn__clock_monotonic_ns() + PATIENCE_NS;
    while (!is_so(ids)) {
        if (firn__clock_monotonic_ns() > end_ns) {
            return false;
        }
        firn__clock_sleep(MS_NS);
    }
    return true;
}

static bool has_lapsed(firn *ids)
{
    return state_of(ids).window_left_ms < 0;
}

/* Opening. */

static void refuses_null(void **state)
{
    struct place place;
    firn *ids = NULL;
    uint64_t id = UNTOUCHED;
    uint64_t many[2];
    size_t made;
    int64_t at_ms;
    firn_run run = {.generator = NULL};
    firn_state now;
    firn_layout layout;
    (void)state;
    begin(&place);
    assert_int_equal(firn_open(NULL, &place.options, &ids), FIRN_E_ARGUMENT);
    assert_int_equal(place.error.status, FIRN_E_ARGUMENT);
    assert_int_equal(firn_open(place.url, &place.options, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_open(NULL, NULL, NULL), FIRN_E_ARGUMENT);
    ids = open_place(&place);
    assert_int_equal(firn_next(NULL, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next(ids, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next_many(NULL, many, 2, &made), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next_many(ids, NULL, 2, &made), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next_many(ids, many, 2, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next_after(NULL, 1, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next_after(ids, 1, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next_run(NULL, &run, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next_run(ids, NULL, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_next_run(ids, &run, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_wait(NULL, 0, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_wait(ids, 0, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_wait_many(NULL, 0, many, 2, &made), FIRN_E_ARGUMENT);
    assert_int_equal(firn_wait_many(ids, 0, NULL, 2, &made), FIRN_E_ARGUMENT);
    assert_int_equal(firn_wait_many(ids, 0, many, 2, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_renew(NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_renew_at(NULL, &at_ms), FIRN_E_ARGUMENT);
    assert_int_equal(firn_renew_at(ids, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_quiesce(NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_resume(NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_state_get(NULL, &now), FIRN_E_ARGUMENT);
    assert_int_equal(firn_state_get(ids, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_get(NULL, &layout), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_get(ids, NULL), FIRN_E_ARGUMENT);
    assert_true(id == UNTOUCHED);
    firn_close(ids);
    firn_close(NULL);
}

static const char long_note[] = "0123456789012345678901234567890123456789012345678901234567890123";

static void set_window_low(firn_options *options)
{
    options->window_ms = -1;
}
static void set_window_high(firn_options *options)
{
    options->window_ms = 3600001;
}
static void set_timeout_low(firn_options *options)
{
    options->timeout_ms = 0;
}
static void set_timeout_high(firn_options *options)
{
    options->timeout_ms = 3600001;
}
static void set_back_low(firn_options *options)
{
    options->back_max_ms = -1;
}
static void set_back_high(firn_options *options)
{
    options->back_max_ms = INT64_MAX;
}
static void set_after_low(firn_options *options)
{
    options->after_max_ms = -1;
}
static void set_after_high(firn_options *options)
{
    options->after_max_ms = 3600001;
}
static void set_policy(firn_options *options)
{
    options->on_clock_back = 3;
}
static void set_start(firn_options *options)
{
    options->sequence_start = -1;
}
static void set_clock(firn_options *options)
{
    options->clock = 2;
}
static void set_renewal(firn_options *options)
{
    options->renewal = 3;
}
static void set_renewal_low(firn_options *options)
{
    options->renewal = -1;
}
static void set_worker_low(firn_options *options)
{
    options->worker = -2;
}
static void set_worker_high(firn_options *options)
{
    options->worker = INT64_C(1) << 32;
}
static void set_grace_low(firn_options *options)
{
    options->grace_ms = -2;
}
static void set_note(firn_options *options)
{
    options->note = long_note;
}
static void set_size_zero(firn_options *options)
{
    options->size = 0;
}
static void set_size_small(firn_options *options)
{
    options->size = sizeof options->size - 1;
}
static void set_size_large(firn_options *options)
{
    options->size = sizeof *options + 8;
}

static const struct bad_option {
    const char *name;
    void (*set)(firn_options *options);
} bad_options[] = {
    {"window_ms -1", set_window_low},
    {"window_ms above an hour", set_window_high},
    {"timeout_ms 0", set_timeout_low},
    {"timeout_ms above an hour", set_timeout_high},
    {"back_max_ms -1", set_back_low},
    {"back_max_ms beyond nanoseconds", set_back_high},
    {"after_max_ms -1", set_after_low},
    {"after_max_ms above an hour", set_after_high},
    {"on_clock_back 3", set_policy},
    {"sequence_start -1", set_start},
    {"clock 2", set_clock},
    {"renewal 3", set_renewal},
    {"renewal -1", set_renewal_low},
    {"worker -2", set_worker_low},
    {"worker 2^32", set_worker_high},
    {"grace_ms -2", set_grace_low},
    {"a note of 64 bytes", set_note},
    {"size 0", set_size_zero},
    {"size below its own", set_size_small},
    {"size of a later header", set_size_large},
};

static void refuses_options_out_of_range(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_options / sizeof bad_options[0]; i++) {
        struct place place;
        firn *ids = NULL;
        begin(&place);
        bad_options[i].set(&place.options);
        print_message("%s\n", bad_options[i].name);
        assert_int_equal(firn_open(place.url, &place.options, &ids), FIRN_E_ARGUMENT);
        assert_null(ids);
        if (place.options.size >= sizeof place.options) {
            assert_int_equal(place.error.status, FIRN_E_ARGUMENT);
            assert_string_not_equal(place.error.text, "");
        }
    }
}

static void members_that_an_older_caller_lacks_have_their_defaults(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    place.options.size = offsetof(firn_options, worker);
    place.options.worker = 77; /* beyond what the caller has */
    place.options.grace_ms = -77;
    firn *ids = open_place(&place);
    assert_int_equal(state_of(ids).worker, 0);
    (void)one_id(ids);
    firn_close(ids);
}

static void no_options_are_the_defaults(void **state)
{
    struct place place;
    firn *ids = NULL;
    (void)state;
    begin(&place);
    assert_int_equal(firn_open(place.url, NULL, &ids), FIRN_E_REGISTRY_MISSING);
    assert_null(ids);
    firn_close(open_place(&place));
    assert_int_equal(firn_open(place.url, NULL, &ids), FIRN_OK);
    (void)one_id(ids);
    firn_close(ids);
}

static void another_layout_is_refused_and_both_are_named(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    firn_close(open_place(&place));
    place.options.layout = "t42w10s11@2025-01-01";
    (void)open_as(&place, FIRN_E_REALM_LAYOUT);
    assert_non_null(strstr(place.error.text, "t42w10s11@2025-01-01"));
    assert_non_null(strstr(place.error.text, FIRN_LAYOUT_DEFAULT));
    /* The same layout in other words is the same. */
    place.options.layout = "t41w10s12/1ms@1735689600000";
    firn_close(open_place(&place));
}

static void refuses_a_layout_that_cannot_be_generated(void **state)
{
    static const struct {
        const char *layout;
        int status;
    } rows[] = {
        {"w10t41", FIRN_E_LAYOUT_SYNTAX},
        {"t50w10s12", FIRN_E_LAYOUT_BITS},
        {"t41w10s12/3ms@2025-01-01", FIRN_E_LAYOUT_TICK},
        {"t41w10s12@2150-01-01", FIRN_E_LAYOUT_EPOCH},
        {"t30w10s12@1990-01-01", FIRN_E_LAYOUT_LIFE},
        {"t41x22@2025-01-01", FIRN_E_LAYOUT_DECODE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct place place;
        begin(&place);
        place.options.layout = rows[i].layout;
        (void)open_as(&place, rows[i].status);
        assert_int_equal(place.error.status, rows[i].status);
        assert_int_equal(access(place.path, F_OK), -1);
    }
}

static void a_worker_beyond_the_layout_is_refused(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    place.options.worker = 1024;
    (void)open_as(&place, FIRN_E_FIELD_RANGE);
    assert_non_null(strstr(place.error.text, "1024"));
    assert_non_null(strstr(place.error.text, "1023"));
    place.options.worker = 1023;
    firn *ids = open_place(&place);
    assert_int_equal(fields_of(ids, one_id(ids)).worker, 1023);
    firn_close(ids);
}

static void a_static_worker_is_held_against_a_second_process(void **state)
{
    struct place place;
    uint64_t id = UNTOUCHED;
    (void)state;
    begin(&place);
    (void)snprintf(place.url, sizeof place.url, "static:4?path=%s", place.path);
    firn *ids = open_place(&place);
    assert_int_equal(fields_of(ids, one_id(ids)).worker, 4);
    firn *second = open_as(&place, FIRN_R_NO_LEASE);
    assert_int_equal(firn_next(second, &id), FIRN_E_WORKER_HELD);
    assert_true(id == UNTOUCHED);
    const firn_state now = state_of(second);
    assert_int_equal(now.leased, 0);
    assert_int_equal(now.healthy, 0);
    assert_int_equal(now.reason, FIRN_E_WORKER_HELD);
    assert_non_null(strstr(now.text, "worker 4"));
    firn_close(second);
    firn_close(ids);
}

static void a_static_worker_is_never_another_one(void **state)
{
    struct place place;
    firn *ids = NULL;
    (void)state;
    begin(&place);
    (void)snprintf(place.url, sizeof place.url, "static:4?path=%s", place.path);
    place.options.worker = 8;
    const int status = firn_open(place.url, &place.options, &ids);
    assert_true(status == FIRN_E_ARGUMENT || state_of(ids).worker == 4);
    firn_close(ids);
}

static void two_handles_have_two_workers(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    firn *first = open_place(&place);
    firn *second = open_place(&place);
    assert_int_not_equal(state_of(first).worker, state_of(second).worker);
    assert_true(one_id(first) != one_id(second));
    firn_close(first);
    firn_close(second);
}

static void the_note_is_for_people(void **state)
{
    struct place place;
    char note[LAST_NOTE_SIZE + 1];
    char pid[32];
    firn_registry *registry;
    firn_worker worker;
    size_t count;
    (void)state;
    begin(&place);
    memset(note, 'n', LAST_NOTE_SIZE);
    note[LAST_NOTE_SIZE] = '\0';
    place.options.note = note;
    firn *ids = open_place(&place);
    memset(note, 'x', LAST_NOTE_SIZE); /* its strings are copied */
    assert_int_equal(firn_registry_open(place.url, 20000, &registry, &place.error), FIRN_OK);
    assert_int_equal(firn_registry_workers(registry, 0, &worker, 1, &count, &place.error), FIRN_OK);
    assert_int_equal(count, 1);
    (void)snprintf(pid, sizeof pid, "pid %ld", (long)getpid());
    assert_non_null(strstr(worker.note, pid));
    assert_non_null(strstr(worker.note, "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"));
    assert_null(strchr(worker.note, 'x'));
    assert_int_equal(worker.released, 0);
    firn_close(ids);
    assert_int_equal(firn_registry_workers(registry, 0, &worker, 1, &count, &place.error), FIRN_OK);
    assert_int_equal(worker.released, 1);
    firn_registry_close(registry);
}

/* The registry's own functions. */

static void the_registrys_functions_keep_their_blocks_promises(void **state)
{
    struct place place;
    firn_registry *registry = NULL;
    firn_realm realm = firn_realm_default();
    firn_worker workers[4];
    size_t count = 99;
    (void)state;
    begin(&place);
    assert_int_equal(firn_registry_open(NULL, 1000, &registry, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_open(place.url, 0, &registry, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_open(place.url, 3600001, &registry, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_open(place.url, 1000, NULL, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_open(place.url, 20000, &registry, &place.error), FIRN_OK);
    assert_int_equal(firn_registry_create(registry, NULL, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_create(NULL, &realm, NULL), FIRN_E_ARGUMENT);
    realm.grace_ms = 1234;
    assert_int_equal(firn_registry_create(registry, &realm, &place.error), FIRN_OK);
    assert_int_equal(firn_registry_create(registry, &realm, &place.error), FIRN_E_REALM_EXISTS);
    assert_int_equal(firn_registry_probe(registry, &place.error), FIRN_OK);
    assert_int_equal(firn_registry_probe(NULL, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_realm(registry, NULL, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_realm(registry, &realm, &place.error), FIRN_OK);
    assert_int_equal(realm.worker_last, 1023);
    assert_int_equal(realm.window_ms, 3000);
    assert_int_equal(firn_registry_workers(registry, 0, workers, 4, &count, NULL), FIRN_OK);
    assert_int_equal(count, 0);
    firn_close(open_place(&place));
    assert_int_equal(firn_registry_workers(registry, 0, workers, 4, &count, NULL), FIRN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(workers[0].free_ms, workers[0].mark_ms + 1234);
    assert_int_equal(firn_registry_workers(registry, 0, NULL, 0, &count, NULL), FIRN_OK);
    assert_int_equal(count, 0);
    assert_int_equal(firn_registry_workers(registry, 0, NULL, 4, &count, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_adopt(NULL, "x", NULL), FIRN_E_ARGUMENT);
    firn_registry_close(registry);
    firn_registry_close(NULL);
}

static void a_realm_struct_of_an_older_caller_is_not_overrun(void **state)
{
    struct place place;
    firn_registry *registry;
    union {
        firn_realm realm;
        uint8_t bytes[sizeof(firn_realm)];
    } older;
    (void)state;
    begin(&place);
    firn_close(open_place(&place));
    memset(&older, 0x5a, sizeof older);
    older.realm.size = offsetof(firn_realm, identity);
    assert_int_equal(firn_registry_open(place.url, 20000, &registry, &place.error), FIRN_OK);
    assert_int_equal(firn_registry_realm(registry, &older.realm, &place.error), FIRN_OK);
    assert_int_equal(older.realm.size, offsetof(firn_realm, identity));
    assert_int_equal(older.realm.workers_used, 1);
    for (size_t i = offsetof(firn_realm, identity); i < sizeof older; i++) {
        assert_int_equal(older.bytes[i], 0x5a);
    }
    firn_registry_close(registry);
}

/* Making ids. */

static void ids_increase_and_say_when_and_where_they_were_made(void **state)
{
    struct place place;
    uint64_t last = 0;
    (void)state;
    begin(&place);
    firn *ids = open_place(&place);
    const int64_t began_ms = now_ms();
    for (int i = 0; i < MANY; i++) {
        const uint64_t id = one_id(ids);
        assert_true(id > last);
        last = id;
    }
    const firn_fields fields = fields_of(ids, last);
    const firn_state now = state_of(ids);
    assert_int_equal(fields.worker, now.worker);
    assert_true(fields.time_us / 1000 >= began_ms && fields.time_us / 1000 <= now_ms());
    assert_int_equal(now.statistics.made, MANY);
    assert_int_equal(now.statistics.last_us, fields.time_us);
    assert_int_equal(now.healthy, 1);
    firn_close(ids);
}

static void many_ids_come_in_order_and_in_the_number_asked_for(void **state)
{
    struct place place;
    static uint64_t many[MANY];
    size_t made = 99;
    (void)state;
    begin(&place);
    firn *ids = open_place(&place);
    assert_int_equal(firn_next_many(ids, many, 0, &made), FIRN_OK);
    assert_int_equal(made, 0);
    many[3] = UNTOUCHED;
    assert_int_equal(firn_next_many(ids, many, 3, &made), FIRN_OK);
    assert_true(made >= 1 && made <= 3);
    assert_true(many[3] == UNTOUCHED);
    for (size_t i = 1; i < made; i++) {
        assert_true(many[i] > many[i - 1]);
    }
    const uint64_t last = many[made - 1];
    assert_int_equal(firn_wait_many(ids, PATIENCE_NS, many, MANY, &made), FIRN_OK);
    assert_int_equal(made, MANY);
    assert_true(many[0] > last);
    for (size_t i = 1; i < MANY; i++) {
        assert_true(many[i] > many[i - 1]);
    }
    assert_int_equal(firn_wait_many(ids, 0, many, 0, &made), FIRN_OK);
    assert_int_equal(made, 0);
    firn_close(ids);
}

static void waiting_ends_at_the_deadline(void **state)
{
    struct place place;
    uint64_t many[10];
    uint64_t id;
    size_t made;
    (void)state;
    begin_with_window(&place, 60000, SCARCE_LAYOUT); /* two ids a second */
    firn *ids = open_place(&place);
    uint64_t last = one_id(ids);
    int status = FIRN_OK;
    for (int i = 0; i < 4 && status == FIRN_OK; i++) { /* a second may just have begun */
        status = firn_next(ids, &last);
    }
    assert_int_equal(status, FIRN_E_SEQUENCE_FULL);
    id = UNTOUCHED;
    assert_int_equal(firn_wait(ids, 0, &id), FIRN_E_DEADLINE);
    assert_true(id == UNTOUCHED);
    const int64_t began_ns = firn__clock_monotonic_ns();
    assert_int_equal(firn_wait_many(ids, 1300 * MS_NS, many, 10, &made), FIRN_E_DEADLINE);
    const int64_t took_ns = firn__clock_monotonic_ns() - began_ns;
    assert_true(made == 2 || made == 4);
    assert_true(many[0] > last);
    assert_true(took_ns >= 1300 * MS_NS && took_ns < 10 * SECOND_NS);
    assert_int_equal(firn_wait(ids, PATIENCE_NS, &id), FIRN_OK);
    assert_true(id > many[made - 1]);
    assert_true(state_of(ids).statistics.waits >= 2);
    firn_close(ids);
}

static void an_id_after_another_is_greater_whoever_made_it(void **state)
{
    struct place place;
    firn_layout layout;
    uint64_t id;
    (void)state;
    begin(&place);
    firn *ids = open_place(&place);
    assert_int_equal(firn_layout_get(ids, &layout), FIRN_OK);
    for (int ahead_ms = 0; ahead_ms <= 20; ahead_ms += 20) {
        firn_fields fields = {.worker = 1023, .sequence = 4095};
        fields.tick = (uint64_t)(now_ms() + ahead_ms - layout.epoch_ms);
        uint64_t seen;
        assert_int_equal(firn_layout_compose(&layout, &fields, &seen), FIRN_OK);
        assert_int_equal(firn_next_after(ids, seen, &id), FIRN_OK);
        assert_true(id > seen);
        /* It waited for the clock; it did not run ahead of it. */
        assert_true(fields_of(ids, id).time_us / 1000 <= now_ms());
    }
    assert_int_equal(firn_next_after(ids, 0, &id), FIRN_OK);
    assert_int_equal(firn_next_after(ids, one_id(ids), &id), FIRN_OK);
    firn_close(ids);
}

static void an_id_too_far_ahead_is_not_waited_for(void **state)
{
    struct place place;
    firn_layout layout;
    uint64_t id = UNTOUCHED;
    uint64_t seen;
    (void)state;
    begin(&place);
    place.options.after_max_ms = 500;
    firn *ids = open_place(&place);
    assert_int_equal(firn_layout_get(ids, &layout), FIRN_OK);
    assert_int_equal(firn_layout_smallest(&layout, (now_ms() + 2000) * 1000, &seen), FIRN_OK);
    const int64_t began_ns = firn__clock_monotonic_ns();
    assert_int_equal(firn_next_after(ids, seen, &id), FIRN_E_AHEAD);
    assert_true(firn__clock_monotonic_ns() - began_ns < SECOND_NS);
    assert_int_equal(firn_next_after(ids, UINT64_MAX >> 1, &id), FIRN_E_AHEAD);
    assert_int_equal(firn_next_after(ids, UINT64_C(1) << 63, &id), FIRN_E_ID_RANGE);
    assert_true(id == UNTOUCHED);
    firn_close(ids);
}

/* Gathers ids from threads. */
struct maker {
    pthread_t thread;
    firn *ids;
    bool runs; /* by runs of its own */
    uint64_t made[THREAD_IDS];
    size_t count;
    int failure;
};

static void *make_ids(void *context)
{
    struct maker *maker = context;
    firn_run run = {.generator = NULL};
    while (maker->count < THREAD_IDS && maker->failure == FIRN_OK) {
        uint64_t id = 0;
        const int status =
            maker->runs ? firn_next_run(maker->ids, &run, &id) : firn_next(maker->ids, &id);
        if (status == FIRN_OK) {
            maker->made[maker->count++] = id;
        } else if (status != FIRN_E_SEQUENCE_FULL && status != FIRN_E_CLOCK_WAIT) {
            maker->failure = status;
        } else {
            firn__clock_sleep(50000);
        }
    }
    return NULL;
}

static int compare_ids(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Threads make ids at once: each in order, and none twice. */
static void assert_threads_agree(firn *ids, bool runs)
{
    struct maker *makers = calloc(THREADS, sizeof *makers);
    uint64_t *all = calloc((size_t)THREADS * THREAD_IDS, sizeof *all);
    size_t count = 0;
    assert_non_null(makers);
    assert_non_null(all);
    for (size_t i = 0; i < THREADS; i++) {
        makers[i].ids = ids;
        makers[i].runs = runs;
        assert_int_equal(pthread_create(&makers[i].thread, NULL, make_ids, &makers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(makers[i].thread, NULL), 0);
        assert_int_equal(makers[i].failure, FIRN_OK);
        for (size_t j = 0; j < makers[i].count; j++) {
            assert_true(j == 0 || makers[i].made[j] > makers[i].made[j - 1]);
            all[count++] = makers[i].made[j];
        }
    }
    qsort(all, count, sizeof *all, compare_ids);
    for (size_t i = 1; i < count; i++) {
        assert_true(all[i] != all[i - 1]);
    }
    free(all);
    free(makers);
}

static void threads_share_a_handle_with_one_clock(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    for (int clock = FIRN_CLOCK_PRECISE; clock <= FIRN_CLOCK_COARSE; clock++) {
        place.options.clock = clock;
        firn *ids = open_place(&place);
        assert_threads_agree(ids, false);
        assert_threads_agree(ids, true);
        firn_close(ids);
    }
}

static void threads_renew_on_demand_across_windows(void **state)
{
    struct place place;
    (void)state;
    begin_with_window(&place, SHORT_MS / 2, NULL);
    firn *ids = open_place(&place);
    /* A fast machine is through before a window is over. */
    const int64_t end_ns = firn__clock_monotonic_ns() + 100 * SHORT_MS * MS_NS;
    do {
        assert_threads_agree(ids, false);
        assert_threads_agree(ids, true);
    } while (state_of(ids).renewals < 3 && firn__clock_monotonic_ns() < end_ns);
    const firn_state now = state_of(ids);
    assert_true(now.renewals >= 3);
    assert_int_equal(now.renewal_failures, 0);
    assert_int_equal(now.conflicts, 0);
    firn_close(ids);
}

static void a_run_holds_nothing_back_from_a_quiesce(void **state)
{
    struct place place;
    firn_run run = {.generator = NULL};
    uint64_t id;
    (void)state;
    begin_with_window(&place, 60000, SLOW_LAYOUT); /* so that a run lasts for a second */
    firn *ids = open_place(&place);
    int status = firn_next_run(ids, &run, &id);
    while (status == FIRN_E_SEQUENCE_FULL) {
        status = firn_next_run(ids, &run, &id);
    }
    assert_int_equal(status, FIRN_OK);
    assert_int_equal(firn_quiesce(ids), FIRN_OK);
    id = UNTOUCHED;
    assert_int_equal(firn_next_run(ids, &run, &id), FIRN_E_QUIESCED);
    assert_true(id == UNTOUCHED);
    firn_close(ids);
}

/* Renewal. */

static void a_renewal_thread_keeps_ids_flowing_through_many_windows(void **state)
{
    struct place place;
    uint64_t last = 0;
    (void)state;
    begin_with_window(&place, SHORT_MS, NULL);
    place.options.renewal = FIRN_RENEWAL_THREAD;
    firn *ids = open_place(&place);
    const int64_t end_ns = firn__clock_monotonic_ns() + 8 * SHORT_MS * MS_NS;
    while (firn__clock_monotonic_ns() < end_ns) {
        uint64_t id;
        const int status = firn_next(ids, &id);
        if (status == FIRN_OK) {
            assert_true(id > last);
            last = id;
        } else {
            assert_int_equal(status, FIRN_E_SEQUENCE_FULL);
        }
    }
    const firn_state now = state_of(ids);
    assert_true(now.renewals >= 6);
    assert_int_equal(now.renewal_failures, 0);
    assert_int_equal(now.conflicts, 0);
    assert_int_equal(now.worker, 0);
    firn_close(ids);
}

static void an_idle_holder_lapses_and_its_next_id_renews_first(void **state)
{
    struct place place;
    (void)state;
    begin_with_window(&place, SHORT_MS, NULL);
    place.options.renewal = FIRN_RENEWAL_THREAD;
    firn *ids = open_place(&place);
    const uint64_t first = one_id(ids);
    assert_true(becomes(has_lapsed, ids));
    const uint64_t renewals = state_of(ids).renewals;
    assert_int_equal(state_of(ids).healthy, 1); /* by choice, not by failure */
    assert_true(one_id(ids) > first);
    const firn_state now = state_of(ids);
    assert_int_equal(now.renewals, renewals + 1);
    assert_int_equal(now.worker, 0);
    firn_close(ids);
}

static void a_holder_that_keeps_warm_does_not_lapse(void **state)
{
    struct place place;
    (void)state;
    begin_with_window(&place, 5 * SHORT_MS, NULL);
    place.options.renewal = FIRN_RENEWAL_THREAD;
    place.options.keep_warm = 1;
    firn *ids = open_place(&place);
    const int64_t end_ns = firn__clock_monotonic_ns() + 15 * SHORT_MS * MS_NS;
    while (firn__clock_monotonic_ns() < end_ns) {
        assert_true(state_of(ids).window_left_ms > 0);
        firn__clock_sleep(5 * MS_NS);
    }
    assert_true(state_of(ids).renewals >= 4);
    firn_close(ids);
}

static void the_host_renews_when_it_said_so(void **state)
{
    struct place place;
    uint64_t id;
    int64_t at_ms;
    (void)state;
    begin_with_window(&place, SHORT_MS, NULL);
    place.options.renewal = FIRN_RENEWAL_HOST;
    firn *ids = open_place(&place);
    (void)one_id(ids);
    assert_int_equal(firn_renew_at(ids, &at_ms), FIRN_OK);
    assert_int_equal(at_ms, state_of(ids).window_end_ms - SHORT_MS * 2 / 3);
    assert_true(becomes(has_lapsed, ids));
    id = UNTOUCHED;
    assert_int_equal(firn_next(ids, &id), FIRN_E_WINDOW);
    assert_int_equal(firn_wait(ids, SECOND_NS, &id), FIRN_E_WINDOW);
    assert_true(id == UNTOUCHED);
    firn_state now = state_of(ids);
    assert_int_equal(now.renewals, 1);
    assert_int_equal(now.healthy, 0);
    assert_int_equal(now.reason, FIRN_E_WINDOW);
    assert_int_equal(firn_renew(ids), FIRN_OK);
    (void)one_id(ids);
    now = state_of(ids);
    assert_int_equal(now.renewals, 2);
    assert_int_equal(now.healthy, 1);
    firn_close(ids);
}

static void the_threads_signals_are_blocked(void **state)
{
    struct place place;
    int others = 0;
    (void)state;
    begin(&place);
    place.options.renewal = FIRN_RENEWAL_THREAD;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    firn *ids = open_place(&place);
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[320];
        char line[256];
        uint64_t blocked = 0;
        const long tid = strtol(task->d_name, NULL, 10);
        if (tid == 0 || tid == (long)gettid()) {
            continue;
        }
        (void)snprintf(path, sizeof path, "/proc/self/task/%ld/status", tid);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file) != NULL) {
            if (strncmp(line, "SigBlk:", 7) == 0) {
                blocked = strtoull(line + 7, NULL, 16);
            }
        }
        assert_int_equal(fclose(file), 0);
        others++;
        assert_true((blocked & UINT64_C(1) << (SIGTERM - 1)) != 0);
        assert_true((blocked & UINT64_C(1) << (SIGUSR1 - 1)) != 0);
    }
    assert_int_equal(closedir(tasks), 0);
    assert_true(others >= 1);
    sigset_t own;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &own), 0);
    assert_int_equal(sigismember(&own, SIGTERM), 0);
    firn_close(ids);
}

static void a_quiesced_handle_makes_nothing_until_it_is_resumed(void **state)
{
    struct place place;
    uint64_t many[2];
    uint64_t id = UNTOUCHED;
    size_t made;
    firn_registry *registry;
    firn_worker worker;
    size_t count;
    (void)state;
    begin(&place);
    place.options.renewal = FIRN_RENEWAL_THREAD;
    firn *ids = open_place(&place);
    const uint64_t first = one_id(ids);
    const uint32_t old = state_of(ids).worker;
    assert_int_equal(firn_quiesce(ids), FIRN_OK);
    assert_int_equal(firn_next(ids, &id), FIRN_E_QUIESCED);
    assert_int_equal(firn_wait(ids, SECOND_NS, &id), FIRN_E_QUIESCED);
    assert_int_equal(firn_next_many(ids, many, 2, &made), FIRN_E_QUIESCED);
    assert_int_equal(firn_renew(ids), FIRN_E_QUIESCED);
    assert_true(id == UNTOUCHED);
    firn_state now = state_of(ids);
    assert_int_equal(now.leased, 0);
    assert_int_equal(now.healthy, 0);
    assert_int_equal(now.reason, FIRN_E_QUIESCED);
    assert_int_equal(firn_registry_open(place.url, 20000, &registry, &place.error), FIRN_OK);
    assert_int_equal(firn_registry_workers(registry, old, &worker, 1, &count, NULL), FIRN_OK);
    assert_int_equal(worker.released, 1);
    firn_registry_close(registry);
    assert_int_equal(firn_resume(ids), FIRN_OK);
    assert_true(one_id(ids) > first);
    now = state_of(ids);
    assert_int_not_equal(now.worker, old); /* the old window is not over yet */
    assert_int_equal(now.healthy, 1);
    assert_int_equal(now.conflicts, 0);
    firn_close(ids);
}

static void a_registry_that_goes_away_is_said_before_the_ids_stop(void **state)
{
    struct place place;
    char away[PATH_SIZE + 8];
    bool sick = false;
    uint64_t id;
    int status = FIRN_OK;
    (void)state;
    begin_with_window(&place, 3 * SHORT_MS, NULL);
    place.options.renewal = FIRN_RENEWAL_THREAD;
    firn *ids = open_place(&place);
    (void)snprintf(away, sizeof away, "%s.away", place.path);
    (void)one_id(ids);
    assert_int_equal(rename(place.path, away), 0);
    const int64_t end_ns = firn__clock_monotonic_ns() + PATIENCE_NS;
    while (status != FIRN_E_REGISTRY_MISSING && firn__clock_monotonic_ns() < end_ns) {
        const int64_t window_end_ms = state_of(ids).window_end_ms;
        const int64_t before_ms = now_ms();
        status = firn_next(ids, &id);
        assert_true(status == FIRN_OK || now_ms() >= window_end_ms);
        assert_true(status != FIRN_OK || before_ms < state_of(ids).window_end_ms);
        const firn_state now = state_of(ids);
        if (status == FIRN_OK && !now.healthy) {
            sick = true;
            assert_int_equal(now.reason, FIRN_E_REGISTRY_MISSING);
            assert_non_null(strstr(now.text, place.path));
        }
        firn__clock_sleep(MS_NS / 2);
    }
    assert_int_equal(status, FIRN_E_REGISTRY_MISSING);
    assert_true(sick);
    assert_true(state_of(ids).renewal_failures >= 2);
    assert_int_equal(rename(away, place.path), 0);
    do {
        status = firn_next(ids, &id);
    } while (status == FIRN_E_REGISTRY_MISSING && firn__clock_monotonic_ns() < end_ns);
    assert_int_equal(status, FIRN_OK);
    assert_int_equal(state_of(ids).healthy, 1);
    firn_close(ids);
}

/* Restored snapshots. */

struct page {
    char path[PATH_SIZE];
    uint8_t *bytes;
};

static void put(uint8_t *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size); /* the page has the byte order of its machine */
}

/* A page as the kernel shows it, in a file. */
static void make_page(struct page *page, uint64_t magic, uint64_t size, uint64_t flags)
{
    static unsigned number;
    (void)snprintf(page->path, sizeof page->path, "%s/vmclock-%u", folder, number++);
    FILE *file = fopen(page->path, "w+b");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), VMCLOCK_SIZE), 0);
    page->bytes = mmap(NULL, VMCLOCK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    assert_true(page->bytes != MAP_FAILED);
    assert_int_equal(fclose(file), 0);
    put(page->bytes, magic, 4);
    put(page->bytes + 4, size, 4);
    put(page->bytes + 0x18, flags, 8);
    put(page->bytes + 0x68, 1, 8);
}

static void restore_snapshot(struct page *page)
{
    __atomic_fetch_add((uint64_t *)(void *)(page->bytes + 0x68), 1, __ATOMIC_SEQ_CST);
}

static void end_page(struct page *page)
{
    assert_int_equal(munmap(page->bytes, VMCLOCK_SIZE), 0);
}

static void a_restored_snapshot_drops_the_lease(void **state)
{
    struct place place;
    struct page page;
    firn_run run = {.generator = NULL};
    uint64_t id;
    (void)state;
    make_page(&page, VMCLOCK_MAGIC, 112, 1 << 8);
    begin(&place);
    place.options.vmclock_path = page.path;
    firn *ids = open_place(&place);
    (void)one_id(ids);
    assert_int_equal(firn_next_run(ids, &run, &id), FIRN_OK);
    assert_int_equal(state_of(ids).snapshots, 0);
    uint32_t worker = state_of(ids).worker;
    for (unsigned i = 1; i <= 3; i++) {
        restore_snapshot(&page);
        assert_int_equal(state_of(ids).leased, 0);
        const uint64_t next = i == 2 ? 0 : one_id(ids);
        if (i == 2) { /* also in the middle of a run */
            assert_int_equal(firn_next_run(ids, &run, &id), FIRN_OK);
        } else {
            assert_int_not_equal(fields_of(ids, next).worker, worker);
        }
        assert_int_not_equal(state_of(ids).worker, worker);
        assert_int_equal(fields_of(ids, one_id(ids)).worker, state_of(ids).worker);
        assert_int_equal(state_of(ids).snapshots, i);
        worker = state_of(ids).worker;
    }
    firn_close(ids);
    end_page(&page);
}

static void a_page_without_the_counter_is_not_read(void **state)
{
    static const struct {
        const char *name;
        uint64_t magic;
        uint64_t size;
        uint64_t flags;
    } rows[] = {
        {"another magic", VMCLOCK_MAGIC + 1, 112, 1 << 8},
        {"a page that ends before the counter", VMCLOCK_MAGIC, 104, 1 << 8},
        {"no flag for the counter", VMCLOCK_MAGIC, 112, 0xff},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct place place;
        struct page page;
        make_page(&page, rows[i].magic, rows[i].size, rows[i].flags);
        begin(&place);
        print_message("%s\n", rows[i].name);
        place.options.vmclock_path = page.path;
        firn *ids = open_place(&place);
        (void)one_id(ids);
        restore_snapshot(&page);
        (void)one_id(ids);
        assert_int_equal(state_of(ids).snapshots, 0);
        firn_close(ids);
        end_page(&page);
    }
}

/* In a child, so that a fault ends the child alone. */
static void opens_with_vmclock_file_of(const char *bytes, size_t size)
{
    struct place place;
    char path[PATH_SIZE + 16];
    int status = -1;
    begin(&place);
    (void)snprintf(path, sizeof path, "%s.vmclock", place.path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    place.options.vmclock_path = path;
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        firn *ids = NULL;
        (void)signal(SIGBUS, SIG_DFL); /* not cmocka's, which would go on with the next test */
        const int opened = firn_open(place.url, &place.options, &ids);
        firn_close(ids);
        _exit(opened == FIRN_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_vmclock_file_that_is_too_short_is_not_read(void **state)
{
    static const char bytes[] = "VCLK and then nothing that a clock would say";
    (void)state;
    opens_with_vmclock_file_of(bytes, 20);
    opens_with_vmclock_file_of(bytes, 0);
}

static void a_missing_vmclock_is_nothing_to_speak_of(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    place.options.vmclock_path = "/nonexistent/vmclock";
    firn_close(open_place(&place));
    place.options.vmclock_path = folder;
    firn_close(open_place(&place));
}

/* Memory. */

/* Bytes in mappings that are shared with children. */
static size_t shared_bytes(void)
{
    char line[512];
    size_t total = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *at = line;
        const uint64_t from = strtoull(at, &at, 16);
        const uint64_t to = strtoull(at + 1, &at, 16);
        if (strncmp(at, " rw-s", 5) == 0) {
            total += (size_t)(to - from);
        }
    }
    assert_int_equal(fclose(file), 0);
    return total;
}

static void a_handle_is_small(void **state)
{
    firn *handles[HANDLES];
    struct place place;
    (void)state;
    assert_true(sizeof(firn_generator) <= GENERATOR_MAX);
    begin(&place);
    firn_close(open_place(&place)); /* what is made once a process */
    const size_t heap = mallinfo2().uordblks + mallinfo2().hblkhd;
    const size_t sqlite = (size_t)sqlite3_memory_used();
    const size_t shared = shared_bytes();
    for (size_t i = 0; i < HANDLES; i++) {
        handles[i] = open_place(&place);
        (void)one_id(handles[i]);
    }
    const size_t heap_more = mallinfo2().uordblks + mallinfo2().hblkhd - heap;
    const size_t sqlite_more = (size_t)sqlite3_memory_used() - sqlite;
    const size_t shared_more = shared_bytes() - shared;
    for (size_t i = 0; i < HANDLES; i++) {
        firn_close(handles[i]);
    }
    print_message("a handle: %zu bytes of its own in the heap, %zu mapped, %zu of SQLite's\n",
                  (heap_more - sqlite_more) / HANDLES, shared_more / HANDLES,
                  sqlite_more / HANDLES);
    /* The sanitizers' allocators do not tell. */
    assert_true(WORLD_ASAN || WORLD_TSAN || heap_more >= sqlite_more);
    assert_true(WORLD_ASAN || WORLD_TSAN ||
                heap_more - sqlite_more + shared_more <= (size_t)HANDLES * HANDLE_MAX);
    assert_true(shared_more > 0);
    assert_int_equal(shared_bytes(), shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_null),
        cmocka_unit_test(refuses_options_out_of_range),
        cmocka_unit_test(members_that_an_older_caller_lacks_have_their_defaults),
        cmocka_unit_test(no_options_are_the_defaults),
        cmocka_unit_test(another_layout_is_refused_and_both_are_named),
        cmocka_unit_test(refuses_a_layout_that_cannot_be_generated),
        cmocka_unit_test(a_worker_beyond_the_layout_is_refused),
        cmocka_unit_test(a_static_worker_is_held_against_a_second_process),
        cmocka_unit_test(a_static_worker_is_never_another_one),
        cmocka_unit_test(two_handles_have_two_workers),
        cmocka_unit_test(the_note_is_for_people),
        cmocka_unit_test(the_registrys_functions_keep_their_blocks_promises),
        cmocka_unit_test(a_realm_struct_of_an_older_caller_is_not_overrun),
        cmocka_unit_test(ids_increase_and_say_when_and_where_they_were_made),
        cmocka_unit_test(many_ids_come_in_order_and_in_the_number_asked_for),
        cmocka_unit_test(waiting_ends_at_the_deadline),
        cmocka_unit_test(an_id_after_another_is_greater_whoever_made_it),
        cmocka_unit_test(an_id_too_far_ahead_is_not_waited_for),
        cmocka_unit_test(threads_share_a_handle_with_one_clock),
        cmocka_unit_test(threads_renew_on_demand_across_windows),
        cmocka_unit_test(a_run_holds_nothing_back_from_a_quiesce),
        cmocka_unit_test(a_renewal_thread_keeps_ids_flowing_through_many_windows),
        cmocka_unit_test(an_idle_holder_lapses_and_its_next_id_renews_first),
        cmocka_unit_test(a_holder_that_keeps_warm_does_not_lapse),
        cmocka_unit_test(the_host_renews_when_it_said_so),
        cmocka_unit_test(the_threads_signals_are_blocked),
        cmocka_unit_test(a_quiesced_handle_makes_nothing_until_it_is_resumed),
        cmocka_unit_test(a_registry_that_goes_away_is_said_before_the_ids_stop),
        cmocka_unit_test(a_restored_snapshot_drops_the_lease),
        cmocka_unit_test(a_page_without_the_counter_is_not_read),
        cmocka_unit_test(a_vmclock_file_that_is_too_short_is_not_read),
        cmocka_unit_test(a_missing_vmclock_is_nothing_to_speak_of),
        cmocka_unit_test(a_handle_is_small),
    };
    if (world_folder_begin(folder) < 0) {
        return 1;
    }
    const int failed = cmocka_run_group_tests_name("the handle", tests, NULL, NULL);
    world_folder_end(folder);
    return failed;
}

#endif
