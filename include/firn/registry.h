/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Registries, for whoever looks after one: make a realm, see who holds what, adopt a copy.
 *
 *     firn_registry *registry;
 *     firn_error error;
 *     if (firn_registry_open("mem:example", 5000, &registry, &error) == FIRN_OK) {
 *         firn_realm realm = firn_realm_default();
 *         firn_registry_create(registry, &realm, &error);
 *         firn_registry_close(registry);
 *     }
 *
 * It takes no lease; firn/firn.h does.
 */
#ifndef FIRN_REGISTRY_H
#define FIRN_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "firn/layout.h"
#include "firn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIRN_NOTE_SIZE     128
#define FIRN_IDENTITY_SIZE 128

/* An open registry. */
typedef struct firn_registry firn_registry;

/* One id space. */
typedef struct firn_realm {
    size_t size;                        /* sizeof(firn_realm), set by firn_realm_default() */
    uint8_t uuid[16];                   /* random; all zero: firn_registry_create() makes one */
    char layout[FIRN_LAYOUT_TEXT_SIZE]; /* canonical; "": the default layout */
    int64_t window_ms;     /* the longest window that a lease is given at once; 0: the default */
    int64_t grace_ms;      /* a worker is free when mark + grace_ms < now; -1: the default */
    int64_t skew_max_ms;   /* how far clocks may disagree; 0: the default */
    uint32_t worker_first; /* workers that leases may have: first to last */
    uint32_t worker_last;  /* UINT32_MAX: the layout's last */
    uint32_t workers_used; /* how many workers were ever leased: records that must exist */
    int64_t floor_ms;      /* workers without a record are free from then on; 0 until an adoption */
    uint32_t adoptions;    /* how often a copy or a repaired store was adopted */
    char identity[FIRN_IDENTITY_SIZE]; /* of the store that it was made in, or adopted by */
    uint32_t allow; /* for firn_registry_create(): FIRN_ALLOW_SHORT_LIFE, or 0; not stored */
    uint32_t reserved;
} firn_realm;

/* One worker's record. */
typedef struct firn_worker {
    uint32_t worker;
    uint32_t released;         /* 1: its holder has closed */
    int64_t mark_ms;           /* the end of the highest window ever granted, Unix milliseconds */
    int64_t free_ms;           /* free from then on: the mark and the grace */
    uint64_t counter;          /* how many windows were granted */
    uint8_t holder[16];        /* random, a process image */
    uint8_t attempt[16];       /* random, a write */
    char note[FIRN_NOTE_SIZE]; /* host, pid, version and what options.note said */
} firn_worker;

/* Fills in the defaults; use firn_realm_default(). realm_size is sizeof *realm. */
FIRN_API void firn_realm_fill(firn_realm *realm, size_t realm_size);

/*
 * A realm with the defaults.
 *
 * Returns    a realm by value, with size set.
 * Threads    safe.
 * Since      0.1
 */
static inline firn_realm firn_realm_default(void)
{
    firn_realm realm;
    firn_realm_fill(&realm, sizeof realm);
    return realm;
}

/*
 * Open a registry, without a lease and without making a realm.
 *
 * url        as for firn_open().
 * timeout_ms how long each use of it may take.
 * registry_out [1] the registry; end it with firn_registry_close().
 * error_out  [1] or NULL.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT, FIRN_E_MEMORY, FIRN_E_URL, FIRN_E_BACKEND
 *            FIRN_E_REGISTRY_ACCESS, …_FORMAT, …_NEWER, …_NETWORK, …_IO, …_BUSY
 * Threads    safe; one thread a registry.   Fork  a child opens its own.
 * Since      0.1
 */
FIRN_API int firn_registry_open(const char *url, int64_t timeout_ms, firn_registry **registry_out,
                                firn_error *error_out);

/*
 * Close a registry. NULL does nothing.
 *
 * Threads    not safe against other calls on the same registry.
 * Since      0.1
 */
FIRN_API void firn_registry_close(firn_registry *registry);

/*
 * Make the realm, once.
 *
 * realm      what it is to be; zero members take the default. Its uuid, workers_used, adoptions and
 *            identity are set by the registry.
 * error_out  [1] or NULL.
 *
 * Returns    FIRN_OK
 *            FIRN_E_REALM_EXISTS    there is one; it is untouched
 *            FIRN_E_LAYOUT_…        the layout cannot be generated now
 *            FIRN_E_ARGUMENT        window, grace, skew or the worker range is not allowed
 *            FIRN_E_REGISTRY_…      it could not be written
 * Threads    one thread a registry; of several processes at once, one makes it.
 * Since      0.1
 */
FIRN_API int firn_registry_create(firn_registry *registry, const firn_realm *realm,
                                  firn_error *error_out);

/*
 * Read the realm.
 *
 * realm_out  [1] the realm.
 * error_out  [1] or NULL.
 *
 * Returns    FIRN_OK
 *            FIRN_E_REGISTRY_MISSING there is no realm yet
 *            FIRN_E_REGISTRY_MOVED  the store is another than the realm's; *realm_out is filled in
 *            FIRN_E_REGISTRY_CORRUPT, …_NEWER, …_IO, …_BUSY
 * Threads    one thread a registry.
 * Since      0.1
 */
FIRN_API int firn_registry_realm(firn_registry *registry, firn_realm *realm_out,
                                 firn_error *error_out);

/*
 * List the workers that were ever leased.
 *
 * workers_out [workers_count] the first of them, by number; may be NULL when workers_count is 0.
 * first      list from this worker number on.
 * count_out  [1] how many were written.
 * error_out  [1] or NULL.
 *
 * Returns    FIRN_OK
 *            FIRN_E_REGISTRY_CORRUPT a worker that the realm counts has no record
 *            FIRN_E_REGISTRY_MISSING, …_NEWER, …_IO, …_BUSY
 * Threads    one thread a registry.
 * Since      0.1
 */
FIRN_API int firn_registry_workers(firn_registry *registry, uint32_t first,
                                   firn_worker *workers_out, size_t workers_count,
                                   size_t *count_out, firn_error *error_out);

/*
 * Check that the registry can say no: a write that must be refused is tried, and was refused.
 *
 * error_out  [1] or NULL.
 *
 * Returns    FIRN_OK
 *            FIRN_E_REGISTRY_UNSAFE it accepted the write
 *            FIRN_E_REGISTRY_…      as firn_registry_realm()
 * Threads    one thread a registry.
 * Since      0.1
 */
FIRN_API int firn_registry_probe(firn_registry *registry, firn_error *error_out);

/*
 * Adopt a store that is not the one its realm was made in: a copy, or one restored from a backup.
 * It raises every mark to two windows after now or after itself, whichever is later, and records
 * the store's identity. Nobody else may go on using the original.
 *
 * reason     why, for the log; not empty.
 * error_out  [1] or NULL.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        registry or reason is NULL, or reason is empty
 *            FIRN_E_REGISTRY_…      as firn_registry_realm(), but for …_MOVED
 * Threads    one thread a registry.
 * Source     docs/design.md, R9.
 * Since      0.1
 */
FIRN_API int firn_registry_adopt(firn_registry *registry, const char *reason,
                                 firn_error *error_out);

/*
 * The registries of this build, such as "sqlite", by index.
 *
 * index      from 0.
 *
 * Returns    a constant string; NULL past the last.
 * Threads    safe.
 * Since      0.1
 */
FIRN_API const char *firn_backend_at(size_t index);

#ifdef __cplusplus
}
#endif

#endif
