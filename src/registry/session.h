/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * The inside of a handle: the lease that all processes of a fork family share, and the session with
 * the registry that belongs to one process alone.
 *
 * Who may touch what:
 *   firn.lease          read by all with acquire; replaced under the session's mutex with release.
 * A lease object is never changed but for its generator, never reused, and stays mapped until
 * firn_close(): a thread may hold an old one (R4). firn.session        replaced once, by
 * compare-and-swap, in a child that needs one of its own (R10) session.…           under
 * session.mutex, which is held while the registry is used session.report      under
 * session.report_mutex, which is never held for long family              in shared memory, atomics
 *   the rest of firn    written by firn_open() alone
 */
#ifndef FIRN_REGISTRY_SESSION_H
#define FIRN_REGISTRY_SESSION_H

#include <pthread.h>
#include <stdbool.h>

#include "port/generate.h"
#include "registry/handle.h"
#include "registry/lease.h"

/* A handle that loses more leases than this is broken in a way that trying on does not cure. */
#define FIRN__LEASES_MAX 4096

/* The right to one worker, in memory that forked children share. */
typedef struct firn__lease {
    firn_generator generator;
    uint64_t vm_generation; /* of the machine that took it */
    uint64_t era;           /* of the family that took it */
    uint64_t end_ms;        /* of the window */
} firn__lease;

/* What a fork family has in common besides leases. */
typedef struct firn__family {
    uint64_t quiesced;
    uint64_t
        era; /* counts quiesces: leases of an earlier era are dead, whichever process took them */
} firn__family;

/* What firn_state_get() tells of a session. */
typedef struct firn__report {
    int status; /* of the last use of the registry */
    char text[256];
    uint64_t renewals;
    uint64_t failures;
    uint64_t conflicts;
    uint64_t lost_replies;
    uint64_t snapshots;
} firn__report;

typedef struct firn__session {
    firn *owner;
    uint64_t fork_mark;
    struct firn__session *next;      /* in the list of this process's sessions */
    struct firn__session *inherited; /* the parent's, which is left alone */
    pthread_mutex_t mutex;
    pthread_mutex_t report_mutex;
    firn__report report;
    firn__holder holder;
    firn__grant grant;
    firn__lease *granted; /* the lease that grant is of; NULL: none */
    uint64_t in_use;      /* 1 while the registry is being used: a child's copy tells it so */
    int64_t asked_ms;     /* the window to ask for; 0: the realm's */
    int64_t retry_at_ns;  /* monotonic: not before then, after a failure */
    int64_t active_at_ns; /* monotonic: when the last id was seen */
    uint64_t active_word;
    bool reached; /* the store is open and the realm read */
    bool has_thread;
    bool stop;
    pthread_t thread;
    pthread_cond_t wake;
} firn__session;

struct firn {
    firn__lease *lease;
    const uint64_t *vm_generation;
    const firn__environment *env;
    firn__session *session;
    firn__family *family;
    firn__lease **leases; /* all that were mapped by this process or its parents */
    size_t lease_count;
    firn__url url;
    firn_options options; /* its strings are not kept; see note */
    firn_layout layout;
    firn_realm realm;
    char note[FIRN_NOTE_SIZE / 2];
};

static inline firn__lease *firn__lease_of(const firn *ids)
{
    return __atomic_load_n(&ids->lease, __ATOMIC_ACQUIRE); /* pairs with the publishing store */
}

/* A restored snapshot of the machine changes this number under us. */
static inline uint64_t firn__vm_generation(const firn *ids)
{
    return __atomic_load_n(ids->vm_generation, __ATOMIC_RELAXED);
}

/* Whether a lease is still this machine's, and no quiesce has come since. */
static inline bool firn__lease_is_current(const firn *ids, const firn__lease *lease)
{
    return lease->vm_generation == firn__vm_generation(ids) &&
           lease->era == firn__load(&ids->family->era);
}

/* The session of this process; a forked child gets one of its own. */
int firn__session_get(firn *ids, firn__session **session_out);

/* Opens the registry and reads the realm, or makes one, as the options say. */
int firn__session_reach(firn__session *session, firn_error *error_out);

/*
 * Sees to it that the handle has a lease with an open window.
 *
 * force      renew also when the window lasts, and on a host that renews by itself.
 *
 * Returns    FIRN_OK, or why there is none.
 */
int firn__session_refresh(firn *ids, bool force);

/* Gives the lease up for good. */
int firn__session_drop(firn *ids);

/* Ends a session: its thread, its lease, its store. */
void firn__session_close(firn__session *session);

void firn__session_report(firn *ids, firn__report *report_out);

#endif
