/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The lease policy: which worker a process may have, and for which window of time. */
#ifndef FIRN_REGISTRY_LEASE_H
#define FIRN_REGISTRY_LEASE_H

#include "firn/layout.h"
#include "port/environment.h"
#include "registry/backend.h"

/* One process image's dealings with one registry. For one thread at a time. */
typedef struct firn__holder {
    const firn__backend *backend;
    void *store;
    const firn__environment *env;
    firn_realm realm; /* as last read */
    firn_layout layout;
    int64_t worker; /* the one worker to have, or FIRN__ANY_WORKER */
    uint8_t id[16]; /* random; a new one after every lost lease */
    char note[FIRN_NOTE_SIZE];
    int64_t retry_ms; /* after FIRN_E_WORKERS_BUSY and _WORKER_HELD: when one is free */
    uint64_t lost_replies;
} firn__holder;

/* A granted window. The ticks of [start_ms, end_ms) are reserved, durably. */
typedef struct firn__grant {
    firn_worker record; /* as written: what the next swap compares */
    int64_t start_ms;
    int64_t end_ms;
} firn__grant;

/* Defaults and bounds of a realm. */
#define FIRN__SKEW_MAX_DEFAULT_MS 60000
#define FIRN__WINDOW_MIN_MS       1
#define FIRN__WINDOW_MAX_MS       3600000
#define FIRN__GRACE_MAX_MS        (INT64_C(30) * 86400000)

/* Opens the store of a URL. */
int firn__holder_open(firn__holder *holder, const firn__url *url, int64_t timeout_ms,
                      const firn__environment *env, firn_error *error_out);
void firn__holder_close(firn__holder *holder);

/* Reads the realm, and refuses one that this store is not the home of (R9). */
int firn__holder_read(firn__holder *holder, firn_error *error_out);

/* Makes a realm from what the caller wants, with the defaults filled in and checked. */
int firn__holder_create(firn__holder *holder, const firn_realm *wanted, firn_error *error_out);

/* Tries a swap that must fail (R11). */
int firn__holder_probe(firn__holder *holder, firn_error *error_out);

/* A new identity, for a process that lost its lease or begins (R6). */
int firn__holder_renew_id(firn__holder *holder, firn_error *error_out);

/* Takes a worker. */
int firn__lease_acquire(firn__holder *holder, int64_t window_ms, firn__grant *grant_out,
                        firn_error *error_out);

/*
 * Moves a grant's end on.
 *
 * last_ms    the last instant stamped.
 *
 * Returns    FIRN_OK             grant has the new end, or one that was far enough
 *            FIRN_E_CONFLICT     others have changed the record: the lease is lost (R6)
 *            another failure     grant is as it was, and what was asked for is burned (R2)
 */
int firn__lease_extend(firn__holder *holder, firn__grant *grant, int64_t window_ms, int64_t last_ms,
                       firn_error *error_out);

/* Marks a grant's record released; its mark stays (R3). */
int firn__lease_release(firn__holder *holder, const firn__grant *grant, firn_error *error_out);

#endif
