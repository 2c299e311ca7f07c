/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* What is peculiar to a registry in a file: files that are not one, files that cannot be used, disks
 * that fail in the middle, and people who move, delete or edit the file. The contract that it
 * shares with other backends is test_registry_suite.c's. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
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
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "registry/handle.h"
#include "registry/lease.h"
#include "world.h"

#if !FIRN_WITH_SQLITE

int main(void)
{
    (void)puts("this build has no SQLite registry: nothing to test");
    return 0;
}

#else

#include <sqlite3.h>

#include "port/file.h"

#define PATH_SIZE       (2 * WORLD_PATHS)
#define URL_SIZE        (PATH_SIZE + 16)
#define TIMEOUT_MS      20000
#define NOBODY          65534
#define NFS_MAGIC       0x6969
#define WINDOW_MS       INT64_C(3000)
#define STARTERS        (WORLD_ASAN || WORLD_TSAN ? 24 : 100)
#define FAULTS_MAX      200
#define FILE_BYTES      20000
#define BUSY_TIMEOUT_MS 200
#define GRANTS_MAX      16

static char folder[WORLD_PATHS];

/* A path that no test has used. */
static void fresh_path(char path[PATH_SIZE])
{
    static unsigned number;
    (void)snprintf(path, PATH_SIZE, "%s/registry-%u.db", folder, number++);
}

static void url_of(const char *path, char url[URL_SIZE])
{
    (void)snprintf(url, URL_SIZE, "sqlite:%s", path);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t read_file(const char *path, uint8_t bytes[FILE_BYTES])
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, FILE_BYTES, file);
    assert_int_equal(fclose(file), 0);
    return size;
}

static void copy_file(const char *from, const char *to)
{
    static uint8_t bytes[8 * FILE_BYTES];
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size < sizeof bytes);
    assert_int_equal(fclose(file), 0);
    write_file(to, bytes, size);
}

/* Runs SQL in a file as a person with the sqlite3 command would. */
static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    const int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK) {
        print_message("%s: %s\n", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(code, SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Whether SQL is refused, and for which reason. */
static void assert_sql_refused(const char *path, const char *sql, const char *says)
{
    sqlite3 *db;
    char *text = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_not_equal(sqlite3_exec(db, sql, NULL, NULL, &text), SQLITE_OK);
    assert_non_null(strstr(text, says));
    sqlite3_free(text);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int open_at(const char *path, int create, firn_error *error, firn **ids)
{
    char url[URL_SIZE];
    firn_options options = firn_options_default();
    url_of(path, url);
    options.create = create;
    options.error_out = error;
    options.vmclock_path = NULL;
    return firn_open(url, &options, ids);
}

/* Makes a registry and closes it. */
static void make_registry(const char *path)
{
    firn *ids = NULL;
    firn_error error = {.text = ""};
    const int status = open_at(path, 1, &error, &ids);
    if (status < 0) {
        print_message("%s\n", error.text);
    }
    assert_int_equal(status, FIRN_OK);
    firn_close(ids);
}

/* Opening fails with this status, with and without leave to create, and says the path. */
static void assert_refused(const char *path, int expected)
{
    for (int create = 0; create <= 1; create++) {
        firn *ids = NULL;
        firn_error error = {.text = ""};
        const int status = open_at(path, create, &error, &ids);
        print_message("%s\n", error.text);
        assert_int_equal(status, expected);
        assert_null(ids);
        assert_int_equal(error.status, expected);
        assert_non_null(strstr(error.text, path));
    }
}

/* Files that are not a registry of ours are refused and stay as they are. */

static void assert_refused_and_unchanged(const char *path, int expected)
{
    static uint8_t before[FILE_BYTES];
    static uint8_t after[FILE_BYTES];
    const size_t size = read_file(path, before);
    assert_refused(path, expected);
    assert_int_equal(read_file(path, after), size);
    assert_memory_equal(before, after, size);
}

static void a_file_that_is_not_sqlite_is_refused(void **state)
{
    static const char text[] = "name: firn\nthis is somebody's configuration\n";
    static uint8_t noise[8192];
    char path[PATH_SIZE];
    uint64_t dice = 7;
    (void)state;
    fresh_path(path);
    write_file(path, text, sizeof text - 1);
    assert_refused_and_unchanged(path, FIRN_E_REGISTRY_FORMAT);
    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t)random_next(&dice);
    }
    fresh_path(path);
    write_file(path, noise, sizeof noise);
    assert_refused_and_unchanged(path, FIRN_E_REGISTRY_FORMAT);
}

static void another_applications_database_is_refused(void **state)
{
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    run_sql(path, "CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('x')");
    assert_refused_and_unchanged(path, FIRN_E_REGISTRY_FORMAT);
    fresh_path(path);
    run_sql(path, "PRAGMA application_id = 42");
    assert_refused_and_unchanged(path, FIRN_E_REGISTRY_FORMAT);
}

static void another_applications_journal_mode_is_left_alone(void **state)
{
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    run_sql(path, "PRAGMA journal_mode = WAL; CREATE TABLE customers (name TEXT)");
    assert_refused_and_unchanged(path, FIRN_E_REGISTRY_FORMAT);
}

static void an_empty_file_is_no_registry_yet(void **state)
{
    char path[PATH_SIZE];
    firn *ids = NULL;
    firn_error error;
    (void)state;
    fresh_path(path);
    write_file(path, "", 0);
    assert_int_equal(open_at(path, 0, &error, &ids), FIRN_E_REGISTRY_MISSING);
    assert_non_null(strstr(error.text, "empty"));
    assert_int_equal(open_at(path, 1, &error, &ids), FIRN_OK);
    firn_close(ids);
}

static void a_missing_file_is_not_made_unasked(void **state)
{
    char path[PATH_SIZE];
    char url[URL_SIZE];
    firn *ids = NULL;
    firn_error error;
    firn_registry *registry;
    firn_realm realm = firn_realm_default();
    (void)state;
    fresh_path(path);
    url_of(path, url);
    assert_int_equal(open_at(path, 0, &error, &ids), FIRN_E_REGISTRY_MISSING);
    assert_non_null(strstr(error.text, path));
    assert_int_equal(firn_registry_open(url, TIMEOUT_MS, &registry, &error), FIRN_OK);
    assert_int_equal(firn_registry_realm(registry, &realm, &error), FIRN_E_REGISTRY_MISSING);
    assert_int_equal(firn_registry_probe(registry, &error), FIRN_E_REGISTRY_MISSING);
    assert_int_equal(firn_registry_adopt(registry, "why not", &error), FIRN_E_REGISTRY_MISSING);
    firn_registry_close(registry);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_newer_format_is_refused(void **state)
{
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    make_registry(path);
    run_sql(path, "PRAGMA user_version = 2");
    assert_refused_and_unchanged(path, FIRN_E_REGISTRY_NEWER);
}

static void a_damaged_file_is_refused(void **state)
{
    static uint8_t bytes[FILE_BYTES];
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    make_registry(path);
    const size_t size = read_file(path, bytes);
    assert_true(size > 8192);
    memset(bytes + 4096, 0xee, size - 4096);
    write_file(path, bytes, size);
    assert_refused(path, FIRN_E_REGISTRY_CORRUPT);
}

static void a_realm_without_its_row_or_table_is_damaged(void **state)
{
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    make_registry(path);
    run_sql(path, "DROP TRIGGER firn_realm_stays; DELETE FROM firn_realm");
    assert_refused(path, FIRN_E_REGISTRY_CORRUPT);
    fresh_path(path);
    make_registry(path);
    run_sql(path, "DROP TABLE firn_worker");
    assert_refused(path, FIRN_E_REGISTRY_CORRUPT);
}

static void a_deleted_row_is_refused_until_adopted(void **state)
{
    char path[PATH_SIZE];
    char url[URL_SIZE];
    firn *ids = NULL;
    firn_error error;
    firn_registry *registry;
    firn_realm realm = firn_realm_default();
    firn_worker workers[4];
    size_t count = 0;
    (void)state;
    fresh_path(path);
    url_of(path, url);
    make_registry(path);
    run_sql(path, "DROP TRIGGER firn_worker_stays; DELETE FROM firn_worker");
    assert_int_equal(open_at(path, 1, &error, &ids), FIRN_E_REGISTRY_CORRUPT);
    assert_non_null(strstr(error.text, "adopt"));
    assert_int_equal(firn_registry_open(url, TIMEOUT_MS, &registry, &error), FIRN_OK);
    assert_int_equal(firn_registry_workers(registry, 0, workers, 4, &count, &error),
                     FIRN_E_REGISTRY_CORRUPT);
    assert_int_equal(firn_registry_adopt(registry, "a row was deleted", &error), FIRN_OK);
    assert_int_equal(firn_registry_workers(registry, 0, workers, 4, &count, &error), FIRN_OK);
    assert_int_equal(count, 0);
    /* The lost record's window may still be in use: no worker is given until it is over. */
    assert_int_equal(firn_registry_realm(registry, &realm, &error), FIRN_OK);
    assert_true(realm.floor_ms > firn__clock_real_ns() / MS_NS + WINDOW_MS);
    firn_registry_close(registry);
    assert_int_equal(open_at(path, 0, &error, &ids), FIRN_R_NO_LEASE);
    firn_state now;
    assert_int_equal(firn_state_get(ids, &now), FIRN_OK);
    assert_int_equal(now.leased, 0);
    assert_int_equal(now.reason, FIRN_E_WORKERS_BUSY);
    firn_close(ids);
}

static void the_file_itself_guards_marks_and_records(void **state)
{
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    make_registry(path);
    assert_sql_refused(path, "UPDATE firn_worker SET mark_ms = mark_ms - 1", "a mark only grows");
    assert_sql_refused(path, "UPDATE firn_worker SET worker = worker + 1", "a mark only grows");
    assert_sql_refused(path, "DELETE FROM firn_worker", "a mark stays");
    assert_sql_refused(path, "DELETE FROM firn_realm", "a realm stays");
    run_sql(path, "UPDATE firn_worker SET mark_ms = mark_ms + 1");
}

static void replacing_a_row_does_not_lower_its_mark(void **state)
{
    char path[PATH_SIZE];
    sqlite3 *db;
    sqlite3_stmt *statement;
    (void)state;
    fresh_path(path);
    make_registry(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_exec(db,
                       "INSERT OR REPLACE INTO firn_worker SELECT worker, released, 1, counter,"
                       " holder, attempt, note FROM firn_worker",
                       NULL, NULL, NULL);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT min(mark_ms) FROM firn_worker", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const int64_t mark_ms = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(mark_ms > 1);
}

static void an_adoption_is_written_to_the_log(void **state)
{
    char path[PATH_SIZE];
    char url[URL_SIZE];
    firn_error error;
    firn_registry *registry;
    (void)state;
    fresh_path(path);
    url_of(path, url);
    make_registry(path);
    assert_int_equal(firn_registry_open(url, TIMEOUT_MS, &registry, &error), FIRN_OK);
    assert_int_equal(firn_registry_adopt(registry, "", &error), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_adopt(registry, NULL, &error), FIRN_E_ARGUMENT);
    assert_int_equal(firn_registry_adopt(registry, "moved to o'hare", &error), FIRN_OK);
    firn_registry_close(registry);
    run_sql(path, "CREATE TEMP TABLE once (one INTEGER CHECK (one = 1)); INSERT INTO once"
                  " SELECT count(*) FROM firn_log WHERE event = 'adopted: moved to o''hare'");
}

/* Places that cannot be used. */

/* Runs a check as a user for whom permissions count. */
static int as_nobody(int (*check)(const char *), const char *path)
{
    int status = -1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 &&
            (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
            _exit(100);
        }
        _exit(check(path));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* 0 when opening is refused for lack of access, with and without leave to create. */
static int is_without_access(const char *path)
{
    for (int create = 0; create <= 1; create++) {
        firn *ids = NULL;
        firn_error error = {.text = ""};
        const int status = open_at(path, create, &error, &ids);
        if (status != FIRN_E_REGISTRY_ACCESS || strstr(error.text, path) == NULL) {
            (void)fprintf(stderr, "%s: %s\n", firn_status_name(status), error.text);
            return 1 + create;
        }
    }
    return 0;
}

/* 0 when creating is refused for lack of access. */
static int cannot_create(const char *path)
{
    firn *ids = NULL;
    firn_error error = {.text = ""};
    const int status = open_at(path, 1, &error, &ids);
    return status == FIRN_E_REGISTRY_ACCESS && strstr(error.text, path) != NULL ? 0 : 1;
}

static void a_read_only_file_is_refused(void **state)
{
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    make_registry(path);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(as_nobody(is_without_access, path), 0);
    assert_int_equal(chmod(path, 0000), 0);
    assert_int_equal(as_nobody(is_without_access, path), 0);
}

static void a_read_only_folder_is_refused(void **state)
{
    char path[PATH_SIZE];
    char within[PATH_SIZE + 16];
    (void)state;
    fresh_path(path);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(within, sizeof within, "%s/ids.db", path);
    assert_int_equal(chmod(path, 0555), 0);
    assert_int_equal(as_nobody(cannot_create, within), 0);
    /* A file that can be written, in a folder where no journal can be made. */
    assert_int_equal(chmod(path, 0755), 0);
    make_registry(within);
    char journal[PATH_SIZE + 32];
    (void)snprintf(journal, sizeof journal, "%s-journal", within);
    (void)unlink(journal);
    assert_int_equal(chmod(within, 0666), 0);
    assert_int_equal(chmod(path, 0555), 0);
    assert_int_equal(as_nobody(is_without_access, within), 0);
}

static void a_missing_folder_is_named(void **state)
{
    char path[PATH_SIZE];
    char within[PATH_SIZE + 16];
    (void)state;
    fresh_path(path);
    (void)snprintf(within, sizeof within, "%s/ids.db", path);
    assert_refused(within, FIRN_E_REGISTRY_ACCESS);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_folder_is_not_a_registry(void **state)
{
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_refused(path, FIRN_E_REGISTRY_ACCESS);
}

static uint64_t pretended_type; /* of every file system; 0: the truth */

/* In place of the C library's. */
int statfs(const char *path, struct statfs *system)
{
    const int result = (int)syscall(SYS_statfs, path, system);
    if (pretended_type != 0) {
        memcpy(&system->f_type, &pretended_type, sizeof system->f_type);
    }
    return result;
}

static void a_network_file_system_is_refused_by_name(void **state)
{
    static const struct {
        uint64_t type;
        const char *name;
    } systems[] = {
        {0x6969, "NFS"},
        {0xff534d42, "CIFS"},
        {0xfe534d42, "SMB2"},
        {0x01021997, "9P"},
        {0x65735546, "FUSE"},
        {0x00c36400, "Ceph"},
        /* As a 32-bit kernel extends the sign. */
        {UINT64_C(0xffffffffff534d42), "CIFS"},
    };
    char path[PATH_SIZE];
    (void)state;
    fresh_path(path);
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        firn *ids = NULL;
        firn_error error = {.text = ""};
        pretended_type = systems[i].type;
        const int status = open_at(path, 1, &error, &ids);
        pretended_type = 0;
        assert_int_equal(status, FIRN_E_REGISTRY_NETWORK);
        assert_non_null(strstr(error.text, systems[i].name));
        assert_int_equal(access(path, F_OK), -1);
    }
    make_registry(path);
    pretended_type = NFS_MAGIC;
    assert_refused(path, FIRN_E_REGISTRY_NETWORK);
    pretended_type = 0;
}

static void local_file_systems_have_no_network_name(void **state)
{
    static const uint64_t types[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994,
                                     0x794c7630, 0x2fc12fc1, 0xf2f52010, 0};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        assert_null(firn__file_network_name(types[i]));
    }
    assert_null(firn__file_network(folder));
}

/* A file that is moved, replaced or deleted under a live holder. */

static firn *open_live(const char *path, firn_error *error)
{
    firn *ids = NULL;
    uint64_t id;
    assert_int_equal(open_at(path, 1, error, &ids), FIRN_OK);
    assert_int_equal(firn_wait(ids, -1, &id), FIRN_OK);
    return ids;
}

/* The present window stays usable, whatever became of the file; its renewal is refused. */
static void assert_not_renewed(firn *ids, int expected)
{
    uint64_t id;
    firn_state now;
    assert_int_equal(firn_renew(ids), expected);
    assert_int_equal(firn_wait(ids, -1, &id), FIRN_OK);
    assert_int_equal(firn_state_get(ids, &now), FIRN_OK);
    assert_int_equal(now.leased, 1);
    assert_int_equal(now.conflicts, 0);
    assert_int_equal(now.renewal_failures, 1);
}

static void a_file_replaced_by_its_copy_is_another_registry(void **state)
{
    char path[PATH_SIZE];
    char copy[PATH_SIZE + 8];
    char url[URL_SIZE];
    firn_error error;
    firn_registry *registry;
    firn_realm realm = firn_realm_default();
    firn *other = NULL;
    (void)state;
    fresh_path(path);
    url_of(path, url);
    (void)snprintf(copy, sizeof copy, "%s.copy", path);
    firn *ids = open_live(path, &error);
    copy_file(path, copy);
    assert_int_equal(rename(copy, path), 0);
    assert_not_renewed(ids, FIRN_E_REGISTRY_MOVED);
    assert_int_equal(open_at(path, 1, &error, &other), FIRN_E_REGISTRY_MOVED);
    assert_non_null(strstr(error.text, "adopt"));
    assert_int_equal(firn_registry_open(url, TIMEOUT_MS, &registry, &error), FIRN_OK);
    assert_int_equal(firn_registry_realm(registry, &realm, &error), FIRN_E_REGISTRY_MOVED);
    assert_string_equal(realm.layout, FIRN_LAYOUT_DEFAULT);
    assert_int_equal(firn_registry_adopt(registry, "the copy is the one now", &error), FIRN_OK);
    assert_int_equal(firn_registry_realm(registry, &realm, &error), FIRN_OK);
    assert_int_equal(realm.adoptions, 1);
    firn_registry_close(registry);
    /* What the original may still stamp is not given out again before it is over. */
    assert_int_equal(open_at(path, 1, &error, &other), FIRN_R_NO_LEASE);
    /* The first handle's connection is to a file that has no name any more. */
    assert_true(firn_renew(ids) < 0);
    firn_close(other);
    firn_close(ids);
}

static void a_deleted_file_is_missed_and_not_made_again(void **state)
{
    char path[PATH_SIZE];
    firn_error error;
    (void)state;
    fresh_path(path);
    firn *ids = open_live(path, &error);
    assert_int_equal(unlink(path), 0);
    assert_not_renewed(ids, FIRN_E_REGISTRY_MISSING);
    assert_int_equal(access(path, F_OK), -1);
    /* Another process makes a realm at the old path: that is another id space. */
    make_registry(path);
    assert_int_equal(firn_renew(ids), FIRN_E_REGISTRY_MOVED);
    firn_close(ids);
}

static void a_file_moved_away_and_back_is_the_same_registry(void **state)
{
    char path[PATH_SIZE];
    char away[PATH_SIZE + 8];
    firn_error error;
    (void)state;
    fresh_path(path);
    (void)snprintf(away, sizeof away, "%s.away", path);
    firn *ids = open_live(path, &error);
    assert_int_equal(rename(path, away), 0);
    assert_not_renewed(ids, FIRN_E_REGISTRY_MISSING);
    assert_int_equal(rename(away, path), 0);
    assert_int_equal(firn_renew(ids), FIRN_OK);
    firn_close(ids);
    assert_int_equal(rename(path, away), 0);
    make_registry(away); /* under a new name, it is the same file */
}

static void a_record_edited_by_hand_is_a_conflict(void **state)
{
    char path[PATH_SIZE];
    firn_error error;
    firn_state before;
    firn_state after;
    (void)state;
    fresh_path(path);
    firn *ids = open_live(path, &error);
    assert_int_equal(firn_state_get(ids, &before), FIRN_OK);
    run_sql(path, "UPDATE firn_worker SET note = 'mine'");
    assert_int_equal(firn_renew(ids), FIRN_OK);
    assert_int_equal(firn_state_get(ids, &after), FIRN_OK);
    assert_int_equal(after.conflicts, 1);
    assert_int_not_equal(after.worker, before.worker);
    firn_close(ids);
}

/* Waiting for others. */

static void a_locked_file_is_busy_within_the_timeout(void **state)
{
    char path[PATH_SIZE];
    char url[URL_SIZE];
    sqlite3 *db;
    firn_error error;
    firn_registry *registry;
    firn_realm realm = firn_realm_default();
    (void)state;
    fresh_path(path);
    url_of(path, url);
    make_registry(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(firn_registry_open(url, BUSY_TIMEOUT_MS, &registry, &error), FIRN_OK);
    const int64_t began_ns = firn__clock_monotonic_ns();
    assert_int_equal(firn_registry_realm(registry, &realm, &error), FIRN_E_REGISTRY_BUSY);
    const int64_t took_ms = (firn__clock_monotonic_ns() - began_ns) / MS_NS;
    assert_true(took_ms >= BUSY_TIMEOUT_MS - 1);
    assert_true(took_ms < 20 * BUSY_TIMEOUT_MS);
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(firn_registry_realm(registry, &realm, &error), FIRN_OK);
    /* A writer that only reads so far lets others read, and keeps them from writing. */
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(firn_registry_realm(registry, &realm, &error), FIRN_OK);
    assert_int_equal(firn_registry_adopt(registry, "now", &error), FIRN_E_REGISTRY_BUSY);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(firn_registry_adopt(registry, "now", &error), FIRN_OK);
    firn_registry_close(registry);
}

/* What the processes of a cold start tell. */
struct start {
    int status;
    uint32_t worker;
    uint64_t id;
};

static void start_one(const char *path, int gate, struct start *start)
{
    char byte;
    firn *ids = NULL;
    firn_state now;
    firn_error error = {.text = ""};
    if (read(gate, &byte, 1) < 0) { /* ends when the parent opens the gate for all */
        _exit(1);
    }
    start->status = open_at(path, 1, &error, &ids);
    if (start->status == FIRN_OK) {
        start->status = firn_wait(ids, -1, &start->id);
        (void)firn_state_get(ids, &now);
        start->worker = now.worker;
        firn_close(ids);
    } else {
        (void)fprintf(stderr, "%s\n", error.text);
    }
}

static void a_cold_start_of_many_gives_each_its_own_worker(void **state)
{
    char path[PATH_SIZE];
    int gate[2];
    pid_t children[STARTERS];
    static bool taken[1024];
    (void)state;
    fresh_path(path);
    memset(taken, 0, sizeof taken);
    struct start *starts = firn__memory_share(sizeof *starts * (size_t)STARTERS);
    assert_non_null(starts);
    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < STARTERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            (void)close(gate[1]);
            start_one(path, gate[0], &starts[i]);
            _exit(0);
        }
    }
    (void)close(gate[0]);
    (void)close(gate[1]);
    for (int i = 0; i < STARTERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
        assert_int_equal(starts[i].status, FIRN_OK);
        assert_true(starts[i].worker < 1024);
        /* A worker that was closed is not free for three seconds: longer than this takes. */
        for (int j = 0; j < i; j++) {
            assert_true(starts[i].id != starts[j].id);
        }
    }
    firn__memory_unshare(starts, sizeof *starts * (size_t)STARTERS);
}

/* A disk that fails: a file system of SQLite's between it and the real one. */

enum operation { READ, WRITE, SYNC, TRUNCATE, LOCK, OPEN, OPERATIONS };

static struct plan {
    enum operation operation;
    bool everything; /* every kind of operation counts, and fails from then on: a crash */
    int nth;         /* the one that fails, from 1; 0: none */
    bool stays;      /* and all later ones */
    bool done;       /* it fails, but was done: a lost reply */
    int code;
    int seen;
    bool hit;
} plan;

typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
} shim_file;

/* Whether an operation is to fail now. */
static bool fails(enum operation operation)
{
    if (plan.nth == 0 || (!plan.everything && operation != plan.operation)) {
        return false;
    }
    plan.seen++;
    const bool now = plan.seen == plan.nth || (plan.stays && plan.seen > plan.nth);
    plan.hit |= now;
    return now;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((shim_file *)file)->real;
}

static int shim_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int shim_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
    return fails(READ) ? plan.code : real_of(file)->pMethods->xRead(real_of(file), bytes, size, at);
}

static int shim_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    sqlite3_file *real = real_of(file);
    if (!fails(WRITE)) {
        return real->pMethods->xWrite(real, bytes, size, at);
    }
    /* A write that fails may have written a part. */
    (void)real->pMethods->xWrite(real, bytes, plan.done ? size : size / 2, at);
    return plan.code;
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = real_of(file);
    const bool bad = fails(TRUNCATE);
    const int code = bad && !plan.done ? SQLITE_OK : real->pMethods->xTruncate(real, size);
    return bad ? plan.code : code;
}

static int64_t sync_takes_ms;

/* No machine is switched off here, so nothing needs to reach the disk. */
static int shim_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    if (sync_takes_ms > 0) {
        firn__clock_sleep(sync_takes_ms * MS_NS);
    }
    return fails(SYNC) ? plan.code : SQLITE_OK;
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    return fails(LOCK) ? plan.code : real_of(file)->pMethods->xLock(real_of(file), level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int shim_reserved(sqlite3_file *file, int *held)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), held);
}

static int shim_control(sqlite3_file *file, int operation, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int shim_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int shim_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 1,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_traits,
};

static sqlite3_vfs *real_system;

static int shim_open(sqlite3_vfs *system, const char *name, sqlite3_file *file, int flags,
                     int *flags_out)
{
    (void)system;
    shim_file *shim = (shim_file *)file;
    shim->real = (sqlite3_file *)(void *)(shim + 1);
    shim->base.pMethods = NULL;
    if (fails(OPEN)) {
        return SQLITE_CANTOPEN;
    }
    const int code = real_system->xOpen(real_system, name, shim->real, flags, flags_out);
    shim->base.pMethods = code == SQLITE_OK ? &shim_methods : NULL;
    return code;
}

/* Puts the shim between SQLite and the file system, for every connection to come. */
static void install_shim(void)
{
    static sqlite3_vfs shim;
    real_system = sqlite3_vfs_find(NULL);
    assert_non_null(real_system);
    shim = *real_system;
    shim.zName = "faulty";
    shim.szOsFile = (int)sizeof(shim_file) + real_system->szOsFile;
    shim.xOpen = shim_open;
    assert_int_equal(sqlite3_vfs_register(&shim, 1), SQLITE_OK);
}

static void remove_shim(void)
{
    assert_int_equal(sqlite3_vfs_register(real_system, 1), SQLITE_OK);
}

static const struct disk {
    const char *name;
    enum operation operation;
    int code;
    bool everything;
    bool done;
} disks[] = {
    {"a full disk", WRITE, SQLITE_FULL, false, false},
    {"a write that fails half-way", WRITE, SQLITE_IOERR_WRITE, false, false},
    {"a write that fails when done", WRITE, SQLITE_IOERR_WRITE, false, true},
    {"a flush that fails", SYNC, SQLITE_IOERR_FSYNC, false, false},
    {"a truncation that fails", TRUNCATE, SQLITE_IOERR_TRUNCATE, false, false},
    {"a truncation that fails when done", TRUNCATE, SQLITE_IOERR_TRUNCATE, false, true},
    {"a lock that fails", LOCK, SQLITE_IOERR_LOCK, false, false},
    {"a read that fails", READ, SQLITE_IOERR_READ, false, false},
    {"a file that cannot be opened", OPEN, SQLITE_CANTOPEN, false, false},
    {"a crash", WRITE, SQLITE_IOERR, true, false},
};

/* A registry on a bad disk, and everything that was ever acknowledged. */
struct ordeal {
    world here;
    firn__environment env;
    firn__url url;
    firn__holder holder;
    firn__grant acknowledged[GRANTS_MAX]; /* one a lease: the last of it that was acknowledged */
    size_t count;
    firn_error error;
};

static int reopen(struct ordeal *ordeal)
{
    int status =
        firn__holder_open(&ordeal->holder, &ordeal->url, TIMEOUT_MS, &ordeal->env, &ordeal->error);
    assert_int_equal(status, FIRN_OK); /* reaches for no file yet */
    return firn__holder_read(&ordeal->holder, &ordeal->error);
}

static bool is_storage_failure(int status)
{
    return status == FIRN_E_REGISTRY_IO || status == FIRN_E_REGISTRY_ACCESS ||
           status == FIRN_E_REGISTRY_BUSY || status == FIRN_E_REGISTRY_CORRUPT;
}

/* Takes a worker, and checks its window against those of all leases before. */
static int take(struct ordeal *ordeal)
{
    firn__grant grant;
    const int status = firn__lease_acquire(&ordeal->holder, 0, &grant, &ordeal->error);
    if (status < 0) {
        return status;
    }
    for (size_t i = 0; i < ordeal->count; i++) {
        const firn__grant *old = &ordeal->acknowledged[i];
        assert_true(old->record.worker != grant.record.worker || grant.start_ms >= old->end_ms);
    }
    assert_true(ordeal->count < GRANTS_MAX);
    ordeal->acknowledged[ordeal->count++] = grant;
    return FIRN_OK;
}

static int renew(struct ordeal *ordeal, size_t index)
{
    world_pass(&ordeal->here, 100);
    return firn__lease_extend(&ordeal->holder, &ordeal->acknowledged[index], 0, 0, &ordeal->error);
}

static void assert_nothing_was_forgotten(struct ordeal *ordeal)
{
    firn_worker found;
    size_t count = 0;
    for (size_t i = 0; i < ordeal->count; i++) {
        const firn__grant *grant = &ordeal->acknowledged[i];
        assert_int_equal(ordeal->holder.backend->list(ordeal->holder.store, grant->record.worker,
                                                      &found, 1, &count, &ordeal->error),
                         FIRN_OK);
        assert_int_equal(count, 1);
        assert_int_equal(found.worker, grant->record.worker);
        assert_true(found.mark_ms >= grant->end_ms);
    }
}

static void begin_ordeal(struct ordeal *ordeal)
{
    memset(ordeal, 0, sizeof *ordeal);
    ordeal->here = world_new(1);
    ordeal->env = world_environment(&ordeal->here);
    ordeal->url = (firn__url){.scheme = "sqlite", .worker = FIRN__ANY_WORKER};
    fresh_path(ordeal->url.path);
}

static void arm(const struct disk *disk, int nth, bool stays)
{
    plan = (struct plan){
        .operation = disk->operation,
        .everything = disk->everything,
        .nth = nth,
        .stays = stays || disk->everything,
        .done = disk->done,
        .code = disk->code,
    };
}

static bool disarm(void)
{
    const bool hit = plan.hit;
    plan = (struct plan){.nth = 0};
    return hit;
}

/* After the fault, on a good disk: the same connection first, then a new one. */
static void recover(struct ordeal *ordeal)
{
    const int status = renew(ordeal, 0);
    if (status != FIRN_OK && status != FIRN_E_CONFLICT) {
        print_message("%s\n", ordeal->error.text);
    }
    assert_true(status == FIRN_OK || status == FIRN_E_CONFLICT);
    assert_nothing_was_forgotten(ordeal);
    firn__holder_close(&ordeal->holder);
    assert_int_equal(reopen(ordeal), FIRN_OK);
    assert_nothing_was_forgotten(ordeal);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take(ordeal), FIRN_OK);
        world_pass(&ordeal->here, WINDOW_MS + 1);
    }
}

/* One fault in the middle of a renewal and of the taking of another worker. Returns whether there
 * were as many operations. */
static bool suffer(const struct disk *disk, int nth, bool stays)
{
    struct ordeal ordeal;
    begin_ordeal(&ordeal);
    assert_int_equal(reopen(&ordeal), FIRN_E_REGISTRY_MISSING);
    const firn_realm realm = firn_realm_default();
    assert_int_equal(firn__holder_create(&ordeal.holder, &realm, &ordeal.error), FIRN_OK);
    assert_int_equal(firn__holder_read(&ordeal.holder, &ordeal.error), FIRN_OK);
    assert_int_equal(take(&ordeal), FIRN_OK);
    if (nth % 2 == 0) { /* half of the time with a connection that is new */
        firn__holder_close(&ordeal.holder);
        assert_int_equal(reopen(&ordeal), FIRN_OK);
    }
    const uint64_t lost = ordeal.holder.lost_replies;
    arm(disk, nth, stays);
    int status = renew(&ordeal, 0);
    if (status == FIRN_OK) {
        status = take(&ordeal);
    }
    const bool hit = disarm();
    assert_true(hit || status == FIRN_OK);
    assert_true(status == FIRN_OK || is_storage_failure(status));
    assert_true(ordeal.holder.lost_replies - lost <= 1);
    recover(&ordeal);
    firn__holder_close(&ordeal.holder);
    return hit;
}

static void a_failing_disk_never_takes_back_what_was_acknowledged(void **state)
{
    (void)state;
    install_shim();
    for (size_t i = 0; i < sizeof disks / sizeof disks[0]; i++) {
        for (int stays = 0; stays <= 1; stays++) {
            int nth = 1;
            while (suffer(&disks[i], nth, stays == 1)) {
                nth++;
                assert_true(nth < FAULTS_MAX);
            }
            print_message("%s, %s: %d places\n", disks[i].name, stays ? "for good" : "once",
                          nth - 1);
            assert_true(nth > 1 || disks[i].operation == OPEN);
        }
    }
    remove_shim();
}

/* One fault while the realm is made. Afterwards there is a whole realm, or none. */
static bool suffer_creation(const struct disk *disk, int nth, bool stays)
{
    struct ordeal ordeal;
    begin_ordeal(&ordeal);
    assert_int_equal(reopen(&ordeal), FIRN_E_REGISTRY_MISSING);
    const firn_realm realm = firn_realm_default();
    arm(disk, nth, stays);
    int status = firn__holder_create(&ordeal.holder, &realm, &ordeal.error);
    const bool hit = disarm();
    assert_true(hit || status == FIRN_OK);
    assert_true(status == FIRN_OK || is_storage_failure(status));
    if (nth % 2 == 0) {
        firn__holder_close(&ordeal.holder);
        (void)reopen(&ordeal);
    }
    status = firn__holder_create(&ordeal.holder, &realm, &ordeal.error);
    if (status != FIRN_OK && status != FIRN_E_REALM_EXISTS) {
        print_message("%s\n", ordeal.error.text);
    }
    assert_true(status == FIRN_OK || status == FIRN_E_REALM_EXISTS);
    assert_int_equal(firn__holder_read(&ordeal.holder, &ordeal.error), FIRN_OK);
    assert_int_equal(take(&ordeal), FIRN_OK);
    firn__holder_close(&ordeal.holder);
    return hit;
}

static void a_failing_disk_leaves_a_whole_realm_or_none(void **state)
{
    (void)state;
    install_shim();
    for (size_t i = 0; i < sizeof disks / sizeof disks[0]; i++) {
        for (int stays = 0; stays <= 1; stays++) {
            int nth = 1;
            while (suffer_creation(&disks[i], nth, stays == 1)) {
                nth++;
                assert_true(nth < FAULTS_MAX);
            }
            print_message("%s, %s: %d places\n", disks[i].name, stays ? "for good" : "once",
                          nth - 1);
        }
    }
    remove_shim();
}

static void a_handle_on_a_failing_disk_goes_on_until_its_window_ends(void **state)
{
    char path[PATH_SIZE];
    firn_error error;
    firn_state now;
    uint64_t id;
    (void)state;
    install_shim();
    fresh_path(path);
    firn *ids = open_live(path, &error);
    arm(&disks[0], 1, true);
    firn__clock_sleep(5 * MS_NS); /* a window that is whole is not renewed */
    assert_int_equal(firn_renew(ids), FIRN_E_REGISTRY_IO);
    assert_int_equal(firn_wait(ids, -1, &id), FIRN_OK);
    assert_int_equal(firn_state_get(ids, &now), FIRN_OK);
    assert_int_equal(now.lost_replies, 1);
    assert_int_equal(now.healthy, 1); /* one failure; nearly all of the window is left */
    assert_true(disarm());
    assert_int_equal(firn_renew(ids), FIRN_OK);
    firn_close(ids);
    remove_shim();
}

static void a_slow_disk_gives_ids_to_those_who_ask_for_a_short_window(void **state)
{
    char path[PATH_SIZE];
    char url[URL_SIZE];
    firn *ids = NULL;
    uint64_t id;
    firn_options options = firn_options_default();
    (void)state;
    install_shim();
    fresh_path(path);
    url_of(path, url);
    make_registry(path);
    options.window_ms = 5;
    sync_takes_ms = 15; /* a commit flushes three times or more */
    assert_int_equal(firn_open(url, &options, &ids), FIRN_OK);
    const int status = firn_wait(ids, 10000 * MS_NS, &id);
    sync_takes_ms = 0;
    assert_int_equal(status, FIRN_OK);
    firn_close(ids);
    remove_shim();
}

static void memory_that_runs_out_in_sqlite_is_said(void **state)
{
    char path[PATH_SIZE];
    firn *ids = NULL;
    firn_error error = {.text = ""};
    (void)state;
    fresh_path(path);
    make_registry(path);
    const sqlite3_int64 before = sqlite3_hard_heap_limit64(sqlite3_memory_used() + 4096);
    const int status = open_at(path, 0, &error, &ids);
    (void)sqlite3_hard_heap_limit64(before);
    assert_int_equal(status, FIRN_E_MEMORY);
    assert_int_equal(open_at(path, 0, &error, &ids), FIRN_OK);
    firn_close(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_not_sqlite_is_refused),
        cmocka_unit_test(another_applications_database_is_refused),
        cmocka_unit_test(another_applications_journal_mode_is_left_alone),
        cmocka_unit_test(an_empty_file_is_no_registry_yet),
        cmocka_unit_test(a_missing_file_is_not_made_unasked),
        cmocka_unit_test(a_newer_format_is_refused),
        cmocka_unit_test(a_damaged_file_is_refused),
        cmocka_unit_test(a_realm_without_its_row_or_table_is_damaged),
        cmocka_unit_test(a_deleted_row_is_refused_until_adopted),
        cmocka_unit_test(the_file_itself_guards_marks_and_records),
        cmocka_unit_test(replacing_a_row_does_not_lower_its_mark),
        cmocka_unit_test(an_adoption_is_written_to_the_log),
        cmocka_unit_test(a_read_only_file_is_refused),
        cmocka_unit_test(a_read_only_folder_is_refused),
        cmocka_unit_test(a_missing_folder_is_named),
        cmocka_unit_test(a_folder_is_not_a_registry),
        cmocka_unit_test(a_network_file_system_is_refused_by_name),
        cmocka_unit_test(local_file_systems_have_no_network_name),
        cmocka_unit_test(a_file_replaced_by_its_copy_is_another_registry),
        cmocka_unit_test(a_deleted_file_is_missed_and_not_made_again),
        cmocka_unit_test(a_file_moved_away_and_back_is_the_same_registry),
        cmocka_unit_test(a_record_edited_by_hand_is_a_conflict),
        cmocka_unit_test(a_locked_file_is_busy_within_the_timeout),
        cmocka_unit_test(a_cold_start_of_many_gives_each_its_own_worker),
        cmocka_unit_test(a_failing_disk_never_takes_back_what_was_acknowledged),
        cmocka_unit_test(a_failing_disk_leaves_a_whole_realm_or_none),
        cmocka_unit_test(a_handle_on_a_failing_disk_goes_on_until_its_window_ends),
        cmocka_unit_test(a_slow_disk_gives_ids_to_those_who_ask_for_a_short_window),
        cmocka_unit_test(memory_that_runs_out_in_sqlite_is_said),
    };
    if (world_folder_begin(folder) < 0 || chmod(folder, 0755) != 0) {
        return 1;
    }
    const int failed = cmocka_run_group_tests_name("registry: sqlite", tests, NULL, NULL);
    world_folder_end(folder);
    return failed;
}

#endif
