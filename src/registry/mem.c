/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The in-memory registry, mem:NAME: for tests and simulations, inside one process. It keeps the
 * contract of backend.h to the letter; mem.h lets tests break it on purpose.
 *
 * stores_mutex guards the list of stores and everything in them. */
#include "registry/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "port/environment.h"

#define WINDOW_MS 3000

struct store {
    struct store *next;
    char name[64];
    bool has_realm;
    firn_realm realm;
    firn_worker *records; /* by number */
    size_t record_count;
    size_t record_capacity;
    firn__mem_faults faults;
};

static pthread_mutex_t stores_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct store *stores;

static struct store *store_find(const char *name)
{
    for (struct store *store = stores; store != NULL; store = store->next) {
        if (strcmp(store->name, name) == 0) {
            return store;
        }
    }
    return NULL;
}

static struct store *store_find_or_make(const char *name)
{
    struct store *store = store_find(name);
    if (store != NULL || strlen(name) >= sizeof store->name) {
        return store;
    }
    store = calloc(1, sizeof *store);
    if (store != NULL) {
        memcpy(store->name, name, strlen(name) + 1);
        store->next = stores;
        stores = store;
    }
    return store;
}

static int mem_open(const firn__url *url, int64_t timeout_ms, void **store_out,
                    firn_error *error_out)
{
    (void)timeout_ms;
    (void)pthread_mutex_lock(&stores_mutex);
    struct store *store = store_find_or_make(url->path);
    (void)pthread_mutex_unlock(&stores_mutex);
    if (store == NULL) {
        return firn__error(error_out, strlen(url->path) >= 64 ? FIRN_E_URL : FIRN_E_MEMORY,
                           FIRN__NO_POSITION, NULL);
    }
    *store_out = store;
    return FIRN_OK;
}

static void mem_close(void *store)
{
    (void)store; /* it outlives its users, as a registry must */
}

static void identify(const struct store *store, char identity_out[FIRN_IDENTITY_SIZE])
{
    if (store->faults.identity != NULL) {
        (void)snprintf(identity_out, FIRN_IDENTITY_SIZE, "%s", store->faults.identity);
    } else {
        /* A forked child has a copy, and a copy is another store (R9). */
        (void)snprintf(identity_out, FIRN_IDENTITY_SIZE, "memory of process %016" PRIx64,
                       firn__memory_fork_mark());
    }
}

static int mem_identify(void *context, char identity_out[FIRN_IDENTITY_SIZE], firn_error *error_out)
{
    const struct store *store = context;
    if (store->faults.read_status < 0) {
        return firn__error(error_out, store->faults.read_status, FIRN__NO_POSITION, NULL);
    }
    identify(store, identity_out);
    return FIRN_OK;
}

static int mem_create(void *context, const firn_realm *realm, firn_error *error_out)
{
    struct store *store = context;
    (void)pthread_mutex_lock(&stores_mutex);
    int status = store->has_realm ? FIRN_E_REALM_EXISTS : FIRN_OK;
    if (status == FIRN_OK) {
        store->realm = *realm;
        status = mem_identify(store, store->realm.identity, error_out);
        store->has_realm = status == FIRN_OK;
    }
    (void)pthread_mutex_unlock(&stores_mutex);
    return status < 0 ? firn__error(error_out, status, FIRN__NO_POSITION, NULL) : FIRN_OK;
}

static int mem_read(void *context, firn_realm *realm_out, firn_error *error_out)
{
    struct store *store = context;
    (void)pthread_mutex_lock(&stores_mutex);
    int status = store->has_realm ? store->faults.read_status : FIRN_E_REGISTRY_MISSING;
    if (status == FIRN_OK) {
        *realm_out = store->realm;
    }
    (void)pthread_mutex_unlock(&stores_mutex);
    return status < 0 ? firn__error(error_out, status, FIRN__NO_POSITION, NULL) : FIRN_OK;
}

static int mem_list(void *context, uint32_t first, firn_worker *workers_out, size_t workers_count,
                    size_t *count_out, firn_error *error_out)
{
    struct store *store = context;
    size_t count = 0;
    (void)pthread_mutex_lock(&stores_mutex);
    const int status = store->faults.read_status;
    for (size_t i = 0; i < store->record_count && count < workers_count; i++) {
        if (store->records[i].worker >= first) {
            workers_out[count++] = store->records[i];
        }
    }
    (void)pthread_mutex_unlock(&stores_mutex);
    if (status < 0) {
        return firn__error(error_out, status, FIRN__NO_POSITION, NULL);
    }
    *count_out = count;
    return FIRN_OK;
}

static firn_worker *record_find(struct store *store, uint32_t worker)
{
    for (size_t i = 0; i < store->record_count; i++) {
        if (store->records[i].worker == worker) {
            return &store->records[i];
        }
    }
    return NULL;
}

static int record_add(struct store *store, const firn_worker *desired)
{
    if (store->record_count == store->record_capacity) {
        const size_t capacity = store->record_capacity * 2 + 16;
        firn_worker *records = realloc(store->records, capacity * sizeof *records);
        if (records == NULL) {
            return FIRN_E_MEMORY;
        }
        store->records = records;
        store->record_capacity = capacity;
    }
    size_t at = store->record_count;
    while (at > 0 && store->records[at - 1].worker > desired->worker) {
        store->records[at] = store->records[at - 1];
        at--;
    }
    store->records[at] = *desired;
    store->record_count++;
    store->realm.workers_used++;
    return FIRN_OK;
}

static bool same_record(const firn_worker *a, const firn_worker *b)
{
    return a->worker == b->worker && a->released == b->released && a->mark_ms == b->mark_ms &&
           a->counter == b->counter && memcmp(a->holder, b->holder, sizeof a->holder) == 0 &&
           memcmp(a->attempt, b->attempt, sizeof a->attempt) == 0 && strcmp(a->note, b->note) == 0;
}

static bool same_realm(const firn_realm *a, const firn_realm *b)
{
    return memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0 && strcmp(a->layout, b->layout) == 0 &&
           strcmp(a->identity, b->identity) == 0 && a->adoptions == b->adoptions;
}

static int swap_record(struct store *store, const firn_realm *realm, const firn_worker *expected,
                       const firn_worker *desired)
{
    char identity[FIRN_IDENTITY_SIZE];
    firn_worker *stored = record_find(store, desired->worker);
    if (store->faults.accepts_all) {
        return FIRN_OK;
    }
    if (!store->has_realm || !same_realm(&store->realm, realm)) {
        return FIRN_E_CONFLICT;
    }
    identify(store, identity);
    if (strcmp(identity, realm->identity) != 0) {
        return FIRN_E_REGISTRY_MOVED;
    }
    if (expected == NULL) {
        return stored == NULL && store->realm.workers_used == realm->workers_used
                   ? record_add(store, desired)
                   : FIRN_E_CONFLICT;
    }
    if (stored == NULL || !same_record(stored, expected) || desired->mark_ms < stored->mark_ms) {
        return FIRN_E_CONFLICT;
    }
    *stored = *desired;
    return FIRN_OK;
}

static int mem_swap(void *context, const firn_realm *realm, const firn_worker *expected,
                    const firn_worker *desired, firn_error *error_out)
{
    struct store *store = context;
    (void)pthread_mutex_lock(&stores_mutex);
    int status = store->faults.swap_status;
    if (status == FIRN_OK || store->faults.swap_applies) {
        const int answer = swap_record(store, realm, expected, desired);
        status = status == FIRN_OK ? answer : status;
    }
    (void)pthread_mutex_unlock(&stores_mutex);
    if (status < 0 && status != FIRN_E_CONFLICT) {
        return firn__error(error_out, status, FIRN__NO_POSITION, NULL);
    }
    return status;
}

static int mem_adopt(void *context, int64_t floor_ms, int64_t raise_ms, const char *reason,
                     firn_error *error_out)
{
    struct store *store = context;
    (void)reason; /* it dies with the process, and so does the log of it */
    (void)pthread_mutex_lock(&stores_mutex);
    int status = mem_identify(store, store->realm.identity, error_out);
    for (size_t i = 0; status == FIRN_OK && i < store->record_count; i++) {
        firn_worker *record = &store->records[i];
        const int64_t raised_ms = record->mark_ms + raise_ms;
        record->mark_ms = raised_ms > floor_ms ? raised_ms : floor_ms;
        record->counter++;
        status = firn__random(record->attempt, sizeof record->attempt);
    }
    if (status == FIRN_OK) {
        store->realm.floor_ms = floor_ms;
        store->realm.workers_used = (uint32_t)store->record_count;
        store->realm.adoptions++;
    }
    (void)pthread_mutex_unlock(&stores_mutex);
    return status;
}

static int mem_clock(void *context, int64_t *now_ms_out, firn_error *error_out)
{
    const struct store *store = context;
    (void)error_out;
    if (!store->faults.has_clock) {
        return FIRN_E_UNSUPPORTED;
    }
    *now_ms_out = store->faults.clock_ms;
    return FIRN_OK;
}

firn__mem_faults *firn__mem_faults_of(const char *name)
{
    (void)pthread_mutex_lock(&stores_mutex);
    struct store *store = store_find_or_make(name);
    (void)pthread_mutex_unlock(&stores_mutex);
    return store == NULL ? NULL : &store->faults;
}

firn_worker *firn__mem_record(const char *name, uint32_t worker)
{
    struct store *store = store_find(name);
    return store == NULL ? NULL : record_find(store, worker);
}

void firn__mem_forget(const char *name, uint32_t worker)
{
    struct store *store = store_find(name);
    firn_worker *record = store == NULL ? NULL : record_find(store, worker);
    if (record != NULL) {
        const size_t at = (size_t)(record - store->records);
        memmove(record, record + 1, (store->record_count - at - 1) * sizeof *record);
        store->record_count--;
    }
}

firn_realm *firn__mem_realm(const char *name)
{
    struct store *store = store_find(name);
    return store == NULL || !store->has_realm ? NULL : &store->realm;
}

const firn__backend firn__mem_backend = {
    .version = FIRN__BACKEND_VERSION,
    .scheme = "mem",
    .window_ms = WINDOW_MS,
    .grace_ms = 0,
    .open = mem_open,
    .close = mem_close,
    .create = mem_create,
    .read = mem_read,
    .identify = mem_identify,
    .list = mem_list,
    .swap = mem_swap,
    .adopt = mem_adopt,
    .clock = mem_clock,
};
