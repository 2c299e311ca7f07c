/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The handle of firn/firn.h: opening, closing, and the hot path, which is one clock read and one
 * atomic operation while the window lasts. Leases are session.c's. */
#include "firn/firn.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "port/vmclock.h"
#include "registry/session.h"

#define TIMEOUT_DEFAULT_MS   5000
#define TIMEOUT_MAX_MS       3600000
#define BACK_MAX_DEFAULT_MS  10
#define AFTER_MAX_DEFAULT_MS 1000
#define VMCLOCK_PATH         "/dev/vmclock0"
#define LEASE_MAP_SIZE       4096
/* A window so short that it is over before it can be used is asked for again, so often. */
#define REFRESH_TRIES_MAX 8
/* How long to sleep before the registry is asked again for a worker. */
#define WORKER_WAIT_NS 10000000

void firn_options_fill(firn_options *options, size_t options_size)
{
    const firn_options defaults = {
        .size = options_size,
        .vmclock_path = VMCLOCK_PATH,
        .timeout_ms = TIMEOUT_DEFAULT_MS,
        .back_max_ms = BACK_MAX_DEFAULT_MS,
        .after_max_ms = AFTER_MAX_DEFAULT_MS,
        .worker = -1,
        .grace_ms = -1,
    };
    memset(options, 0, options_size);
    memcpy(options, &defaults, options_size < sizeof defaults ? options_size : sizeof defaults);
}

/* The options as this library knows them: members that a caller's older struct lacks get their
 * defaults. */
static int read_options(const firn_options *given, firn_options *options)
{
    *options = firn_options_default();
    if (given == NULL) {
        return FIRN_OK;
    }
    if (given->size < sizeof given->size || given->size > sizeof *options) {
        return FIRN_E_ARGUMENT;
    }
    memcpy(options, given, given->size);
    return FIRN_OK;
}

static int option_error(const firn_options *options, const char *what)
{
    return firn__error(options->error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, "firn_open: %s",
                       what);
}

static int check_options(const firn_options *options)
{
    if (options->window_ms < 0 || options->window_ms > FIRN__WINDOW_MAX_MS) {
        return option_error(options, "window_ms is 0, for the realm's, to 3600000");
    }
    if (options->timeout_ms < 1 || options->timeout_ms > TIMEOUT_MAX_MS) {
        return option_error(options, "timeout_ms is 1 to 3600000");
    }
    if (options->after_max_ms < 0 || options->after_max_ms > TIMEOUT_MAX_MS) {
        return option_error(options, "after_max_ms is 0 to 3600000");
    }
    if (options->renewal < FIRN_RENEWAL_ON_DEMAND || options->renewal > FIRN_RENEWAL_HOST) {
        return option_error(options, "renewal is a firn_renewal");
    }
    if (options->worker < -1 || options->worker > UINT32_MAX) {
        return option_error(options, "worker is -1, for any, or a worker number");
    }
    if (options->note != NULL && strlen(options->note) >= FIRN_NOTE_SIZE / 2) {
        return option_error(options, "note has at most 63 bytes");
    }
    return FIRN_OK;
}

/* The layout that the caller requires, in canonical text. */
static int read_layout(firn *ids, const firn_options *options)
{
    firn_layout layout;
    if (options->layout == NULL) {
        return FIRN_OK;
    }
    int status = firn_layout_parse(options->layout, &layout, options->error_out);
    if (status == FIRN_OK) {
        status = firn_layout_check(&layout, firn__real_ns(ids->env) / 1000, FIRN_ALLOW_SHORT_LIFE,
                                   options->error_out);
    }
    if (status == FIRN_OK) {
        (void)firn_layout_format(&layout, ids->realm.layout, sizeof ids->realm.layout);
    }
    return status;
}

/* The generator's own options are checked by trying them. */
static int check_generator(const firn *ids, firn_error *error_out)
{
    firn_generator generator;
    firn_generator_options options = firn_generator_options_default();
    options.back_max_ms = ids->options.back_max_ms;
    options.on_clock_back = ids->options.on_clock_back;
    options.sequence_start = ids->options.sequence_start;
    options.clock = ids->options.clock;
    return firn_generator_init(&generator, &ids->layout, 0, &options, error_out);
}

static int open_session(firn *ids, firn_error *error_out)
{
    firn__session *session;
    int status = firn__session_get(ids, &session);
    if (status < 0) {
        return firn__error(error_out, status, FIRN__NO_POSITION, NULL);
    }
    (void)pthread_mutex_lock(&session->mutex);
    firn__store(&session->in_use, 1);
    status = firn__session_reach(session, error_out);
    firn__store(&session->in_use, 0);
    if (status == FIRN_OK) {
        ids->realm = session->holder.realm;
        ids->layout = session->holder.layout;
        status = check_generator(ids, error_out);
    }
    (void)pthread_mutex_unlock(&session->mutex);
    return status;
}

static int first_lease(firn *ids, firn_error *error_out)
{
    const int status = firn__session_refresh(ids, true);
    if (status == FIRN_E_WORKERS_BUSY || status == FIRN_E_WORKER_HELD) {
        return FIRN_R_NO_LEASE;
    }
    if (status < 0) {
        firn__report report;
        firn__session_report(ids, &report);
        return firn__error(error_out, status, FIRN__NO_POSITION, "%s", report.text);
    }
    return FIRN_OK;
}

/* A worker may be asked for in the URL or in the options. */
static int choose_worker(firn *ids, const firn_options *options)
{
    if (options->worker == -1 || options->worker == ids->url.worker) {
        return FIRN_OK;
    }
    if (ids->url.worker != FIRN__ANY_WORKER) {
        return option_error(options, "the URL names one worker, options.worker another");
    }
    ids->url.worker = options->worker;
    return FIRN_OK;
}

static int open_handle(firn *ids, const char *url, const firn_options *options)
{
    firn_error *error_out = options->error_out;
    int status = firn__url_parse(url, &ids->url, error_out);
    status = status < 0 ? status : choose_worker(ids, options);
    status = status < 0 ? status : read_layout(ids, options);
    if (status < 0) {
        return status;
    }
    ids->options = *options;
    ids->options.error_out = NULL;
    ids->options.layout = NULL;
    ids->options.note = NULL;
    ids->options.vmclock_path = NULL;
    if (options->note != NULL) {
        memcpy(ids->note, options->note, strlen(options->note) + 1);
    }
    ids->vm_generation = firn__vmclock_open(options->vmclock_path);
    ids->family = firn__memory_share(sizeof *ids->family);
    if (ids->family == NULL) {
        return firn__error(error_out, FIRN_E_MEMORY, FIRN__NO_POSITION, NULL);
    }
    status = open_session(ids, error_out);
    return status < 0 ? status : first_lease(ids, error_out);
}

int firn__open(const char *url, const firn_options *options, const firn__environment *env,
               firn **firn_out)
{
    firn_options known;
    if (url == NULL || firn_out == NULL || read_options(options, &known) < 0) {
        return firn__error(options != NULL && options->size >= sizeof known ? options->error_out
                                                                            : NULL,
                           FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    int status = check_options(&known);
    if (status < 0) {
        return status;
    }
    firn *ids = calloc(1, sizeof *ids);
    if (ids == NULL) {
        return firn__error(known.error_out, FIRN_E_MEMORY, FIRN__NO_POSITION, NULL);
    }
    ids->env = env;
    status = open_handle(ids, url, &known);
    if (status < 0) {
        firn_close(ids);
        return status;
    }
    *firn_out = ids;
    return status;
}

int firn_open(const char *url, const firn_options *options, firn **firn_out)
{
    return firn__open(url, options, NULL, firn_out);
}

void firn_close(firn *ids)
{
    if (ids == NULL) {
        return;
    }
    firn__session_close(ids->session);
    for (size_t i = 0; i < ids->lease_count; i++) {
        firn__memory_unshare(ids->leases[i], LEASE_MAP_SIZE);
    }
    firn__memory_unshare(ids->family, sizeof *ids->family);
    firn__vmclock_close(ids->vm_generation);
    free(ids->leases);
    free(ids);
}

/* Whether a status says that the lease, not the clock, stands in the way. */
static bool needs_lease(int status)
{
    return status == FIRN_E_WINDOW || status == FIRN_E_RETIRED;
}

/* The lease to stamp with, if there is one. */
static inline firn__lease *usable_lease(const firn *ids)
{
    firn__lease *lease = firn__lease_of(ids);
    return lease != NULL && firn__lease_is_current(ids, lease) ? lease : NULL;
}

static int next_slow(firn *ids, uint64_t *id_out)
{
    int status = FIRN_E_WINDOW;
    for (int i = 0; i < REFRESH_TRIES_MAX && needs_lease(status); i++) {
        status = firn__session_refresh(ids, false);
        if (status < 0) {
            return status;
        }
        firn__lease *lease = usable_lease(ids);
        status =
            lease == NULL ? FIRN_E_WINDOW : firn__generate_one(&lease->generator, ids->env, id_out);
    }
    return status;
}

int firn_next(firn *ids, uint64_t *id_out)
{
    if (ids == NULL || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    firn__lease *lease = usable_lease(ids);
    if (lease != NULL) {
        const int status = firn__generate_one(&lease->generator, ids->env, id_out);
        if (!needs_lease(status)) {
            return status;
        }
    }
    return next_slow(ids, id_out);
}

int firn_next_many(firn *ids, uint64_t *ids_out, size_t count, size_t *made_out)
{
    if (ids == NULL || ids_out == NULL || made_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    if (count == 0) {
        *made_out = 0;
        return FIRN_OK;
    }
    int status = FIRN_E_WINDOW;
    for (int i = 0; i < REFRESH_TRIES_MAX && needs_lease(status); i++) {
        firn_batch batch;
        firn__lease *lease = usable_lease(ids);
        status = lease == NULL ? FIRN_E_WINDOW
                               : firn__generate_batch(&lease->generator, ids->env, count, &batch);
        if (status == FIRN_OK) {
            firn__generate_fill(&batch, ids_out);
            *made_out = (size_t)batch.count;
            return FIRN_OK;
        }
        if (needs_lease(status)) {
            const int refreshed = firn__session_refresh(ids, false);
            if (refreshed < 0) {
                return refreshed;
            }
        }
    }
    return status;
}

int firn_next_run(firn *ids, firn_run *run, uint64_t *id_out)
{
    if (ids == NULL || run == NULL || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    firn__lease *lease = usable_lease(ids);
    if (lease != NULL && run->generator == &lease->generator &&
        firn__generate_run(run, ids->env, id_out)) {
        return FIRN_OK;
    }
    int status = FIRN_E_WINDOW;
    for (int i = 0; i < REFRESH_TRIES_MAX && needs_lease(status); i++) {
        lease = usable_lease(ids);
        if (lease != NULL) {
            status = firn_run_init(run, &lease->generator);
            status = status < 0 ? status : firn__generate_refill(run, ids->env, id_out);
        }
        if (needs_lease(status)) {
            const int refreshed = firn__session_refresh(ids, false);
            if (refreshed < 0) {
                return refreshed;
            }
        }
    }
    return status;
}

/* Whether waiting may cure a failure, and the wait itself. Returns FIRN_OK to try again. */
static int wait_out(firn *ids, int status, int64_t timeout_ns, int64_t *deadline_ns)
{
    /* The time runs from the first wait on: calls that need none read no second clock. */
    if (*deadline_ns == 0) {
        *deadline_ns = firn__deadline_ns(ids->env, timeout_ns);
    }
    firn__lease *lease = usable_lease(ids);
    if (firn__generate_worth_waiting(status) && lease != NULL) {
        return firn__generate_wait(&lease->generator, ids->env, *deadline_ns);
    }
    if (firn__generate_worth_waiting(status) || status == FIRN_E_WORKERS_BUSY ||
        status == FIRN_E_WORKER_HELD || status == FIRN_E_REGISTRY_BUSY) {
        const int64_t at_ns = firn__real_ns(ids->env) + WORKER_WAIT_NS;
        return firn__wait_until(ids->env, at_ns, *deadline_ns) < 0 ? FIRN_E_DEADLINE : FIRN_OK;
    }
    return status;
}

int firn_wait(firn *ids, int64_t timeout_ns, uint64_t *id_out)
{
    int64_t deadline_ns = 0;
    for (;;) {
        int status = firn_next(ids, id_out);
        if (status == FIRN_OK || status == FIRN_E_ARGUMENT) {
            return status;
        }
        status = wait_out(ids, status, timeout_ns, &deadline_ns);
        if (status != FIRN_OK) {
            return status;
        }
    }
}

int firn_wait_many(firn *ids, int64_t timeout_ns, uint64_t *ids_out, size_t count, size_t *made_out)
{
    if (ids == NULL || ids_out == NULL || made_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    int64_t deadline_ns = 0;
    size_t made = 0;
    int status = FIRN_OK;
    while (status == FIRN_OK && made < count) {
        size_t some = 0;
        status = firn_next_many(ids, ids_out + made, count - made, &some);
        if (status < 0) {
            status = wait_out(ids, status, timeout_ns, &deadline_ns);
        } else {
            made += some;
        }
    }
    *made_out = made;
    return status;
}

/* Waits until the clock has passed an instant, at most after_max_ms from now. */
static int wait_past(firn *ids, int64_t at_ns)
{
    const int64_t ahead_ns = at_ns - firn__real_ns(ids->env);
    if (ahead_ns > ids->options.after_max_ms * 1000000) {
        return FIRN_E_AHEAD;
    }
    const int64_t deadline_ns =
        firn__deadline_ns(ids->env, 2 * ids->options.after_max_ms * 1000000 + 1000000000);
    int status = FIRN_OK;
    while (status == FIRN_OK && firn__real_ns(ids->env) < at_ns) {
        status = firn__wait_until(ids->env, at_ns, deadline_ns) < 0 ? FIRN_E_DEADLINE : FIRN_OK;
    }
    return status;
}

int firn_next_after(firn *ids, uint64_t after, uint64_t *id_out)
{
    firn_fields fields;
    if (ids == NULL || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    int status = firn_layout_decompose(&ids->layout, after, &fields);
    if (status < 0) {
        return status;
    }
    const int64_t tick_us = ids->layout.tick_ns / 1000;
    if (fields.time_us > INT64_MAX / 1000 - tick_us) {
        return FIRN_E_AHEAD; /* beyond what clocks in nanoseconds can say */
    }
    /* An id of a later tick is greater whatever its worker; one of the same tick may not be. */
    status = wait_past(ids, (fields.time_us + tick_us) * 1000);
    for (int i = 0; status == FIRN_OK && i < REFRESH_TRIES_MAX; i++) {
        uint64_t id;
        status = firn_wait(ids, ids->options.after_max_ms * 1000000 + 1000000000, &id);
        if (status == FIRN_OK && id > after) {
            *id_out = id;
            return FIRN_OK;
        }
    }
    return status == FIRN_OK ? FIRN_E_CLOCK_BACK : status;
}

int firn_renew(firn *ids)
{
    return ids == NULL ? FIRN_E_ARGUMENT : firn__session_refresh(ids, true);
}

int firn_renew_at(firn *ids, int64_t *at_ms_out)
{
    if (ids == NULL || at_ms_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    const firn__lease *lease = usable_lease(ids);
    const int64_t wanted_ms = ids->options.window_ms;
    const int64_t span_ms =
        wanted_ms > 0 && wanted_ms < ids->realm.window_ms ? wanted_ms : ids->realm.window_ms;
    *at_ms_out = lease == NULL ? firn__real_ns(ids->env) / 1000000
                               : (int64_t)firn__load(&lease->end_ms) - span_ms * 2 / 3;
    return FIRN_OK;
}

int firn_quiesce(firn *ids)
{
    if (ids == NULL) {
        return FIRN_E_ARGUMENT;
    }
    firn__store(&ids->family->quiesced, 1);
    (void)firn__fetch_add(&ids->family->era, 1);
    return firn__session_drop(ids);
}

int firn_resume(firn *ids)
{
    if (ids == NULL) {
        return FIRN_E_ARGUMENT;
    }
    firn__store(&ids->family->quiesced, 0);
    return firn__session_refresh(ids, true);
}

int firn_layout_get(const firn *ids, firn_layout *layout_out)
{
    if (ids == NULL || layout_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    *layout_out = ids->layout;
    return FIRN_OK;
}

/* Why a handle is not healthy, before there is an outage: FIRN_OK when it is. */
static int judge(const firn *ids, const firn_state *state, int last_status)
{
    if (firn__load(&ids->family->quiesced) != 0) {
        return FIRN_E_QUIESCED;
    }
    const bool lapsed = !state->leased || state->window_left_ms <= 0;
    if (lapsed && last_status == FIRN_OK && ids->options.renewal == FIRN_RENEWAL_HOST) {
        return FIRN_E_WINDOW;
    }
    if (last_status == FIRN_E_FORK) {
        return last_status; /* nothing that this process does will renew the window */
    }
    /* While renewals fail, ids still flow: until half of the window is gone that is no cause for
     * alarm. */
    return lapsed || state->window_left_ms < ids->realm.window_ms / 2 ? last_status : FIRN_OK;
}

int firn_state_get(firn *ids, firn_state *state_out)
{
    if (ids == NULL || state_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    firn__report report;
    firn__session_report(ids, &report);
    firn_state state = {
        .renewals = report.renewals,
        .renewal_failures = report.failures,
        .conflicts = report.conflicts,
        .lost_replies = report.lost_replies,
        .snapshots = report.snapshots,
    };
    const firn__lease *lease = usable_lease(ids);
    if (lease != NULL &&
        !firn__word_is_final(&lease->generator.rules, firn__load(&lease->generator.word))) {
        state.leased = 1;
        state.worker = lease->generator.worker;
        state.window_end_ms = (int64_t)firn__load(&lease->end_ms);
        state.window_left_ms = state.window_end_ms - firn__real_ns(ids->env) / 1000000;
        (void)firn_generator_statistics(&lease->generator, &state.statistics);
    }
    state.reason = judge(ids, &state, report.status);
    state.healthy = state.reason == FIRN_OK;
    if (!state.healthy) {
        const char *text = report.text[0] != '\0' && state.reason == report.status
                               ? report.text
                               : firn_status_text(state.reason);
        memcpy(state.text, text, strlen(text) + 1);
    }
    *state_out = state;
    return FIRN_OK;
}
