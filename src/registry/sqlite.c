/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * The embedded registry: one SQLite file, one machine, any number of processes. What a lease is, is
 * lease.c's; this file keeps the contract of backend.h.
 *
 * The journal is a rollback journal that is truncated, with synchronous=FULL: the one mode in which
 * a commit is durable, the file alone holds the truth, and a fork leaves nothing half shared. A
 * write-ahead log is faster, but a -wal file that somebody removes takes marks back, and its shared
 * memory does not survive a fork. See docs/design.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "port/clock.h"
#include "port/file.h"
#include "registry/backend.h"

#define APPLICATION_ID    0x6669726e /* "firn" */
#define FORMAT_VERSION    1
#define WINDOW_MS         3000
#define BUSY_SLEEP_MIN_US 300
#define BUSY_SLEEP_STEPS  8
#define SHOWN_SIZE        201
/* SQLite takes a file that is smaller than its header for an empty one. */
#define HEADER_SIZE 100

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)

struct store {
    sqlite3 *db;
    int64_t timeout_ms;
    int64_t deadline_ns;
    char path[FIRN__URL_SIZE + 2];
    char shown[SHOWN_SIZE]; /* the path for messages */
};

static const char schema[] =
    "CREATE TABLE firn_realm ("
    " one INTEGER PRIMARY KEY CHECK (one = 1), uuid BLOB NOT NULL, layout TEXT NOT NULL,"
    " window_ms INTEGER NOT NULL, grace_ms INTEGER NOT NULL, skew_max_ms INTEGER NOT NULL,"
    " worker_first INTEGER NOT NULL, worker_last INTEGER NOT NULL,"
    " workers_used INTEGER NOT NULL, adoptions INTEGER NOT NULL, identity TEXT NOT NULL,"
    " floor_ms INTEGER NOT NULL);"
    "CREATE TABLE firn_worker ("
    " worker INTEGER PRIMARY KEY, released INTEGER NOT NULL, mark_ms INTEGER NOT NULL,"
    " counter INTEGER NOT NULL, holder BLOB NOT NULL, attempt BLOB NOT NULL, note TEXT NOT NULL);"
    "CREATE TABLE firn_log (at_ms INTEGER NOT NULL, event TEXT NOT NULL);"
    "CREATE TRIGGER firn_mark_only_grows BEFORE UPDATE ON firn_worker"
    " WHEN new.mark_ms < old.mark_ms OR new.worker <> old.worker"
    " BEGIN SELECT raise(ABORT, 'a mark only grows'); END;"
    "CREATE TRIGGER firn_mark_is_not_replaced BEFORE INSERT ON firn_worker"
    " WHEN EXISTS (SELECT 1 FROM firn_worker WHERE worker = new.worker)"
    " BEGIN SELECT raise(IGNORE); END;"
    "CREATE TRIGGER firn_worker_stays BEFORE DELETE ON firn_worker"
    " BEGIN SELECT raise(ABORT, 'a mark stays'); END;"
    "CREATE TRIGGER firn_realm_stays BEFORE DELETE ON firn_realm"
    " BEGIN SELECT raise(ABORT, 'a realm stays'); END;"
    "PRAGMA application_id = " TEXT_OF(APPLICATION_ID) ";"
                                                       "PRAGMA user_version = " TEXT_OF(
                                                           FORMAT_VERSION) ";";

static int status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return FIRN_E_REGISTRY_BUSY;
    case SQLITE_NOMEM:
        return FIRN_E_MEMORY;
    case SQLITE_NOTADB:
        return FIRN_E_REGISTRY_FORMAT;
    case SQLITE_CORRUPT:
    case SQLITE_ERROR: /* a statement that does not fit: a table or a column is gone */
        return FIRN_E_REGISTRY_CORRUPT;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return FIRN_E_REGISTRY_ACCESS;
    default:
        return FIRN_E_REGISTRY_IO;
    }
}

static int sqlite_error(const struct store *store, int code, firn_error *error_out)
{
    const int status = status_of(code);
    return firn__error(error_out, status, FIRN__NO_POSITION, "registry %s: %s (%s): %s",
                       store->shown, firn_status_text(status),
                       store->db == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(store->db),
                       firn_status_hint(status));
}

/* Short sleeps of different lengths: many processes that wait for one lock then rarely collide, and
 * none waits long after it is free. */
static int on_busy(void *context, int count)
{
    const struct store *store = context;
    if (firn__clock_monotonic_ns() >= store->deadline_ns) {
        return 0;
    }
    const unsigned step = (unsigned)(getpid() + count) % BUSY_SLEEP_STEPS + 1;
    firn__clock_sleep((int64_t)step * BUSY_SLEEP_MIN_US * 1000);
    return 1;
}

static void start_clock(struct store *store)
{
    store->deadline_ns = firn__clock_monotonic_ns() + store->timeout_ms * 1000000;
}

static int run(struct store *store, const char *sql, firn_error *error_out)
{
    const int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? FIRN_OK : sqlite_error(store, code, error_out);
}

/* Ends a transaction: a commit if all went well, else nothing was written. */
static int end(struct store *store, int status, firn_error *error_out)
{
    if (status == FIRN_OK) {
        status = run(store, "COMMIT", error_out);
    }
    if (status < 0) {
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

/* One number that a statement gives. */
static int ask(struct store *store, const char *sql, int64_t *answer_out, firn_error *error_out)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        *answer_out = sqlite3_column_int64(statement, 0);
        code = SQLITE_OK;
    }
    const int status = code == SQLITE_OK ? FIRN_OK : sqlite_error(store, code, error_out);
    (void)sqlite3_finalize(statement);
    return status;
}

static void disconnect(struct store *store)
{
    (void)sqlite3_close(store->db);
    store->db = NULL;
}

static int connect(struct store *store, int flags, firn_error *error_out)
{
    if (store->db != NULL) {
        return FIRN_OK;
    }
    int code = sqlite3_open_v2(store->path, &store->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | flags, NULL);
    if (code != SQLITE_OK) {
        const int status = sqlite_error(store, code, error_out);
        disconnect(store);
        return status;
    }
    (void)sqlite3_extended_result_codes(store->db, 1);
    (void)sqlite3_busy_handler(store->db, on_busy, store);
    if (sqlite3_db_readonly(store->db, "main") == 1) {
        disconnect(store);
        return firn__error(error_out, FIRN_E_REGISTRY_ACCESS, FIRN__NO_POSITION,
                           "registry %s: the file is read-only to this user: %s", store->shown,
                           firn_status_hint(FIRN_E_REGISTRY_ACCESS));
    }
    return FIRN_OK;
}

/* Inside a transaction, so that what it reads belongs together. Whether the file is a registry of ours:
 * FIRN_OK, _REGISTRY_MISSING for an empty one, or an error.
 */
static int check_format(struct store *store, firn_error *error_out)
{
    int64_t application = 0;
    int64_t version = 0;
    int64_t tables = 0;
    int status = ask(store, "PRAGMA application_id", &application, error_out);
    status = status < 0 ? status : ask(store, "PRAGMA user_version", &version, error_out);
    status =
        status < 0 ? status : ask(store, "SELECT count(*) FROM sqlite_master", &tables, error_out);
    if (status < 0) {
        return status;
    }
    if (application == 0 && tables == 0) {
        return firn__error(error_out, FIRN_E_REGISTRY_MISSING, FIRN__NO_POSITION,
                           "registry %s: the file is empty: %s", store->shown,
                           firn_status_hint(FIRN_E_REGISTRY_MISSING));
    }
    if (application != APPLICATION_ID) {
        return firn__error(error_out, FIRN_E_REGISTRY_FORMAT, FIRN__NO_POSITION,
                           "registry %s: a SQLite file, but not a firn registry: %s", store->shown,
                           firn_status_hint(FIRN_E_REGISTRY_FORMAT));
    }
    if (version > FORMAT_VERSION) {
        return firn__error(error_out, FIRN_E_REGISTRY_NEWER, FIRN__NO_POSITION,
                           "registry %s: format %" PRId64 ", this firn knows up to %d: %s",
                           store->shown, version, FORMAT_VERSION,
                           firn_status_hint(FIRN_E_REGISTRY_NEWER));
    }
    return FIRN_OK;
}

/* Once it is known that the file is ours to write: the journal mode is kept in some files. */
static int make_durable(struct store *store, firn_error *error_out)
{
    return run(store, "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;", error_out);
}

/* Reads without writing: a file that another process is just making is seen whole or not at all. */
static int look_at_format(struct store *store, firn_error *error_out)
{
    int64_t size = 0;
    (void)firn__file_size(store->path, &size);
    int status = run(store, "BEGIN", error_out);
    status = status < 0 ? status : end(store, check_format(store, error_out), error_out);
    if (status == FIRN_E_REGISTRY_MISSING && size > 0 && size < HEADER_SIZE) {
        return firn__error(error_out, FIRN_E_REGISTRY_FORMAT, FIRN__NO_POSITION,
                           "registry %s: a file of %" PRId64 " bytes: %s", store->shown, size,
                           firn_status_hint(FIRN_E_REGISTRY_FORMAT));
    }
    return status;
}

/* The connection, if there is a registry to connect to. */
static int reach(struct store *store, firn_error *error_out)
{
    start_clock(store);
    if (store->db != NULL) {
        return FIRN_OK;
    }
    char text[FIRN__REASON_SIZE];
    int64_t size;
    const int reason = firn__file_size(store->path, &size);
    if (reason != 0) {
        const int status = reason == ENOENT ? FIRN_E_REGISTRY_MISSING : FIRN_E_REGISTRY_ACCESS;
        return firn__error(error_out, status, FIRN__NO_POSITION, "registry %s: %s: %s",
                           store->shown, firn__file_reason(reason, text), firn_status_hint(status));
    }
    int status = connect(store, 0, error_out);
    status = status < 0 ? status : look_at_format(store, error_out);
    status = status < 0 ? status : make_durable(store, error_out);
    if (status < 0) {
        disconnect(store);
    }
    return status;
}

/* The folder of a path, for questions about its file system before the file exists. */
static void folder_of(const char *path, char *buf, size_t buf_size)
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(buf, buf_size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static int store_open(const firn__url *url, int64_t timeout_ms, void **store_out,
                      firn_error *error_out)
{
    char folder[FIRN__URL_SIZE + 2];
    char text[FIRN__REASON_SIZE];
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return firn__error(error_out, FIRN_E_MEMORY, FIRN__NO_POSITION, NULL);
    }
    /* SQLite gives names such as ":memory:" a meaning of their own; with a slash they are files. */
    (void)snprintf(store->path, sizeof store->path, "%s%s", url->path[0] == '/' ? "" : "./",
                   url->path);
    firn__text_copy(store->shown, sizeof store->shown, store->path);
    store->timeout_ms = timeout_ms;
    folder_of(store->path, folder, sizeof folder);
    int64_t size;
    const int reason = firn__file_size(folder, &size);
    const char *network = firn__file_network(folder);
    if (reason != 0 || network != NULL) {
        const int status = reason != 0 ? FIRN_E_REGISTRY_ACCESS : FIRN_E_REGISTRY_NETWORK;
        (void)firn__error(error_out, status, FIRN__NO_POSITION, "registry %s: its folder: %s: %s",
                          store->shown, reason != 0 ? firn__file_reason(reason, text) : network,
                          firn_status_hint(status));
        free(store);
        return status;
    }
    *store_out = store;
    return FIRN_OK;
}

static void store_close(void *context)
{
    struct store *store = context;
    disconnect(store);
    free(store);
}

static int store_identify(void *context, char identity_out[FIRN_IDENTITY_SIZE],
                          firn_error *error_out)
{
    const struct store *store = context;
    char text[FIRN__REASON_SIZE];
    const int reason = firn__file_identity(store->path, identity_out, FIRN_IDENTITY_SIZE);
    return reason == 0
               ? FIRN_OK
               : firn__error(error_out, FIRN_E_REGISTRY_MISSING, FIRN__NO_POSITION,
                             "registry %s: %s: %s", store->shown, firn__file_reason(reason, text),
                             firn_status_hint(FIRN_E_REGISTRY_MISSING));
}

/* Statement arguments, bound by position. */
static void bind_blob(sqlite3_stmt *statement, int position, const uint8_t bytes[16])
{
    (void)sqlite3_bind_blob(statement, position, bytes, 16, SQLITE_STATIC);
}

static void bind_text(sqlite3_stmt *statement, int position, const char *text)
{
    (void)sqlite3_bind_text(statement, position, text, -1, SQLITE_STATIC);
}

static void bind_worker(sqlite3_stmt *statement, int position, const firn_worker *worker)
{
    (void)sqlite3_bind_int64(statement, position, worker->worker);
    (void)sqlite3_bind_int64(statement, position + 1, worker->released);
    (void)sqlite3_bind_int64(statement, position + 2, worker->mark_ms);
    (void)sqlite3_bind_int64(statement, position + 3, (sqlite3_int64)worker->counter);
    bind_blob(statement, position + 4, worker->holder);
    bind_blob(statement, position + 5, worker->attempt);
    bind_text(statement, position + 6, worker->note);
}

#define WORKER_COLUMNS 7

/* Runs a statement to its end and says how many rows it changed. */
static int finish(struct store *store, sqlite3_stmt *statement, int *changes_out,
                  firn_error *error_out)
{
    const int code = sqlite3_step(statement);
    *changes_out = sqlite3_changes(store->db);
    const int status =
        code == SQLITE_DONE || code == SQLITE_ROW ? FIRN_OK : sqlite_error(store, code, error_out);
    (void)sqlite3_finalize(statement);
    return status;
}

static int prepare(struct store *store, const char *sql, sqlite3_stmt **statement_out,
                   firn_error *error_out)
{
    const int code = sqlite3_prepare_v2(store->db, sql, -1, statement_out, NULL);
    return code == SQLITE_OK ? FIRN_OK : sqlite_error(store, code, error_out);
}

static int insert_realm(struct store *store, const firn_realm *realm, firn_error *error_out)
{
    char identity[FIRN_IDENTITY_SIZE];
    sqlite3_stmt *statement;
    int changes;
    int status = store_identify(store, identity, error_out);
    status =
        status < 0
            ? status
            : prepare(store, "INSERT INTO firn_realm VALUES (1, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, 0)",
                      &statement, error_out);
    if (status < 0) {
        return status;
    }
    bind_blob(statement, 1, realm->uuid);
    bind_text(statement, 2, realm->layout);
    (void)sqlite3_bind_int64(statement, 3, realm->window_ms);
    (void)sqlite3_bind_int64(statement, 4, realm->grace_ms);
    (void)sqlite3_bind_int64(statement, 5, realm->skew_max_ms);
    (void)sqlite3_bind_int64(statement, 6, realm->worker_first);
    (void)sqlite3_bind_int64(statement, 7, realm->worker_last);
    bind_text(statement, 8, identity);
    return finish(store, statement, &changes, error_out);
}

static int create_in(struct store *store, const firn_realm *realm, firn_error *error_out)
{
    int status = check_format(store, error_out);
    if (status == FIRN_OK) {
        return firn__error(error_out, FIRN_E_REALM_EXISTS, FIRN__NO_POSITION,
                           "registry %s: there is a realm already: %s", store->shown,
                           firn_status_hint(FIRN_E_REALM_EXISTS));
    }
    if (status != FIRN_E_REGISTRY_MISSING) {
        return status;
    }
    status = run(store, schema, error_out);
    return status < 0 ? status : insert_realm(store, realm, error_out);
}

static int store_create(void *context, const firn_realm *realm, firn_error *error_out)
{
    struct store *store = context;
    start_clock(store);
    int status = connect(store, SQLITE_OPEN_CREATE, error_out);
    if (status == FIRN_OK) {
        status = look_at_format(store, error_out);
        status = status == FIRN_E_REGISTRY_MISSING ? FIRN_OK : status;
    }
    status = status < 0 ? status : make_durable(store, error_out);
    status = status < 0 ? status : run(store, "BEGIN IMMEDIATE", error_out);
    if (status < 0) {
        disconnect(store);
        return status;
    }
    return end(store, create_in(store, realm, error_out), error_out);
}

static void copy_text(sqlite3_stmt *statement, int column, char *buf, size_t buf_size)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    (void)snprintf(buf, buf_size, "%s", text == NULL ? "" : (const char *)text);
}

static void copy_blob(sqlite3_stmt *statement, int column, uint8_t bytes[16])
{
    const void *blob = sqlite3_column_blob(statement, column);
    memset(bytes, 0, 16);
    if (blob != NULL && sqlite3_column_bytes(statement, column) == 16) {
        memcpy(bytes, blob, 16);
    }
}

static int store_read(void *context, firn_realm *realm_out, firn_error *error_out)
{
    struct store *store = context;
    sqlite3_stmt *statement;
    int status = reach(store, error_out);
    status =
        status < 0
            ? status
            : prepare(store,
                      "SELECT uuid, layout, window_ms, grace_ms, skew_max_ms, worker_first,"
                      " worker_last, workers_used, adoptions, identity, floor_ms FROM firn_realm",
                      &statement, error_out);
    if (status < 0) {
        return status;
    }
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        copy_blob(statement, 0, realm_out->uuid);
        copy_text(statement, 1, realm_out->layout, sizeof realm_out->layout);
        realm_out->window_ms = sqlite3_column_int64(statement, 2);
        realm_out->grace_ms = sqlite3_column_int64(statement, 3);
        realm_out->skew_max_ms = sqlite3_column_int64(statement, 4);
        realm_out->worker_first = (uint32_t)sqlite3_column_int64(statement, 5);
        realm_out->worker_last = (uint32_t)sqlite3_column_int64(statement, 6);
        realm_out->workers_used = (uint32_t)sqlite3_column_int64(statement, 7);
        realm_out->adoptions = (uint32_t)sqlite3_column_int64(statement, 8);
        copy_text(statement, 9, realm_out->identity, sizeof realm_out->identity);
        realm_out->floor_ms = sqlite3_column_int64(statement, 10);
    } else if (code == SQLITE_DONE) {
        status = firn__error(error_out, FIRN_E_REGISTRY_CORRUPT, FIRN__NO_POSITION,
                             "registry %s: the realm's record is gone: %s", store->shown,
                             firn_status_hint(FIRN_E_REGISTRY_CORRUPT));
    } else {
        status = sqlite_error(store, code, error_out);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static void copy_worker(sqlite3_stmt *statement, firn_worker *worker)
{
    memset(worker, 0, sizeof *worker);
    worker->worker = (uint32_t)sqlite3_column_int64(statement, 0);
    worker->released = (uint32_t)sqlite3_column_int64(statement, 1);
    worker->mark_ms = sqlite3_column_int64(statement, 2);
    worker->counter = (uint64_t)sqlite3_column_int64(statement, 3);
    copy_blob(statement, 4, worker->holder);
    copy_blob(statement, 5, worker->attempt);
    copy_text(statement, 6, worker->note, sizeof worker->note);
}

static int store_list(void *context, uint32_t first, firn_worker *workers_out, size_t workers_count,
                      size_t *count_out, firn_error *error_out)
{
    struct store *store = context;
    sqlite3_stmt *statement;
    int status = reach(store, error_out);
    status = status < 0 ? status
                        : prepare(store,
                                  "SELECT worker, released, mark_ms, counter, holder, attempt, note"
                                  " FROM firn_worker WHERE worker >= ? ORDER BY worker LIMIT ?",
                                  &statement, error_out);
    if (status < 0) {
        return status;
    }
    (void)sqlite3_bind_int64(statement, 1, first);
    (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)workers_count);
    size_t count = 0;
    int code = sqlite3_step(statement);
    while (code == SQLITE_ROW && count < workers_count) {
        copy_worker(statement, &workers_out[count++]);
        code = sqlite3_step(statement);
    }
    if (code != SQLITE_DONE) {
        status = sqlite_error(store, code, error_out);
    } else {
        *count_out = count;
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* The realm must be the one that the caller knows, in a format that this library knows, and this file
 * still its home. */
static int check_realm(struct store *store, const firn_realm *realm, firn_error *error_out)
{
    char identity[FIRN_IDENTITY_SIZE];
    sqlite3_stmt *statement;
    int status = check_format(store, error_out);
    status = status < 0 ? status : store_identify(store, identity, error_out);
    if (status == FIRN_OK && strcmp(identity, realm->identity) != 0) {
        status =
            firn__error(error_out, FIRN_E_REGISTRY_MOVED, FIRN__NO_POSITION,
                        "registry %s: another file lies there now (%s, not %s): %s", store->shown,
                        identity, realm->identity, firn_status_hint(FIRN_E_REGISTRY_MOVED));
    }
    status = status < 0 ? status
                        : prepare(store,
                                  "SELECT 1 FROM firn_realm WHERE uuid = ? AND layout = ?"
                                  " AND identity = ? AND adoptions = ?",
                                  &statement, error_out);
    if (status < 0) {
        return status;
    }
    bind_blob(statement, 1, realm->uuid);
    bind_text(statement, 2, realm->layout);
    bind_text(statement, 3, realm->identity);
    (void)sqlite3_bind_int64(statement, 4, realm->adoptions);
    const int code = sqlite3_step(statement);
    if (code != SQLITE_ROW) {
        status = code == SQLITE_DONE ? FIRN_E_CONFLICT : sqlite_error(store, code, error_out);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* A new worker, counted in the realm in the same transaction (R5). */
static int insert_worker(struct store *store, const firn_realm *realm, const firn_worker *desired,
                         firn_error *error_out)
{
    sqlite3_stmt *statement;
    int changes;
    int status = prepare(
        store, "UPDATE firn_realm SET workers_used = workers_used + 1 WHERE workers_used = ?",
        &statement, error_out);
    if (status < 0) {
        return status;
    }
    (void)sqlite3_bind_int64(statement, 1, realm->workers_used);
    status = finish(store, statement, &changes, error_out);
    if (status < 0 || changes != 1) {
        return status < 0 ? status : FIRN_E_CONFLICT;
    }
    status = prepare(store, "INSERT OR IGNORE INTO firn_worker VALUES (?, ?, ?, ?, ?, ?, ?)",
                     &statement, error_out);
    if (status < 0) {
        return status;
    }
    bind_worker(statement, 1, desired);
    status = finish(store, statement, &changes, error_out);
    return status == FIRN_OK && changes != 1 ? FIRN_E_CONFLICT : status;
}

/* R1: the whole record is compared, and the mark only grows (R3). */
static int update_worker(struct store *store, const firn_worker *expected,
                         const firn_worker *desired, firn_error *error_out)
{
    sqlite3_stmt *statement;
    int changes;
    int status = prepare(store,
                         "UPDATE firn_worker SET worker = ?, released = ?, mark_ms = ?3,"
                         " counter = ?, holder = ?, attempt = ?, note = ?"
                         " WHERE worker = ? AND released = ? AND mark_ms = ? AND counter = ?"
                         " AND holder = ? AND attempt = ? AND note = ? AND mark_ms <= ?3",
                         &statement, error_out);
    if (status < 0) {
        return status;
    }
    bind_worker(statement, 1, desired);
    bind_worker(statement, 1 + WORKER_COLUMNS, expected);
    status = finish(store, statement, &changes, error_out);
    return status == FIRN_OK && changes != 1 ? FIRN_E_CONFLICT : status;
}

static int store_swap(void *context, const firn_realm *realm, const firn_worker *expected,
                      const firn_worker *desired, firn_error *error_out)
{
    struct store *store = context;
    int status = reach(store, error_out);
    status = status < 0 ? status : run(store, "BEGIN IMMEDIATE", error_out);
    if (status < 0) {
        return status;
    }
    status = check_realm(store, realm, error_out);
    if (status == FIRN_OK) {
        status = expected == NULL ? insert_worker(store, realm, desired, error_out)
                                  : update_worker(store, expected, desired, error_out);
    }
    return end(store, status, error_out);
}

static int raise_marks(struct store *store, int64_t floor_ms, int64_t raise_ms,
                       firn_error *error_out)
{
    sqlite3_stmt *statement;
    int changes;
    const int status = prepare(store,
                               "UPDATE firn_worker SET mark_ms = max(mark_ms + ?, ?),"
                               " counter = counter + 1, attempt = randomblob(16)",
                               &statement, error_out);
    if (status < 0) {
        return status;
    }
    (void)sqlite3_bind_int64(statement, 1, raise_ms);
    (void)sqlite3_bind_int64(statement, 2, floor_ms);
    return finish(store, statement, &changes, error_out);
}

static int record_adoption(struct store *store, int64_t floor_ms, const char *reason,
                           firn_error *error_out)
{
    char identity[FIRN_IDENTITY_SIZE];
    sqlite3_stmt *statement;
    int changes;
    int status = store_identify(store, identity, error_out);
    status =
        status < 0
            ? status
            : prepare(store,
                      "UPDATE firn_realm SET identity = ?, floor_ms = ?, adoptions = adoptions + 1,"
                      " workers_used = (SELECT count(*) FROM firn_worker)",
                      &statement, error_out);
    if (status < 0) {
        return status;
    }
    bind_text(statement, 1, identity);
    (void)sqlite3_bind_int64(statement, 2, floor_ms);
    status = finish(store, statement, &changes, error_out);
    status = status < 0 ? status
                        : prepare(store, "INSERT INTO firn_log VALUES (?, 'adopted: ' || ?)",
                                  &statement, error_out);
    if (status < 0) {
        return status;
    }
    (void)sqlite3_bind_int64(statement, 1, firn__clock_real_ns() / 1000000);
    bind_text(statement, 2, reason);
    return finish(store, statement, &changes, error_out);
}

static int store_adopt(void *context, int64_t floor_ms, int64_t raise_ms, const char *reason,
                       firn_error *error_out)
{
    struct store *store = context;
    int status = reach(store, error_out);
    status = status < 0 ? status : run(store, "BEGIN IMMEDIATE", error_out);
    if (status < 0) {
        return status;
    }
    status = raise_marks(store, floor_ms, raise_ms, error_out);
    status = status < 0 ? status : record_adoption(store, floor_ms, reason, error_out);
    return end(store, status, error_out);
}

static int store_clock(void *context, int64_t *now_ms_out, firn_error *error_out)
{
    (void)context;
    (void)now_ms_out;
    (void)error_out;
    return FIRN_E_UNSUPPORTED;
}

const firn__backend firn__sqlite_backend = {
    .version = FIRN__BACKEND_VERSION,
    .scheme = "sqlite",
    .window_ms = WINDOW_MS,
    .grace_ms = 0,
    .open = store_open,
    .close = store_close,
    .create = store_create,
    .read = store_read,
    .identify = store_identify,
    .list = store_list,
    .swap = store_swap,
    .adopt = store_adopt,
    .clock = store_clock,
};
