/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * What a registry's backend does: store a realm and a record a worker, and swap one record for
 * another if it is still exactly the one that was read. Nothing else: who may have which worker,
 * and when, is lease.c's, once for all backends.
 *
 * A backend is used by one thread at a time, and by the process that opened it alone. Every
 * function ends within the timeout that open() was given. A function that fails fills in error_out,
 * but for FIRN_E_CONFLICT and FIRN_E_UNSUPPORTED, which are answers.
 */
#ifndef FIRN_REGISTRY_BACKEND_H
#define FIRN_REGISTRY_BACKEND_H

#include "firn/registry.h"
#include "registry/url.h"

#define FIRN__BACKEND_VERSION 1

typedef struct firn__backend {
    uint32_t version;
    const char *scheme;
    int64_t window_ms; /* defaults for a new realm */
    int64_t grace_ms;

    /* Reaches the store, without making anything in it. */
    int (*open)(const firn__url *url, int64_t timeout_ms, void **store_out, firn_error *error_out);
    void (*close)(void *store);

    /* Makes the realm, atomically; FIRN_E_REALM_EXISTS when there is one. The store sets identity.
     */
    int (*create)(void *store, const firn_realm *realm, firn_error *error_out);

    /* Reads the realm as stored; FIRN_E_REGISTRY_MISSING when there is none. */
    int (*read)(void *store, firn_realm *realm_out, firn_error *error_out);

    /* What tells this store from a copy of it, now. */
    int (*identify)(void *store, char identity_out[FIRN_IDENTITY_SIZE], firn_error *error_out);

    /* Records from a worker number on, by number. */
    int (*list)(void *store, uint32_t first, firn_worker *workers_out, size_t workers_count,
                size_t *count_out, firn_error *error_out);

    /*
     * Writes desired, durably, if the stored record is expected in every member (free_ms is none),
     * and the realm's uuid, layout, identity and adoptions are those of realm. expected NULL adds a
     * worker that has no record yet, and counts it in the realm's workers_used in the same step. A
     * mark below the stored one is refused.
     *
     * Returns    FIRN_OK             it is durable
     *            FIRN_E_CONFLICT     refused: nothing was written
     *            FIRN_E_REGISTRY_BUSY not tried: nothing was written
     *            another failure     nobody knows whether it was written
     */
    int (*swap)(void *store, const firn_realm *realm, const firn_worker *expected,
                const firn_worker *desired, firn_error *error_out);

    /* Raises every mark by raise_ms above itself or floor_ms, whichever is later, with new attempts;
     * sets the realm's floor_ms, its workers_used to the records there are, and its identity to the
     * present one; counts the adoption and logs the reason: in one step. */
    int (*adopt)(void *store, int64_t floor_ms, int64_t raise_ms, const char *reason,
                 firn_error *error_out);

    /* The store's own clock; FIRN_E_UNSUPPORTED when it has none but ours. */
    int (*clock)(void *store, int64_t *now_ms_out, firn_error *error_out);
} firn__backend;

extern const firn__backend firn__mem_backend;
extern const firn__backend firn__sqlite_backend;

/* The backend of a scheme, or NULL. */
const firn__backend *firn__backend_find(const char *scheme);

#endif
