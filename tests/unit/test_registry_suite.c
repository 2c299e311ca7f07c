/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The contract of registry/backend.h, once for every backend: each row of the table of kinds runs
 * every test. What is peculiar to one backend has a test file of its own; so has the lease policy.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if FIRN_WITH_SQLITE
#include <sqlite3.h>
#endif

#include "registry/lease.h"
#include "registry/mem.h"
#include "world.h"

#define TIMEOUT_MS   20000
#define WORKER_FIRST 3
#define WORKER_LAST  900
#define SWAP_THREADS 4
#define THREAD_SWAPS 25
#define GOOD         0
#define RECORDS_MAX  64
#define MARK_MS      INT64_C(1900000000000)
#define RAISE_MS     INT64_C(6000)
#define LAYOUT_OTHER "t42w10s11@2025-01-01"

static char folder[WORLD_PATHS];

/* A backend under test. */
struct kind {
    const char *name;
    /* A registry that does not exist yet. */
    void (*make_url)(char *text, size_t text_size, unsigned number);
    /* Takes a worker's record away without a trace. */
    void (*forget)(const firn__url *url, uint32_t worker);
    /* Runs check where the registry at url is a copy of what it was; returns what check did. */
    int (*in_copy)(const firn__url *url, int (*check)(const firn__url *, const char *),
                   const char *identity);
};

struct fixture {
    const struct kind *kind;
    const firn__backend *backend;
    firn__url url;
    void *store;
    firn_realm realm; /* as read back */
    firn_error error;
};

static int run_forked(const firn__url *url, int (*check)(const firn__url *, const char *),
                      const char *identity)
{
    int status = -1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(check(url, identity));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void mem_make_url(char *text, size_t text_size, unsigned number)
{
    (void)snprintf(text, text_size, "mem:suite-%u", number);
}

static void mem_forget(const firn__url *url, uint32_t worker)
{
    firn__mem_forget(url->path, worker);
}

#if FIRN_WITH_SQLITE
static void sqlite_make_url(char *text, size_t text_size, unsigned number)
{
    (void)snprintf(text, text_size, "sqlite:%s/suite-%u.db", folder, number);
}

static void sqlite_forget(const firn__url *url, uint32_t worker)
{
    char sql[128];
    sqlite3 *db;
    (void)snprintf(sql, sizeof sql,
                   "DROP TRIGGER firn_worker_stays; DELETE FROM firn_worker WHERE worker = %u",
                   worker);
    assert_int_equal(sqlite3_open(url->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_changes(db), 1);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    size_t got;
    while ((got = fread(bytes, 1, sizeof bytes, in)) > 0) {
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    }
    assert_int_equal(fclose(out), 0);
    assert_int_equal(fclose(in), 0);
}

static int sqlite_in_copy(const firn__url *url, int (*check)(const firn__url *, const char *),
                          const char *identity)
{
    char kept[FIRN__URL_SIZE + 8];
    char copy[FIRN__URL_SIZE + 8];
    (void)snprintf(kept, sizeof kept, "%s.kept", url->path);
    (void)snprintf(copy, sizeof copy, "%s.copy", url->path);
    copy_file(url->path, copy);
    assert_int_equal(rename(url->path, kept), 0);
    assert_int_equal(rename(copy, url->path), 0);
    const int result = check(url, identity);
    assert_int_equal(rename(kept, url->path), 0);
    return result;
}
#endif

static const struct kind kinds[] = {
    {"mem", mem_make_url, mem_forget, run_forked},
#if FIRN_WITH_SQLITE
    {"sqlite", sqlite_make_url, sqlite_forget, sqlite_in_copy},
#endif
};

static firn_realm wanted_realm(void)
{
    firn_realm realm = firn_realm_default();
    memset(realm.uuid, 0xa5, sizeof realm.uuid);
    memcpy(realm.layout, FIRN_LAYOUT_DEFAULT, sizeof FIRN_LAYOUT_DEFAULT);
    realm.window_ms = 3000;
    realm.grace_ms = 250;
    realm.skew_max_ms = 60000;
    realm.worker_first = WORKER_FIRST;
    realm.worker_last = WORKER_LAST;
    return realm;
}

static int begin_empty(void **state)
{
    static unsigned number;
    char text[FIRN__URL_SIZE];
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->kind = *state;
    fixture->kind->make_url(text, sizeof text, number++);
    assert_int_equal(firn__url_parse(text, &fixture->url, NULL), FIRN_OK);
    fixture->backend = firn__backend_find(fixture->url.scheme);
    assert_non_null(fixture->backend);
    assert_int_equal(
        fixture->backend->open(&fixture->url, TIMEOUT_MS, &fixture->store, &fixture->error),
        FIRN_OK);
    *state = fixture;
    return 0;
}

static void refresh(struct fixture *fixture)
{
    assert_int_equal(fixture->backend->read(fixture->store, &fixture->realm, &fixture->error),
                     FIRN_OK);
}

static int begin(void **state)
{
    const int result = begin_empty(state);
    struct fixture *fixture = *state;
    const firn_realm realm = wanted_realm();
    assert_int_equal(fixture->backend->create(fixture->store, &realm, &fixture->error), FIRN_OK);
    fixture->realm = firn_realm_default();
    refresh(fixture);
    return result;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend->close(fixture->store);
    free(fixture);
    return 0;
}

/* A record with every member set, different for every worker. */
static firn_worker record_of(uint32_t worker)
{
    firn_worker record = {.worker = worker, .mark_ms = MARK_MS + worker, .counter = 1 + worker};
    memset(record.holder, (int)(worker % 251 + 1), sizeof record.holder);
    memset(record.attempt, (int)(worker % 249 + 2), sizeof record.attempt);
    (void)snprintf(record.note, sizeof record.note, "host pid %u", worker);
    return record;
}

static int swap(struct fixture *fixture, const firn_worker *expected, const firn_worker *desired)
{
    return fixture->backend->swap(fixture->store, &fixture->realm, expected, desired,
                                  &fixture->error);
}

static void add(struct fixture *fixture, const firn_worker *record)
{
    refresh(fixture);
    assert_int_equal(swap(fixture, NULL, record), FIRN_OK);
    refresh(fixture);
}

static void assert_same_record(const firn_worker *a, const firn_worker *b)
{
    assert_int_equal(a->worker, b->worker);
    assert_int_equal(a->released, b->released);
    assert_int_equal(a->mark_ms, b->mark_ms);
    assert_int_equal(a->counter, b->counter);
    assert_memory_equal(a->holder, b->holder, sizeof a->holder);
    assert_memory_equal(a->attempt, b->attempt, sizeof a->attempt);
    assert_string_equal(a->note, b->note);
}

static size_t list(struct fixture *fixture, uint32_t first, firn_worker *records, size_t count)
{
    size_t found = SIZE_MAX;
    assert_int_equal(
        fixture->backend->list(fixture->store, first, records, count, &found, &fixture->error),
        FIRN_OK);
    return found;
}

static void assert_stored(struct fixture *fixture, const firn_worker *record)
{
    firn_worker found;
    assert_int_equal(list(fixture, record->worker, &found, 1), 1);
    assert_same_record(&found, record);
}

static void refuses_to_read_what_was_not_created(void **state)
{
    struct fixture *fixture = *state;
    firn_realm realm = firn_realm_default();
    assert_int_equal(fixture->backend->read(fixture->store, &realm, &fixture->error),
                     FIRN_E_REGISTRY_MISSING);
    assert_int_equal(fixture->error.status, FIRN_E_REGISTRY_MISSING);
    assert_string_not_equal(fixture->error.text, "");
}

static void creates_once_and_leaves_the_first_realm_untouched(void **state)
{
    struct fixture *fixture = *state;
    const firn_realm before = fixture->realm;
    firn_realm other = wanted_realm();
    memcpy(other.layout, LAYOUT_OTHER, sizeof LAYOUT_OTHER);
    memset(other.uuid, 0x11, sizeof other.uuid);
    other.window_ms = 77;
    assert_int_equal(fixture->backend->create(fixture->store, &other, &fixture->error),
                     FIRN_E_REALM_EXISTS);
    assert_int_equal(fixture->error.status, FIRN_E_REALM_EXISTS);
    refresh(fixture);
    assert_memory_equal(&fixture->realm, &before, sizeof before);
}

static void reads_a_realm_back_exactly(void **state)
{
    struct fixture *fixture = *state;
    const firn_realm wanted = wanted_realm();
    const firn_realm *read = &fixture->realm;
    char identity[FIRN_IDENTITY_SIZE];
    assert_memory_equal(read->uuid, wanted.uuid, sizeof wanted.uuid);
    assert_string_equal(read->layout, wanted.layout);
    assert_int_equal(read->window_ms, wanted.window_ms);
    assert_int_equal(read->grace_ms, wanted.grace_ms);
    assert_int_equal(read->skew_max_ms, wanted.skew_max_ms);
    assert_int_equal(read->worker_first, WORKER_FIRST);
    assert_int_equal(read->worker_last, WORKER_LAST);
    assert_int_equal(read->workers_used, 0);
    assert_int_equal(read->adoptions, 0);
    assert_int_equal(fixture->backend->identify(fixture->store, identity, &fixture->error),
                     FIRN_OK);
    assert_string_not_equal(identity, "");
    assert_string_equal(read->identity, identity);
}

static void reads_records_back_exactly_at_their_extremes(void **state)
{
    struct fixture *fixture = *state;
    firn_worker least = {.worker = 0, .mark_ms = 0};
    firn_worker most = {
        .worker = UINT32_MAX, .released = 1, .mark_ms = INT64_MAX, .counter = UINT64_MAX};
    memset(most.holder, 0xff, sizeof most.holder);
    memset(most.attempt, 0xff, sizeof most.attempt);
    memset(most.note, '%', sizeof most.note - 1);
    add(fixture, &most);
    add(fixture, &least);
    assert_stored(fixture, &least);
    assert_stored(fixture, &most);
    /* What was read back must also compare as equal: it is the next swap's expected. */
    firn_worker next = most;
    next.released = 0;
    assert_int_equal(swap(fixture, &most, &next), FIRN_OK);
    assert_stored(fixture, &next);
}

static void keeps_quotes_and_utf8_in_notes(void **state)
{
    struct fixture *fixture = *state;
    firn_worker record = record_of(7);
    (void)snprintf(record.note, sizeof record.note, "%s", "o'hara \"x\"; -- \xc3\xa9\xe2\x9d\x84");
    add(fixture, &record);
    assert_stored(fixture, &record);
}

static void lists_by_number_in_pages(void **state)
{
    static const uint32_t numbers[] = {500, 3, 899, 17, 18, 900, 4, 250, 16, 899 - 1};
    static const uint32_t sorted[] = {3, 4, 16, 17, 18, 250, 500, 898, 899, 900};
    const size_t total = sizeof numbers / sizeof numbers[0];
    struct fixture *fixture = *state;
    firn_worker page[4];
    assert_int_equal(list(fixture, 0, page, 3), 0);
    for (size_t i = 0; i < total; i++) {
        const firn_worker record = record_of(numbers[i]);
        add(fixture, &record);
    }
    assert_int_equal(fixture->realm.workers_used, total);
    for (size_t size = 1; size <= 4; size++) {
        size_t seen = 0;
        uint32_t first = 0;
        size_t count = size;
        while (count == size) {
            count = list(fixture, first, page, size);
            assert_true(count <= size);
            for (size_t i = 0; i < count; i++) {
                const firn_worker record = record_of(sorted[seen++]);
                assert_same_record(&page[i], &record);
                first = record.worker + 1;
            }
        }
        assert_int_equal(seen, total);
    }
    assert_int_equal(list(fixture, 901, page, 3), 0);
    assert_int_equal(list(fixture, 0, page, 0), 0);
}

/* One wrong member of what a swap expects. */
static const struct wrong_member {
    const char *name;
    size_t offset;
    size_t size;
} wrong_members[] = {
    {"worker", offsetof(firn_worker, worker), sizeof(uint32_t)},
    {"released", offsetof(firn_worker, released), sizeof(uint32_t)},
    {"mark", offsetof(firn_worker, mark_ms), sizeof(int64_t)},
    {"counter", offsetof(firn_worker, counter), sizeof(uint64_t)},
    {"the holder's first byte", offsetof(firn_worker, holder), 1},
    {"the holder's last byte", offsetof(firn_worker, holder) + 15, 1},
    {"the attempt's first byte", offsetof(firn_worker, attempt), 1},
    {"the attempt's last byte", offsetof(firn_worker, attempt) + 15, 1},
    {"the note's first byte", offsetof(firn_worker, note), 1},
};

static void swap_compares_every_member(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker stored = record_of(7);
    firn_worker desired = record_of(7);
    add(fixture, &stored);
    desired.mark_ms += 1000;
    desired.counter++;
    memset(desired.attempt, 0x77, sizeof desired.attempt);
    for (size_t i = 0; i < sizeof wrong_members / sizeof wrong_members[0]; i++) {
        const struct wrong_member *wrong = &wrong_members[i];
        for (int bit = 0; bit < 8; bit += 7) {
            firn_worker expected = stored;
            ((uint8_t *)&expected)[wrong->offset + (bit == 7 ? wrong->size - 1 : 0)] ^=
                (uint8_t)(1 << bit);
            print_message("a wrong %s, bit %d\n", wrong->name, bit);
            assert_int_equal(swap(fixture, &expected, &desired), FIRN_E_CONFLICT);
            assert_stored(fixture, &stored);
        }
    }
    firn_worker shorter = stored;
    shorter.note[strlen(shorter.note) - 1] = '\0';
    assert_int_equal(swap(fixture, &shorter, &desired), FIRN_E_CONFLICT);
    firn_worker later = stored;
    later.free_ms = 12345; /* not stored, not compared */
    assert_int_equal(swap(fixture, &later, &desired), FIRN_OK);
    assert_stored(fixture, &desired);
}

static void swap_compares_the_realm(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker stored = record_of(7);
    firn_worker desired = record_of(7);
    const firn_worker other = record_of(8);
    add(fixture, &stored);
    desired.counter++;
    const firn_realm realm = fixture->realm;
    for (int member = 0; member < 4; member++) {
        fixture->realm = realm;
        fixture->realm.uuid[15] ^= member == 0;
        fixture->realm.adoptions += member == 1;
        if (member == 2) {
            memcpy(fixture->realm.layout, LAYOUT_OTHER, sizeof LAYOUT_OTHER);
        }
        if (member == 3) {
            (void)snprintf(fixture->realm.identity, FIRN_IDENTITY_SIZE, "another store");
        }
        const int swapped = swap(fixture, &stored, &desired);
        const int added = swap(fixture, NULL, &other);
        if (member < 3) {
            assert_int_equal(swapped, FIRN_E_CONFLICT);
            assert_int_equal(added, FIRN_E_CONFLICT);
        } else {
            assert_true(swapped == FIRN_E_CONFLICT || swapped == FIRN_E_REGISTRY_MOVED);
            assert_true(added == FIRN_E_CONFLICT || added == FIRN_E_REGISTRY_MOVED);
        }
        firn_worker records[2];
        assert_int_equal(list(fixture, 0, records, 2), 1);
        assert_same_record(&records[0], &stored);
    }
    fixture->realm = realm;
    assert_int_equal(swap(fixture, &stored, &desired), FIRN_OK);
}

static void a_mark_never_gets_lower(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker stored = record_of(7);
    firn_worker desired = stored;
    add(fixture, &stored);
    desired.counter++;
    desired.mark_ms = stored.mark_ms - 1;
    assert_int_equal(swap(fixture, &stored, &desired), FIRN_E_CONFLICT);
    assert_stored(fixture, &stored);
    desired.mark_ms = 0;
    assert_int_equal(swap(fixture, &stored, &desired), FIRN_E_CONFLICT);
    assert_stored(fixture, &stored);
    desired.mark_ms = stored.mark_ms;
    assert_int_equal(swap(fixture, &stored, &desired), FIRN_OK);
    assert_stored(fixture, &desired);
}

static void a_new_worker_is_counted_in_the_same_step(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker first = record_of(7);
    const firn_worker second = record_of(8);
    const firn_realm before = fixture->realm;
    add(fixture, &first);
    assert_int_equal(fixture->realm.workers_used, 1);
    assert_int_equal(fixture->realm.adoptions, before.adoptions);
    /* Who has not seen the first one yet may not add a second: it chose its number too early. */
    fixture->realm = before;
    assert_int_equal(swap(fixture, NULL, &second), FIRN_E_CONFLICT);
    refresh(fixture);
    assert_int_equal(fixture->realm.workers_used, 1);
    firn_worker records[2];
    assert_int_equal(list(fixture, 0, records, 2), 1);
}

static void a_second_addition_of_one_number_is_refused(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker first = record_of(7);
    firn_worker again = record_of(7);
    add(fixture, &first);
    again.mark_ms += 5000;
    assert_int_equal(swap(fixture, NULL, &again), FIRN_E_CONFLICT);
    assert_stored(fixture, &first);
    refresh(fixture);
    assert_int_equal(fixture->realm.workers_used, 1);
}

static void a_missing_record_is_not_written(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker expected = record_of(7);
    firn_worker desired = record_of(7);
    firn_worker found;
    desired.counter++;
    assert_int_equal(swap(fixture, &expected, &desired), FIRN_E_CONFLICT);
    assert_int_equal(list(fixture, 0, &found, 1), 0);
    refresh(fixture);
    assert_int_equal(fixture->realm.workers_used, 0);
}

static void of_two_swaps_from_one_reading_one_wins(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker stored = record_of(7);
    firn_worker ours = stored;
    firn_worker theirs = stored;
    void *second;
    add(fixture, &stored);
    ours.counter++;
    theirs.counter++;
    memset(theirs.attempt, 0x44, sizeof theirs.attempt);
    assert_int_equal(fixture->backend->open(&fixture->url, TIMEOUT_MS, &second, &fixture->error),
                     FIRN_OK);
    assert_int_equal(
        fixture->backend->swap(second, &fixture->realm, &stored, &theirs, &fixture->error),
        FIRN_OK);
    assert_int_equal(swap(fixture, &stored, &ours), FIRN_E_CONFLICT);
    assert_stored(fixture, &theirs);
    fixture->backend->close(second);
}

static void adoption_raises_marks_by_the_rule(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker low = record_of(7);
    firn_worker high = record_of(8);
    const int64_t floor_ms = low.mark_ms + RAISE_MS + 1;
    firn_worker found[2];
    high.mark_ms = floor_ms;
    add(fixture, &low);
    add(fixture, &high);
    const firn_realm before = fixture->realm;
    assert_int_equal(
        fixture->backend->adopt(fixture->store, floor_ms, RAISE_MS, "it's a test", &fixture->error),
        FIRN_OK);
    assert_int_equal(list(fixture, 0, found, 2), 2);
    assert_int_equal(found[0].mark_ms, floor_ms);
    assert_int_equal(found[1].mark_ms, floor_ms + RAISE_MS);
    assert_int_equal(found[0].counter, low.counter + 1);
    assert_memory_not_equal(found[0].attempt, low.attempt, sizeof low.attempt);
    assert_memory_not_equal(found[1].attempt, high.attempt, sizeof high.attempt);
    assert_int_equal(swap(fixture, &found[0], &found[0]), FIRN_E_CONFLICT); /* the old realm */
    refresh(fixture);
    assert_int_equal(fixture->realm.adoptions, before.adoptions + 1);
    assert_int_equal(fixture->realm.workers_used, 2);
    assert_memory_equal(fixture->realm.uuid, before.uuid, sizeof before.uuid);
    assert_int_equal(swap(fixture, &low, &found[0]), FIRN_E_CONFLICT); /* the old record */
    assert_int_equal(swap(fixture, &found[0], &found[0]), FIRN_OK);
}

static void adoption_covers_missing_records(void **state)
{
    struct fixture *fixture = *state;
    firn_worker found[RECORDS_MAX];
    for (uint32_t i = 0; i < 5; i++) {
        const firn_worker record = record_of(WORKER_FIRST + i);
        add(fixture, &record);
    }
    const int64_t floor_ms = MARK_MS + 100000;
    fixture->kind->forget(&fixture->url, WORKER_FIRST + 1);
    assert_int_equal(list(fixture, 0, found, RECORDS_MAX), 4);
    assert_int_equal(
        fixture->backend->adopt(fixture->store, floor_ms, RAISE_MS, "restored", &fixture->error),
        FIRN_OK);
    refresh(fixture);
    /* What is there is what is counted; what is not may be leased again from the floor on. */
    assert_int_equal(fixture->realm.workers_used, 4);
    assert_int_equal(fixture->realm.floor_ms, floor_ms);
}

static void one_store_has_one_identity(void **state)
{
    struct fixture *fixture = *state;
    char identity[FIRN_IDENTITY_SIZE];
    void *second;
    assert_int_equal(fixture->backend->open(&fixture->url, TIMEOUT_MS, &second, &fixture->error),
                     FIRN_OK);
    assert_int_equal(fixture->backend->identify(second, identity, &fixture->error), FIRN_OK);
    assert_string_equal(identity, fixture->realm.identity);
    fixture->backend->close(second);
    const firn_worker record = record_of(7);
    add(fixture, &record);
    assert_int_equal(fixture->backend->identify(fixture->store, identity, &fixture->error),
                     FIRN_OK);
    assert_string_equal(identity, fixture->realm.identity);
}

/* May run in a forked child: says what went wrong by its result. */
static int check_copy(const firn__url *url, const char *identity)
{
    const firn__backend *backend = firn__backend_find(url->scheme);
    const firn_worker before = record_of(7);
    firn_worker after = before;
    firn_realm realm = firn_realm_default();
    char own[FIRN_IDENTITY_SIZE];
    void *store;
    if (backend->open(url, TIMEOUT_MS, &store, NULL) < 0 ||
        backend->read(store, &realm, NULL) < 0 || backend->identify(store, own, NULL) < 0) {
        return 1;
    }
    if (strcmp(realm.identity, identity) != 0 || strcmp(own, identity) == 0) {
        return 2;
    }
    /* Who trusts the copy's realm must not get a window from it either. */
    after.counter++;
    const int swapped = backend->swap(store, &realm, &before, &after, NULL);
    if (swapped != FIRN_E_CONFLICT && swapped != FIRN_E_REGISTRY_MOVED) {
        return 3;
    }
    if (backend->adopt(store, 0, RAISE_MS, "the copy lives on", NULL) < 0 ||
        backend->read(store, &realm, NULL) < 0) {
        return 4;
    }
    backend->close(store);
    return strcmp(realm.identity, own) == 0 && realm.adoptions == 1 ? GOOD : 5;
}

static void a_copy_has_another_identity_until_it_is_adopted(void **state)
{
    struct fixture *fixture = *state;
    const firn_worker record = record_of(7);
    add(fixture, &record);
    assert_int_equal(fixture->kind->in_copy(&fixture->url, check_copy, fixture->realm.identity),
                     GOOD);
    assert_stored(fixture, &record); /* the original knows nothing of it */
    refresh(fixture);
    assert_int_equal(fixture->realm.adoptions, 0);
}

static void can_say_no(void **state)
{
    struct fixture *fixture = *state;
    firn__holder holder;
    assert_int_equal(firn__holder_open(&holder, &fixture->url, TIMEOUT_MS, NULL, &fixture->error),
                     FIRN_OK);
    assert_int_equal(firn__holder_read(&holder, &fixture->error), FIRN_OK);
    assert_int_equal(firn__holder_probe(&holder, &fixture->error), FIRN_OK);
    const firn_worker record = record_of(WORKER_FIRST);
    add(fixture, &record);
    assert_int_equal(firn__holder_probe(&holder, &fixture->error), FIRN_OK);
    assert_stored(fixture, &record);
    firn__holder_close(&holder);
}

static void a_clock_is_near_ours_or_there_is_none(void **state)
{
    struct fixture *fixture = *state;
    int64_t now_ms = -1;
    const int status = fixture->backend->clock(fixture->store, &now_ms, &fixture->error);
    if (status == FIRN_E_UNSUPPORTED) {
        assert_int_equal(now_ms, -1);
        return;
    }
    assert_int_equal(status, FIRN_OK);
    const int64_t ours_ms = firn__clock_real_ns() / MS_NS;
    assert_true(now_ms > ours_ms - 60000 && now_ms < ours_ms + 60000);
}

struct swapper {
    struct fixture *fixture;
    pthread_t thread;
    int failure; /* 0: none */
    unsigned swaps;
};

/* Raises one counter again and again, each time from a fresh reading. */
static void *swap_often(void *context)
{
    struct swapper *swapper = context;
    const struct fixture *fixture = swapper->fixture;
    const firn__backend *backend = fixture->backend;
    void *store;
    if (backend->open(&fixture->url, TIMEOUT_MS, &store, NULL) < 0) {
        swapper->failure = 1;
        return NULL;
    }
    while (swapper->failure == 0 && swapper->swaps < THREAD_SWAPS) {
        firn_worker expected;
        size_t count = 0;
        const int listed = backend->list(store, 7, &expected, 1, &count, NULL);
        if (listed < 0 || count != 1) {
            swapper->failure = listed < 0 ? listed : 2;
            break;
        }
        firn_worker desired = expected;
        desired.counter++;
        desired.mark_ms += 10;
        const int status = backend->swap(store, &fixture->realm, &expected, &desired, NULL);
        swapper->swaps += status == FIRN_OK;
        swapper->failure = status == FIRN_OK || status == FIRN_E_CONFLICT ? 0 : status;
    }
    backend->close(store);
    return NULL;
}

static void swaps_by_many_at_once_lose_no_write(void **state)
{
    struct fixture *fixture = *state;
    struct swapper swappers[SWAP_THREADS] = {{.failure = 0}};
    firn_worker record = record_of(7);
    add(fixture, &record);
    for (size_t i = 0; i < SWAP_THREADS; i++) {
        swappers[i].fixture = fixture;
        assert_int_equal(pthread_create(&swappers[i].thread, NULL, swap_often, &swappers[i]), 0);
    }
    for (size_t i = 0; i < SWAP_THREADS; i++) {
        assert_int_equal(pthread_join(swappers[i].thread, NULL), 0);
        assert_int_equal(swappers[i].failure, 0);
    }
    record.counter += (uint64_t)SWAP_THREADS * THREAD_SWAPS;
    record.mark_ms += INT64_C(10) * SWAP_THREADS * THREAD_SWAPS;
    assert_stored(fixture, &record);
}

static const struct CMUnitTest tests[] = {
    {"refuses_to_read_what_was_not_created", refuses_to_read_what_was_not_created, begin_empty, end,
     NULL},
#define TEST(name)                                                                                 \
    {                                                                                              \
#name, name, begin, end, NULL                                                              \
    }
    TEST(creates_once_and_leaves_the_first_realm_untouched),
    TEST(reads_a_realm_back_exactly),
    TEST(reads_records_back_exactly_at_their_extremes),
    TEST(keeps_quotes_and_utf8_in_notes),
    TEST(lists_by_number_in_pages),
    TEST(swap_compares_every_member),
    TEST(swap_compares_the_realm),
    TEST(a_mark_never_gets_lower),
    TEST(a_new_worker_is_counted_in_the_same_step),
    TEST(a_second_addition_of_one_number_is_refused),
    TEST(a_missing_record_is_not_written),
    TEST(of_two_swaps_from_one_reading_one_wins),
    TEST(adoption_raises_marks_by_the_rule),
    TEST(adoption_covers_missing_records),
    TEST(one_store_has_one_identity),
    TEST(a_copy_has_another_identity_until_it_is_adopted),
    TEST(can_say_no),
    TEST(a_clock_is_near_ours_or_there_is_none),
    TEST(swaps_by_many_at_once_lose_no_write),
#undef TEST
};

#define TEST_COUNT (sizeof tests / sizeof tests[0])

static int run_kind(const struct kind *kind)
{
    struct CMUnitTest own[TEST_COUNT];
    char title[64];
    (void)snprintf(title, sizeof title, "registry: %s", kind->name);
    for (size_t i = 0; i < TEST_COUNT; i++) {
        own[i] = tests[i];
        own[i].initial_state = (void *)(uintptr_t)kind;
    }
    return _cmocka_run_group_tests(title, own, TEST_COUNT, NULL, NULL);
}

int main(void)
{
    int failed = world_folder_begin(folder) < 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        failed += run_kind(&kinds[i]);
    }
    world_folder_end(folder);
    return failed;
}
