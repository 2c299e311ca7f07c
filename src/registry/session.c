/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * A process's session with its registry: taking, renewing and losing leases, on the caller's thread
 * or on one of its own, before and after forks. The rules are lease.c's, the hot path firn.c's.
 *
 * Forks. A child shares its parent's lease and goes on stamping. It never touches the parent's
 * session: when the window lapses, it makes a session and takes a lease of its own. fork() waits
 * until no session is inside the registry, so that the libraries below are whole in the child;
 * _Fork() and clone() cannot be made to wait, so a child that was made in the middle sees
 * session.in_use and refuses.
 */
#include "registry/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

#define LEASE_MAP_SIZE 4096
#define LEASES_STEP    16
/* After a failure the registry is left alone for a moment: a caller in a loop must not storm it. */
#define RETRY_NS       5000000
#define HOST_NAME_SIZE 41

_Static_assert(sizeof(firn__lease) <= LEASE_MAP_SIZE, "a lease fits in its mapping");

/* The sessions of this process, for fork() to wait for. sessions_mutex guards the list. In a child
 * made by _Fork() or clone() both may be in any state, so a process that is not the list's begins
 * anew. */
#define SESSIONS_RESETTING 2 /* marks are odd */

static pthread_mutex_t sessions_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t sessions_once = PTHREAD_ONCE_INIT;
static firn__session *sessions;
static uint64_t sessions_mark;

static void sessions_lock(void)
{
    const uint64_t mark = firn__memory_fork_mark() | 1;
    uint64_t seen = firn__load(&sessions_mark);
    while (seen != mark) {
        if (seen != SESSIONS_RESETTING &&
            firn__compare_swap(&sessions_mark, &seen, SESSIONS_RESETTING)) {
            (void)pthread_mutex_init(&sessions_mutex, NULL);
            sessions = NULL;
            firn__store(&sessions_mark, mark);
        }
        seen = firn__load(&sessions_mark);
    }
    (void)pthread_mutex_lock(&sessions_mutex);
}

static void sessions_unlock(void)
{
    (void)pthread_mutex_unlock(&sessions_mutex);
}

static void before_fork(void)
{
    sessions_lock();
    for (firn__session *session = sessions; session != NULL; session = session->next) {
        (void)pthread_mutex_lock(&session->mutex);
        (void)pthread_mutex_lock(&session->report_mutex);
    }
}

static void after_fork(void)
{
    for (firn__session *session = sessions; session != NULL; session = session->next) {
        (void)pthread_mutex_unlock(&session->report_mutex);
        (void)pthread_mutex_unlock(&session->mutex);
    }
    sessions_unlock();
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

static uint64_t process_mark(const firn *ids)
{
    const uint64_t mark = firn__fork_mark(ids->env);
    return mark != 0 ? mark : (uint64_t)getpid(); /* a kernel that cannot wipe at fork */
}

static void sessions_add(firn__session *session)
{
    (void)pthread_once(&sessions_once, watch_forks);
    sessions_lock();
    session->next = sessions;
    sessions = session;
    sessions_unlock();
}

static void sessions_remove(const firn__session *session)
{
    sessions_lock();
    firn__session **at = &sessions;
    while (*at != NULL && *at != session) {
        at = &(*at)->next;
    }
    if (*at == session) {
        *at = session->next;
    }
    sessions_unlock();
}

static firn__session *session_new(firn *ids, uint64_t fork_mark, firn__session *inherited)
{
    firn__session *session = calloc(1, sizeof *session);
    pthread_condattr_t attributes;
    if (session == NULL) {
        return NULL;
    }
    session->owner = ids;
    session->asked_ms = ids->options.window_ms;
    session->fork_mark = fork_mark;
    session->inherited = inherited;
    (void)pthread_mutex_init(&session->mutex, NULL);
    (void)pthread_mutex_init(&session->report_mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&session->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return session;
}

static void session_free(firn__session *session)
{
    (void)pthread_cond_destroy(&session->wake);
    (void)pthread_mutex_destroy(&session->report_mutex);
    (void)pthread_mutex_destroy(&session->mutex);
    free(session);
}

int firn__session_get(firn *ids, firn__session **session_out)
{
    firn__session *session = __atomic_load_n(&ids->session, __ATOMIC_ACQUIRE);
    const uint64_t mark = process_mark(ids);
    if (session != NULL && session->fork_mark == mark) {
        *session_out = session;
        return FIRN_OK;
    }
    if (session != NULL && firn__load(&session->in_use) != 0) {
        return FIRN_E_FORK;
    }
    firn__session *fresh = session_new(ids, mark, session);
    if (fresh == NULL) {
        return FIRN_E_MEMORY;
    }
    if (!__atomic_compare_exchange_n(&ids->session, &session, fresh, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        session_free(fresh);
        *session_out = session; /* another thread of this process was faster */
        return FIRN_OK;
    }
    sessions_add(fresh);
    *session_out = fresh;
    return FIRN_OK;
}

static void report_set(firn__session *session, int status, const firn_error *error)
{
    (void)pthread_mutex_lock(&session->report_mutex);
    firn__report *report = &session->report;
    report->status = status;
    report->text[0] = '\0';
    if (status < 0) {
        report->failures++;
        firn__text_copy(report->text, sizeof report->text, error->text);
    }
    report->lost_replies = session->holder.lost_replies;
    (void)pthread_mutex_unlock(&session->report_mutex);
}

static void report_count(firn__session *session, uint64_t *counter)
{
    (void)pthread_mutex_lock(&session->report_mutex);
    (*counter)++;
    (void)pthread_mutex_unlock(&session->report_mutex);
}

void firn__session_report(firn *ids, firn__report *report_out)
{
    firn__session *session;
    const int status = firn__session_get(ids, &session);
    if (status < 0) {
        *report_out = (firn__report){.status = status};
        (void)snprintf(report_out->text, sizeof report_out->text, "%s", firn_status_text(status));
        return;
    }
    (void)pthread_mutex_lock(&session->report_mutex);
    *report_out = session->report;
    (void)pthread_mutex_unlock(&session->report_mutex);
}

/* For people who ask 'firn workers'. */
static void write_note(firn__session *session)
{
    char host[HOST_NAME_SIZE];
    if (gethostname(host, sizeof host) != 0) {
        memcpy(host, "?", 2);
    }
    host[sizeof host - 1] = '\0';
    const char *own = session->owner->note;
    (void)snprintf(session->holder.note, sizeof session->holder.note, "%s pid %ld%s%s", host,
                   (long)getpid(), own[0] == '\0' ? "" : " ", own);
}

static int make_realm(firn__session *session, firn_error *error_out)
{
    const firn *ids = session->owner;
    firn_realm wanted = firn_realm_default();
    wanted.grace_ms = ids->options.grace_ms;
    wanted.allow = ids->options.allow;
    if (ids->realm.layout[0] != '\0') {
        memcpy(wanted.layout, ids->realm.layout, sizeof wanted.layout);
    }
    const int status = firn__holder_create(&session->holder, &wanted, error_out);
    return status == FIRN_E_REALM_EXISTS ? FIRN_OK : status; /* another process was faster */
}

/* ids->realm.layout is the layout that the caller requires, until the realm is known. */
static int check_layout(const firn__session *session, firn_error *error_out)
{
    const char *wanted = session->owner->realm.layout;
    const char *found = session->holder.realm.layout;
    if (wanted[0] == '\0' || strcmp(wanted, found) == 0) {
        return FIRN_OK;
    }
    return firn__error(error_out, FIRN_E_REALM_LAYOUT, FIRN__NO_POSITION,
                       "the realm's layout is %s, not %s: use the realm's, or another registry",
                       found, wanted);
}

static int reach_realm(firn__session *session, firn_error *error_out)
{
    firn__holder *holder = &session->holder;
    int status = firn__holder_read(holder, error_out);
    if (status == FIRN_E_REGISTRY_MISSING && session->owner->options.create) {
        status = make_realm(session, error_out);
        status = status < 0 ? status : firn__holder_read(holder, error_out);
    }
    status = status < 0 ? status : check_layout(session, error_out);
    return status < 0 ? status : firn__holder_probe(holder, error_out);
}

int firn__session_reach(firn__session *session, firn_error *error_out)
{
    firn *ids = session->owner;
    if (session->reached) {
        return FIRN_OK;
    }
    int status = firn__holder_open(&session->holder, &ids->url, ids->options.timeout_ms, ids->env,
                                   error_out);
    if (status < 0) {
        return status;
    }
    write_note(session);
    status = reach_realm(session, error_out);
    if (status < 0) {
        firn__holder_close(&session->holder);
        return status;
    }
    session->reached = true;
    return FIRN_OK;
}

static uint64_t now_tick(const firn *ids, const firn_generator *gen)
{
    const int64_t now_ns = firn__real_ns(ids->env);
    return now_ns < gen->epoch_ns ? 0 : firn__generator_tick(gen, now_ns);
}

/* Whether the handle's lease has an open window. */
static bool has_window(const firn *ids, const firn__lease *lease)
{
    return lease != NULL && firn__lease_is_current(ids, lease) &&
           !firn__word_is_final(&lease->generator.rules, firn__load(&lease->generator.word)) &&
           now_tick(ids, &lease->generator) < firn__load(&lease->generator.end_tick);
}

static int remember_lease(firn *ids, firn__lease *lease)
{
    if (ids->lease_count >= FIRN__LEASES_MAX) {
        return FIRN_E_LEASES;
    }
    if (ids->lease_count % LEASES_STEP == 0) {
        firn__lease **leases =
            realloc(ids->leases, (ids->lease_count + LEASES_STEP) * sizeof(firn__lease *));
        if (leases == NULL) {
            return FIRN_E_MEMORY;
        }
        ids->leases = leases;
    }
    ids->leases[ids->lease_count++] = lease;
    return FIRN_OK;
}

static int start_generator(const firn *ids, firn__lease *lease, const firn__grant *grant,
                           firn_error *error_out)
{
    firn_generator_options options = firn_generator_options_default();
    options.start_ms = grant->start_ms;
    options.end_ms = grant->end_ms;
    options.back_max_ms = ids->options.back_max_ms;
    options.sequence_seed = ids->options.sequence_seed;
    options.on_clock_back = ids->options.on_clock_back;
    options.sequence_start = ids->options.sequence_start;
    options.clock = ids->options.clock;
    const int status = firn_generator_init(&lease->generator, &ids->layout, grant->record.worker,
                                           &options, error_out);
    if (status == FIRN_OK) {
        /* So that a clock that goes back from now on is seen to go back. */
        firn__generator_skip(&lease->generator, now_tick(ids, &lease->generator));
    }
    return status;
}

/* R4: worker, window and word in one object, made whole before anyone sees it. */
static int publish(firn__session *session, const firn__grant *grant, firn_error *error_out)
{
    firn *ids = session->owner;
    firn__lease *lease = firn__memory_share(LEASE_MAP_SIZE);
    if (lease == NULL) {
        return firn__error(error_out, FIRN_E_MEMORY, FIRN__NO_POSITION, NULL);
    }
    int status = start_generator(ids, lease, grant, error_out);
    if (status == FIRN_OK) {
        status = remember_lease(ids, lease);
        if (status < 0) {
            (void)firn__error(error_out, status, FIRN__NO_POSITION, NULL);
        }
    }
    if (status < 0) {
        firn__memory_unshare(lease, LEASE_MAP_SIZE);
        return status;
    }
    lease->vm_generation = firn__vm_generation(ids);
    lease->era = firn__load(&ids->family->era);
    firn__store(&lease->end_ms, (uint64_t)grant->end_ms);
    session->grant = *grant;
    session->granted = lease;
    __atomic_store_n(&ids->lease, lease, __ATOMIC_RELEASE);
    return FIRN_OK;
}

static int acquire(firn__session *session, firn_error *error_out)
{
    firn__grant grant = {.start_ms = 0};
    /* R6: a new identity for every lease; also, a copied machine must not share one. */
    int status = firn__holder_renew_id(&session->holder, error_out);
    if (status == FIRN_OK) {
        status = firn__lease_acquire(&session->holder, session->asked_ms, &grant, error_out);
    }
    return status < 0 ? status : publish(session, &grant, error_out);
}

static int64_t last_stamped_ms(const firn_generator *gen)
{
    const uint64_t tick = firn__word_tick(&gen->rules, firn__generator_last_word(gen));
    return (gen->epoch_ns + (int64_t)(tick * gen->tick_ns)) / 1000000;
}

/* R6: stop at once, say so, and never touch that record again. */
static int lose(firn__session *session, firn_error *error_out)
{
    const int64_t now_ms = firn__real_ns(session->owner->env) / 1000000;
    const bool live = session->grant.end_ms > now_ms;
    (void)firn_generator_retire(&session->granted->generator);
    session->granted = NULL;
    if (live) {
        report_count(session, &session->report.conflicts);
    }
    if (session->holder.worker == FIRN__ANY_WORKER) {
        return FIRN_OK;
    }
    return firn__error(error_out, FIRN_E_WORKER_TAKEN, FIRN__NO_POSITION,
                       "worker %u: its record was changed by another process%s: give each process "
                       "its own worker number, or let the registry choose",
                       session->grant.record.worker, live ? "" : " after its window had lapsed");
}

static int extend(firn__session *session, firn_error *error_out)
{
    firn__lease *lease = session->granted;
    int status = firn__lease_extend(&session->holder, &session->grant, session->asked_ms,
                                    last_stamped_ms(&lease->generator), error_out);
    if (status == FIRN_E_CONFLICT) {
        status = lose(session, error_out);
        return status < 0 ? status : acquire(session, error_out);
    }
    if (status == FIRN_OK) {
        (void)firn_generator_extend(&lease->generator, session->grant.end_ms);
        firn__store(&lease->end_ms, (uint64_t)session->grant.end_ms);
    }
    return status;
}

/* Leases that this process must not renew: retired, quiesced by another process of the family, or
 * taken before the machine was copied. */
static void forget_stale(firn__session *session)
{
    firn__lease *lease = session->granted;
    if (lease == NULL) {
        return;
    }
    if (lease->vm_generation != firn__vm_generation(session->owner)) {
        report_count(session, &session->report.snapshots);
    }
    if (!firn__lease_is_current(session->owner, lease)) {
        (void)firn_generator_retire(&lease->generator);
        session->granted = NULL;
    } else if (firn__word_is_final(&lease->generator.rules, firn__load(&lease->generator.word))) {
        session->granted = NULL;
    }
}

static int use_registry(firn__session *session, firn_error *error_out)
{
    int status = firn__session_reach(session, error_out);
    if (status < 0) {
        return status;
    }
    forget_stale(session);
    return session->granted != NULL ? extend(session, error_out) : acquire(session, error_out);
}

/* How long to leave the registry alone after a failure. */
static int64_t retry_after_ns(const firn__session *session, int status)
{
    if (status != FIRN_E_WORKERS_BUSY && status != FIRN_E_WORKER_HELD) {
        return RETRY_NS;
    }
    const int64_t now_ms = firn__real_ns(session->owner->env) / 1000000;
    const int64_t until_ms = session->holder.retry_ms - now_ms;
    return until_ms < 0 ? 0 : (until_ms > 50 ? 50 : until_ms + 1) * 1000000;
}

static void *renew_loop(void *context);

static void start_thread(firn__session *session)
{
    sigset_t all;
    sigset_t before;
    if (session->has_thread || session->owner->options.renewal != FIRN_RENEWAL_THREAD) {
        return;
    }
    /* The host's signals are for the host's threads. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    /* Without a thread the lease is renewed on demand: slower, but as safe. */
    session->has_thread = pthread_create(&session->thread, NULL, renew_loop, session) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A window that was over before it was granted is too short for this disk: ask for more. */
static void widen(firn__session *session)
{
    const firn *ids = session->owner;
    if (session->asked_ms < ids->realm.window_ms && !has_window(ids, firn__lease_of(ids))) {
        session->asked_ms *= 2;
    }
}

/* Under the mutex. */
static int renew(firn__session *session)
{
    firn_error error = {.text = ""};
    const firn *ids = session->owner;
    firn__store(&session->in_use, 1);
    const int status = use_registry(session, &error);
    firn__store(&session->in_use, 0);
    if (status < 0) {
        session->retry_at_ns = firn__monotonic_ns(ids->env) + retry_after_ns(session, status);
    } else {
        report_count(session, &session->report.renewals);
        widen(session);
        start_thread(session);
    }
    report_set(session, status, &error);
    return status;
}

int firn__session_refresh(firn *ids, bool force)
{
    firn__session *session;
    int status = firn__session_get(ids, &session);
    if (status < 0) {
        return status;
    }
    (void)pthread_mutex_lock(&session->mutex);
    if (firn__load(&ids->family->quiesced) != 0) {
        status = FIRN_E_QUIESCED;
    } else if (!force && has_window(ids, firn__lease_of(ids))) {
        status = FIRN_OK; /* another thread has renewed it meanwhile */
    } else if (!force && ids->options.renewal == FIRN_RENEWAL_HOST) {
        status = FIRN_E_WINDOW;
    } else if (!force && firn__monotonic_ns(ids->env) < session->retry_at_ns) {
        (void)pthread_mutex_lock(&session->report_mutex);
        status = session->report.status < 0 ? session->report.status : FIRN_E_WINDOW;
        (void)pthread_mutex_unlock(&session->report_mutex);
    } else {
        status = renew(session);
    }
    (void)pthread_mutex_unlock(&session->mutex);
    return status;
}

static int64_t window_ms(const firn__session *session)
{
    const int64_t wanted_ms = session->asked_ms;
    const int64_t realm_ms = session->owner->realm.window_ms;
    return wanted_ms > 0 && wanted_ms < realm_ms ? wanted_ms : realm_ms;
}

/* R8: a holder that made no id for a whole window lets it lapse. */
static bool is_idle(firn__session *session)
{
    const int64_t now_ns = firn__monotonic_ns(session->owner->env);
    const firn__lease *lease = session->granted;
    const uint64_t word = lease == NULL ? 0 : firn__generator_last_word(&lease->generator);
    if (word != session->active_word || session->owner->options.keep_warm) {
        session->active_word = word;
        session->active_at_ns = now_ns;
    }
    return now_ns - session->active_at_ns >= window_ms(session) * 1000000;
}

/* R8: a renewal starts when two thirds of the window are left, a little earlier or later so that
 * processes that began together do not stay together. */
static int64_t renewal_due_ms(const firn__session *session)
{
    const int64_t span_ms = window_ms(session);
    const int64_t jitter_ms =
        (int64_t)(firn__scatter(session->grant.record.counter ^ session->fork_mark) % 1000) *
        span_ms / 10000;
    return session->grant.end_ms - span_ms * 2 / 3 + jitter_ms - span_ms / 20;
}

/* How long the thread may sleep: until the renewal is due, but looking up often enough to notice a
 * clock that was set. */
static int64_t nap_ms(const firn__session *session, bool failed)
{
    const int64_t third_ms = window_ms(session) / 3 + 1;
    if (failed) {
        return third_ms / 10 + 1;
    }
    if (session->granted == NULL) {
        return third_ms;
    }
    const int64_t left_ms = renewal_due_ms(session) - firn__real_ns(session->owner->env) / 1000000;
    return left_ms < 1 ? 1 : (left_ms < third_ms ? left_ms : third_ms);
}

static void nap(firn__session *session, int64_t span_ms)
{
    const int64_t until_ns = firn__clock_monotonic_ns() + span_ms * 1000000;
    const struct timespec until = {.tv_sec = until_ns / 1000000000,
                                   .tv_nsec = until_ns % 1000000000};
    (void)pthread_cond_timedwait(&session->wake, &session->mutex, &until);
}

static bool renewal_is_due(const firn__session *session)
{
    return session->granted != NULL &&
           firn__real_ns(session->owner->env) / 1000000 >= renewal_due_ms(session);
}

static void *renew_loop(void *context)
{
    firn__session *session = context;
    const firn__family *family = session->owner->family;
    bool failed = false;
    (void)pthread_mutex_lock(&session->mutex);
    while (!session->stop) {
        nap(session, nap_ms(session, failed));
        failed = false;
        if (!session->stop && firn__load(&family->quiesced) == 0 && !is_idle(session) &&
            renewal_is_due(session)) {
            failed = renew(session) < 0;
        }
    }
    (void)pthread_mutex_unlock(&session->mutex);
    return NULL;
}

int firn__session_drop(firn *ids)
{
    firn__session *session;
    int status = firn__session_get(ids, &session);
    if (status < 0) {
        return status;
    }
    (void)pthread_mutex_lock(&session->mutex);
    firn__lease *lease = firn__lease_of(ids);
    if (lease != NULL) {
        (void)firn_generator_retire(&lease->generator);
    }
    if (session->granted != NULL) {
        /* Best effort: an unreleased record is free when its mark has passed, as any other. */
        firn__store(&session->in_use, 1);
        (void)firn__lease_release(&session->holder, &session->grant, NULL);
        firn__store(&session->in_use, 0);
        session->granted = NULL;
    }
    (void)pthread_mutex_unlock(&session->mutex);
    return FIRN_OK;
}

static void stop_thread(firn__session *session)
{
    (void)pthread_mutex_lock(&session->mutex);
    session->stop = true;
    (void)pthread_cond_signal(&session->wake);
    (void)pthread_mutex_unlock(&session->mutex);
    if (session->has_thread) {
        (void)pthread_join(session->thread, NULL);
    }
}

/* A parent's session cannot be taken apart in its child; it stays, and stays reachable. */
static void keep_inherited(firn__session *session)
{
    static firn__session *kept;
    sessions_lock();
    if (session != NULL) {
        session->inherited = kept;
        kept = session;
    }
    sessions_unlock();
}

void firn__session_close(firn__session *session)
{
    if (session == NULL) {
        return;
    }
    if (session->fork_mark != process_mark(session->owner)) {
        keep_inherited(session);
        return;
    }
    stop_thread(session);
    if (session->granted != NULL) {
        (void)firn__lease_release(&session->holder, &session->grant, NULL);
    }
    if (session->reached) {
        firn__holder_close(&session->holder);
    }
    sessions_remove(session);
    keep_inherited(session->inherited);
    session_free(session);
}
