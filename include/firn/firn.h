/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * firn: unique 64-bit ids that sort by time. This is the header to start with.
 *
 *     firn *ids;
 *     firn_error error;
 *     firn_options options = firn_options_default();
 *     options.create = 1;
 *     options.error_out = &error;
 *     if (firn_open("sqlite:/tmp/firn-example.db", &options, &ids) < 0) {
 *         fprintf(stderr, "%s\n", error.text);
 *         return 1;
 *     }
 *     uint64_t id;
 *     if (firn_wait(ids, 1000000000, &id) == FIRN_OK) {
 *         printf("%llu\n", (unsigned long long)id);
 *     }
 *     firn_close(ids);
 *
 * A handle leases a worker number from a registry and makes ids inside windows of time that the
 * registry has durably reserved for it. No two ids of one realm (one registry and one layout) are
 * ever equal, through crashes, restarts, clock steps, forks and pauses. Clocks decide how well ids
 * sort and when they are available, never whether they are unique.
 *
 * A registry is named by a URL:
 *
 *     sqlite:/path/to/file            one machine, any number of processes
 *     static:7?path=/path/to/file     the same, but this worker and no other
 *     mem:name                        inside this process only; for tests
 *
 * It does not log, exit, read the environment or start a thread that was not asked for.
 */
#ifndef FIRN_FIRN_H
#define FIRN_FIRN_H

#include <stddef.h>
#include <stdint.h>

#include "firn/codec.h"
#include "firn/generator.h"
#include "firn/layout.h"
#include "firn/registry.h"
#include "firn/status.h"
#include "firn/time.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open registry with a lease in it. */
typedef struct firn firn;

/* Who renews the lease. */
typedef enum firn_renewal {
    /* The call that finds the window over renews it, once a window, and blocks meanwhile. */
    FIRN_RENEWAL_ON_DEMAND = 0,
    /* A background thread, well ahead; calls block only when a window was left to lapse. */
    FIRN_RENEWAL_THREAD = 1,
    /* The host, by calling firn_renew(). firn_next() never touches the registry. */
    FIRN_RENEWAL_HOST = 2
} firn_renewal;

/* Options. Start from firn_options_default(); members are only ever added at the end. */
typedef struct firn_options {
    size_t size;              /* sizeof(firn_options), set by the default function */
    const char *layout;       /* required of the realm, and given to a new one; NULL: the realm's */
    const char *note;         /* for people, in 'firn workers'; at most 63 bytes; NULL: "" */
    const char *vmclock_path; /* default "/dev/vmclock0"; NULL: do not look for VM snapshots */
    firn_error *error_out;    /* [1] or NULL; why firn_open() failed */
    int64_t window_ms;        /* ask for this window; 0: the realm's. Short for short-lived use. */
    int64_t timeout_ms;       /* how long one use of the registry may take; default 5000 */
    int64_t back_max_ms;      /* as in firn_generator_options; default 10 */
    int64_t after_max_ms;     /* the longest wait of firn_next_after(); default 1000 */
    uint64_t sequence_seed;   /* as in firn_generator_options */
    int32_t on_clock_back;    /* a firn_clock_back */
    int32_t sequence_start;   /* a firn_sequence_start */
    int32_t clock;            /* a firn_clock */
    int32_t renewal;          /* a firn_renewal */
    int32_t create;           /* 1: make the realm when there is none; default 0 */
    int32_t keep_warm;        /* 1: renew also when no id was made; default 0 */
    int64_t worker;           /* this worker and no other; -1, the default: any */
    int64_t grace_ms;         /* for a new realm: see firn_realm; -1: the registry's default */
    uint32_t allow;           /* for a new realm: FIRN_ALLOW_SHORT_LIFE, or 0 */
    uint32_t reserved;
} firn_options;

/* The state of a handle's lease. */
typedef struct firn_state {
    int32_t healthy; /* 1: ids flow now and the window is renewed in time */
    int32_t reason;  /* a status: why it is not healthy; FIRN_OK when it is */
    int32_t leased;  /* 1: there is a lease, and the members below are of it */
    uint32_t worker;
    int64_t window_end_ms;  /* Unix milliseconds */
    int64_t window_left_ms; /* may be negative: the window has lapsed */
    uint64_t renewals;      /* windows granted since firn_open() */
    uint64_t renewal_failures;
    uint64_t conflicts;         /* live leases lost because their record was changed by others */
    uint64_t lost_replies;      /* writes whose outcome is unknown; what they reserved is burned */
    uint64_t snapshots;         /* restored VM snapshots that were noticed */
    firn_statistics statistics; /* of the present lease */
    char text[256];             /* the reason, for a person; "" when healthy */
} firn_state;

/* Fills in the defaults; use firn_options_default(). options_size is sizeof *options. */
FIRN_API void firn_options_fill(firn_options *options, size_t options_size);

/*
 * The default options.
 *
 * Returns    options by value, with size set.
 * Threads    safe.
 * Since      0.1
 */
static inline firn_options firn_options_default(void)
{
    firn_options options;
    firn_options_fill(&options, sizeof options);
    return options;
}

/*
 * Open a registry and lease a worker.
 *
 * url        see the top of this file.
 * options    or NULL for the defaults. Its strings are copied.
 * firn_out   [1] the handle; end it with firn_close(). Untouched on failure.
 *
 * Returns    FIRN_OK
 *            FIRN_R_NO_LEASE        it is open, but every worker is held for the moment; calls that
 *                                   make ids try again. The reason is in firn_state_get().
 *            FIRN_E_ARGUMENT        a pointer is NULL, or an option has a value that is not allowed
 *            FIRN_E_MEMORY          out of memory
 *            FIRN_E_RANDOM          the kernel gave no random bytes
 *            FIRN_E_URL             the URL is not understood
 *            FIRN_E_BACKEND         this build has no such registry
 *            FIRN_E_LAYOUT_…        options.layout is not a layout that can be generated now
 *            FIRN_E_REALM_LAYOUT    the realm has another layout; both are in the text
 *            FIRN_E_REGISTRY_…      the registry cannot be used; see firn/status.h
 *            FIRN_E_CLOCK_SKEW      the clock disagrees with the registry's, with most marks in it,
 *                                   or with the date this library was built
 *            FIRN_E_FIELD_RANGE     the worker asked for does not exist in the layout
 * Threads    safe. With FIRN_RENEWAL_THREAD it starts one thread, with all signals blocked.
 * Fork       the handle may be used on both sides: they share one lease. A child never uses its
 *            parent's connection; when the parent no longer renews, it opens its own.
 * Since      0.1
 */
FIRN_API int firn_open(const char *url, const firn_options *options, firn **firn_out);

/*
 * Close a handle: mark its lease released, stop its thread, free its memory. In a forked child it
 * leaves the parent's lease alone.
 *
 * ids        or NULL, which does nothing. No other thread may be inside a call.
 * Threads    not safe against other calls on the same handle.
 * Since      0.1
 */
FIRN_API void firn_close(firn *ids);

/*
 * Make the next id, without waiting for the clock.
 *
 * ids        an open handle; any number of threads, and forked children, may share it.
 * id_out     [1] the id. Untouched unless the result is FIRN_OK.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL
 *            FIRN_E_SEQUENCE_FULL   no id left in this tick
 *            FIRN_E_CLOCK_WAIT      the clock is behind the last id, by back_max_ms at most
 *            FIRN_E_CLOCK_BACK      the clock is further behind the last id
 *            FIRN_E_CLOCK_EPOCH     the clock is before the layout's epoch
 *            FIRN_E_LAYOUT_END      the layout has no ticks left
 *            FIRN_E_WINDOW          the window is over (FIRN_RENEWAL_HOST)
 *            FIRN_E_WORKERS_BUSY    every worker is held
 *            FIRN_E_WORKER_HELD     the worker asked for is held by another
 *            FIRN_E_WORKER_TAKEN    the worker asked for was taken by another while it had lapsed
 *            FIRN_E_QUIESCED        firn_quiesce() was called
 *            FIRN_E_FORK            the child cannot use the registry; see firn/status.h
 *            FIRN_E_REGISTRY_…, FIRN_E_CLOCK_SKEW, FIRN_E_LEASES
 *                                   the window is over and could not be renewed
 * Order      ids from one handle strictly increase as long as it keeps its lease.
 * Threads    safe, lock-free while the window lasts.   Fork  shared; see firn_open().
 * Cost       one clock read and one atomic operation; once a window, one use of the registry
 *            (on another thread with FIRN_RENEWAL_THREAD).
 * Since      0.1
 */
FIRN_API int firn_next(firn *ids, uint64_t *id_out);

/*
 * Make up to count ids: as many as this tick has left.
 *
 * ids_out    [count] the ids, in increasing order; only the first *made_out are written.
 * count      0 is allowed, and makes none.
 * made_out   [1] how many were made: 1 to count when the result is FIRN_OK.
 *
 * Returns    as firn_next().
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_next_many(firn *ids, uint64_t *ids_out, size_t count, size_t *made_out);

/*
 * Make an id that is greater than one seen elsewhere: causal order across generators.
 *
 * after      an id of the same realm. The clock is waited for, at most options.after_max_ms.
 * id_out     [1] the id.
 *
 * Returns    as firn_wait(); and
 *            FIRN_E_AHEAD           after is more than after_max_ms ahead of this clock
 *            FIRN_E_ID_RANGE        the layout cannot make after
 * Threads    safe; holds no lock while it waits.
 * Since      0.1
 */
FIRN_API int firn_next_after(firn *ids, uint64_t after, uint64_t *id_out);

/*
 * Make the next id from a run of one's own; see firn_run_next(). A run takes 64 ids at once, so
 * order holds inside a thread, and by tick between threads.
 *
 * run        [1] one a thread, zeroed before its first use.
 *
 * Returns    as firn_next(); FIRN_E_UNSUPPORTED as firn_run_init().
 * Threads    safe, with one run a thread.   Fork  a child's copy of a run drops what it holds.
 * Since      0.1
 */
FIRN_API int firn_next_run(firn *ids, firn_run *run, uint64_t *id_out);

/*
 * Make the next id, waiting if need be: for the next tick, for the clock to catch up, for a worker
 * to become free.
 *
 * timeout_ns how long it may wait; 0 is one try, negative is without limit.
 *
 * Returns    FIRN_OK
 *            FIRN_E_DEADLINE        the time is over
 *            otherwise as firn_next(), for what waiting does not cure
 * Threads    safe; holds no lock while it waits for the clock.
 * Since      0.1
 */
FIRN_API int firn_wait(firn *ids, int64_t timeout_ns, uint64_t *id_out);

/*
 * Make exactly count ids, waiting for as many ticks as they need.
 *
 * ids_out    [count] the ids, in increasing order while the lease is kept.
 * made_out   [1] how many were made; count when the result is FIRN_OK. When it is not, the ids made
 *            until then are valid.
 *
 * Returns    as firn_wait().
 * Threads    safe; holds no lock while it waits for the clock.
 * Since      0.1
 */
FIRN_API int firn_wait_many(firn *ids, int64_t timeout_ns, uint64_t *ids_out, size_t count,
                            size_t *made_out);

/*
 * Renew the lease now, or take one if there is none: for hosts with a loop of their own.
 *
 * Returns    FIRN_OK
 *            otherwise as firn_next() when the window cannot be renewed
 * Threads    safe.
 * Cost       one read and one write of the registry, at most timeout_ms.
 * Since      0.1
 */
FIRN_API int firn_renew(firn *ids);

/*
 * When firn_renew() is best called next.
 *
 * at_ms_out  [1] Unix milliseconds: when a third of the window has passed; now, without a lease.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_renew_at(firn *ids, int64_t *at_ms_out);

/*
 * Before a planned snapshot of the machine: give the lease up and make no ids until firn_resume().
 * Once it returns, any number of copies of this machine may be started.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        ids is NULL
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_quiesce(firn *ids);

/*
 * After the snapshot, in every copy: take a new lease and go on.
 *
 * Returns    as firn_renew().
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_resume(firn *ids);

/*
 * Read the state of the lease: for health checks and metrics.
 *
 * state_out  [1] the state.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL
 * Threads    safe; does not touch the registry.
 * Since      0.1
 */
FIRN_API int firn_state_get(firn *ids, firn_state *state_out);

/*
 * The realm's layout.
 *
 * layout_out [1] the layout.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_layout_get(const firn *ids, firn_layout *layout_out);

#ifdef __cplusplus
}
#endif

#endif
