/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * All of the lease policy, once for every backend: rules R1 to R9 and R11 of docs/design.md, each
 * named where it is kept. It decides; backends store, and firn.c holds the lease and its threads.
 *
 * The one theorem: a window starts at the mark that its own acknowledged swap compared, and ends at
 * the mark that it wrote. So windows of one worker never overlap, whatever the clocks say.
 */
#include "registry/lease.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/error.h"
#include "core/layout.h"
#include "core/step.h"
#include "firn/time.h"

/* Seconds; a clock before this library was built is wrong (R7). */
#ifndef FIRN_BUILD_DATE_S
#error "the build system defines FIRN_BUILD_DATE_S"
#endif

#define PAGE_RECORDS      64
#define ACQUIRE_TRIES_MAX 64
/* A clock is taken to be wrong only when this many marks say so. */
#define WITNESSES_MIN 2
/* A mark further ahead than this is a poisoned one, not a witness: a clock so far behind is older than
 * the library. */
#define WITNESS_MAX_MS (INT64_C(366) * 86400000)
/* Nor does a library run thirty years after it was built. */
#define LIBRARY_LIFE_MS (INT64_C(30) * 366 * 86400000)

/* What a look at all records found. */
struct survey {
    firn_worker chosen;
    bool found;          /* chosen is free */
    uint64_t free_count; /* free ones so far, for an even choice */
    uint64_t record_count;
    uint64_t ahead_count; /* marks that an honest clock like ours would not have written yet */
    uint64_t next_number; /* the lowest number in the pool that has no record */
    int64_t retry_ms;     /* when the first of the others is free */
    bool wish_exists;
    firn_worker wish;
};

static void format_ms(int64_t at_ms, char *buf, size_t buf_size)
{
    if (at_ms > INT64_MAX / 1000 || firn_time_format(at_ms * 1000, 3, buf, buf_size) < 0) {
        (void)memcpy(buf, "?", 2);
    }
}

static int64_t now_ms(const firn__holder *holder)
{
    return firn__real_ns(holder->env) / 1000000;
}

static int64_t later(int64_t a_ms, int64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

int firn__holder_open(firn__holder *holder, const firn__url *url, int64_t timeout_ms,
                      const firn__environment *env, firn_error *error_out)
{
    const firn__backend *backend = firn__backend_find(url->scheme);
    if (backend == NULL) {
        return firn__error(error_out, FIRN_E_BACKEND, FIRN__NO_POSITION,
                           "registry scheme '%s': this build has no such registry; it has sqlite "
                           "(also as static) and mem as it was configured; see 'firn doctor'",
                           url->scheme);
    }
    *holder = (firn__holder){.backend = backend, .env = env, .worker = url->worker};
    const int status = firn__holder_renew_id(holder, error_out);
    return status < 0 ? status : backend->open(url, timeout_ms, &holder->store, error_out);
}

void firn__holder_close(firn__holder *holder)
{
    if (holder->store != NULL) {
        holder->backend->close(holder->store);
        holder->store = NULL;
    }
}

int firn__holder_renew_id(firn__holder *holder, firn_error *error_out)
{
    const int status = firn__random_bytes(holder->env, holder->id, sizeof holder->id);
    return status < 0 ? firn__error(error_out, status, FIRN__NO_POSITION, NULL) : FIRN_OK;
}

/* R9: the store must be the one that the realm was made in. */
static int check_identity(const firn__holder *holder, const firn_realm *realm,
                          firn_error *error_out)
{
    char identity[FIRN_IDENTITY_SIZE];
    const int status = holder->backend->identify(holder->store, identity, error_out);
    if (status < 0) {
        return status;
    }
    if (strcmp(identity, realm->identity) == 0) {
        return FIRN_OK;
    }
    return firn__error(error_out, FIRN_E_REGISTRY_MOVED, FIRN__NO_POSITION,
                       "the registry is a copy, or was restored: its realm belongs to %s, this is "
                       "%s: %s",
                       realm->identity, identity, firn_status_hint(FIRN_E_REGISTRY_MOVED));
}

/* What a holder has once read stays: another realm, or another layout, would make ids of one space in
 * two ways. */
static int check_same_realm(const firn__holder *holder, const firn_realm *realm,
                            firn_error *error_out)
{
    static const uint8_t none[16] = {0};
    if (memcmp(holder->realm.uuid, none, sizeof none) == 0) {
        return FIRN_OK;
    }
    if (memcmp(holder->realm.uuid, realm->uuid, sizeof realm->uuid) != 0) {
        return firn__error(error_out, FIRN_E_REGISTRY_MOVED, FIRN__NO_POSITION,
                           "the registry holds another realm than before: open it again if that "
                           "is intended");
    }
    if (strcmp(holder->realm.layout, realm->layout) != 0) {
        return firn__error(
            error_out, FIRN_E_REALM_LAYOUT, FIRN__NO_POSITION,
            "the realm's layout was %s and is now %s: ids of both may be equal: make "
            "a new realm for a new layout",
            holder->realm.layout, realm->layout);
    }
    return FIRN_OK;
}

int firn__holder_read(firn__holder *holder, firn_error *error_out)
{
    firn_realm realm = firn_realm_default();
    firn_layout layout;
    int status = holder->backend->read(holder->store, &realm, error_out);
    if (status < 0) {
        return status;
    }
    if (firn_layout_parse(realm.layout, &layout, NULL) < 0) {
        return firn__error(error_out, FIRN_E_REGISTRY_CORRUPT, FIRN__NO_POSITION,
                           "the realm's layout '%.63s' cannot be read: %s", realm.layout,
                           firn_status_hint(FIRN_E_REGISTRY_CORRUPT));
    }
    status = check_same_realm(holder, &realm, error_out);
    if (status < 0) {
        return status;
    }
    holder->realm = realm;
    holder->layout = layout;
    return check_identity(holder, &realm, error_out);
}

static int check_wanted(const firn_realm *realm, const firn_layout *layout, firn_error *error_out)
{
    if (realm->window_ms < FIRN__WINDOW_MIN_MS || realm->window_ms > FIRN__WINDOW_MAX_MS) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "window %" PRId64 " ms: a window is 1 ms to 1 h", realm->window_ms);
    }
    if (realm->window_ms * 1000 < layout->tick_ns / 1000 * 2) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "window %" PRId64 " ms: it must hold two ticks of the layout or more",
                           realm->window_ms);
    }
    if (realm->grace_ms < 0 || realm->grace_ms > FIRN__GRACE_MAX_MS) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "grace %" PRId64 " ms: grace is 0 to 30 days", realm->grace_ms);
    }
    if (realm->skew_max_ms < 1 || realm->skew_max_ms > FIRN__GRACE_MAX_MS) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "skew_max %" PRId64 " ms: it is 1 ms to 30 days", realm->skew_max_ms);
    }
    const uint64_t last = firn__mask(firn__worker_number_bits(layout));
    if (realm->worker_first > realm->worker_last || realm->worker_last > last) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "workers %u to %u: the layout has workers 0 to %" PRIu64,
                           realm->worker_first, realm->worker_last, last);
    }
    return FIRN_OK;
}

/* R7: the clock is neither before the library's build date nor far beyond it, and agrees with the
 * store's. */
static int check_clock(const firn__holder *holder, int64_t at_ms, firn_error *error_out)
{
    char ours[FIRN_TIME_TEXT_SIZE];
    char other[FIRN_TIME_TEXT_SIZE];
    const int64_t build_ms = INT64_C(1000) * FIRN_BUILD_DATE_S;
    format_ms(at_ms, ours, sizeof ours);
    if (at_ms < build_ms || at_ms > build_ms + LIBRARY_LIFE_MS) {
        format_ms(build_ms, other, sizeof other);
        return firn__error(error_out, FIRN_E_CLOCK_SKEW, FIRN__NO_POSITION,
                           "this clock reads %s, %s this library was built (%s): set the clock",
                           ours, at_ms < build_ms ? "before" : "more than 30 years after", other);
    }
    int64_t store_ms;
    const int status = holder->backend->clock(holder->store, &store_ms, error_out);
    if (status == FIRN_E_UNSUPPORTED) {
        return FIRN_OK;
    }
    if (status < 0) {
        return status;
    }
    const int64_t skew_ms = at_ms > store_ms ? at_ms - store_ms : store_ms - at_ms;
    if (skew_ms > holder->realm.skew_max_ms) {
        format_ms(store_ms, other, sizeof other);
        return firn__error(error_out, FIRN_E_CLOCK_SKEW, FIRN__NO_POSITION,
                           "this clock reads %s, the registry's %s: at most %" PRId64
                           " ms apart are allowed: set the one that is wrong",
                           ours, other, holder->realm.skew_max_ms);
    }
    return FIRN_OK;
}

int firn__holder_create(firn__holder *holder, const firn_realm *wanted, firn_error *error_out)
{
    firn_realm realm = *wanted;
    firn_layout layout;
    const char *text = wanted->layout[0] == '\0' ? FIRN_LAYOUT_DEFAULT : wanted->layout;
    int status = firn_layout_parse(text, &layout, error_out);
    if (status == FIRN_OK) {
        status =
            firn_layout_check(&layout, firn__real_ns(holder->env) / 1000, wanted->allow, error_out);
    }
    if (status < 0) {
        return status;
    }
    (void)firn_layout_format(&layout, realm.layout, sizeof realm.layout);
    realm.window_ms = wanted->window_ms == 0 ? holder->backend->window_ms : wanted->window_ms;
    realm.grace_ms = wanted->grace_ms == -1 ? holder->backend->grace_ms : wanted->grace_ms;
    realm.skew_max_ms = wanted->skew_max_ms == 0 ? FIRN__SKEW_MAX_DEFAULT_MS : wanted->skew_max_ms;
    realm.workers_used = 0;
    realm.adoptions = 0;
    if (wanted->worker_last == UINT32_MAX) {
        realm.worker_last = (uint32_t)firn__mask(firn__worker_number_bits(&layout));
    }
    status = check_wanted(&realm, &layout, error_out);
    if (status < 0) {
        return status;
    }
    status = firn__random_bytes(holder->env, realm.uuid, sizeof realm.uuid);
    if (status < 0) {
        return firn__error(error_out, status, FIRN__NO_POSITION, NULL);
    }
    return holder->backend->create(holder->store, &realm, error_out);
}

int firn__holder_probe(firn__holder *holder, firn_error *error_out)
{
    firn_worker expected = {.worker = holder->realm.worker_first};
    int status = firn__random_bytes(holder->env, expected.attempt, sizeof expected.attempt);
    if (status < 0) {
        return firn__error(error_out, status, FIRN__NO_POSITION, NULL);
    }
    firn_worker desired = expected;
    desired.counter = 1;
    status = holder->backend->swap(holder->store, &holder->realm, &expected, &desired, error_out);
    if (status == FIRN_OK) {
        return firn__error(error_out, FIRN_E_REGISTRY_UNSAFE, FIRN__NO_POSITION, NULL);
    }
    return status == FIRN_E_CONFLICT ? FIRN_OK : status;
}

static int64_t free_ms(const firn__holder *holder, int64_t mark_ms)
{
    return mark_ms > INT64_MAX - holder->realm.grace_ms ? INT64_MAX
                                                        : mark_ms + holder->realm.grace_ms;
}

static void survey_record(const firn__holder *holder, struct survey *survey, int64_t at_ms,
                          uint64_t dice, const firn_worker *record)
{
    const firn_realm *realm = &holder->realm;
    survey->record_count++;
    survey->next_number += record->worker == survey->next_number;
    const int64_t ahead_ms = record->mark_ms - realm->window_ms - at_ms;
    if (ahead_ms > realm->skew_max_ms && ahead_ms <= WITNESS_MAX_MS) {
        survey->ahead_count++;
    }
    if (holder->worker == (int64_t)record->worker) {
        survey->wish_exists = true;
        survey->wish = *record;
    }
    if (record->worker < realm->worker_first || record->worker > realm->worker_last) {
        return;
    }
    const int64_t free_at_ms = free_ms(holder, record->mark_ms);
    if (free_at_ms >= at_ms) {
        survey->retry_ms = free_at_ms < survey->retry_ms ? free_at_ms : survey->retry_ms;
        return;
    }
    /* Each free record has the same chance, so that processes that start together rarely meet. */
    survey->free_count++;
    if (firn__scatter(dice + record->worker) % survey->free_count == 0) {
        survey->chosen = *record;
        survey->found = true;
    }
}

/* Looks at all records. R5: as many as the realm counts, or refuse. */
static int survey_all(const firn__holder *holder, struct survey *survey, int64_t at_ms,
                      firn_error *error_out)
{
    firn_worker page[PAGE_RECORDS];
    uint64_t dice;
    int status = firn__random_bytes(holder->env, &dice, sizeof dice);
    if (status < 0) {
        return firn__error(error_out, status, FIRN__NO_POSITION, NULL);
    }
    *survey = (struct survey){.next_number = holder->realm.worker_first, .retry_ms = INT64_MAX};
    size_t count = PAGE_RECORDS;
    uint64_t first = 0;
    while (count == PAGE_RECORDS && first <= UINT32_MAX) {
        status = holder->backend->list(holder->store, (uint32_t)first, page, PAGE_RECORDS, &count,
                                       error_out);
        if (status < 0) {
            return status;
        }
        for (size_t i = 0; i < count; i++) {
            survey_record(holder, survey, at_ms, dice, &page[i]);
            first = (uint64_t)page[i].worker + 1;
        }
    }
    if (survey->record_count > holder->realm.workers_used) {
        return FIRN_E_CONFLICT; /* others have added one since the realm was read */
    }
    if (survey->record_count < holder->realm.workers_used) {
        return firn__error(error_out, FIRN_E_REGISTRY_CORRUPT, FIRN__NO_POSITION,
                           "the realm counts %u workers, but only %" PRIu64
                           " have a record, and a missing mark could repeat ids: %s",
                           holder->realm.workers_used, survey->record_count,
                           firn_status_hint(FIRN_E_REGISTRY_CORRUPT));
    }
    return FIRN_OK;
}

/* R7: marks are a second witness. When most of them lie where only a later clock could have put
 * them, it is this clock that is wrong. */
static int check_peers(const firn__holder *holder, const struct survey *survey, int64_t at_ms,
                       firn_error *error_out)
{
    if (survey->ahead_count < WITNESSES_MIN || survey->ahead_count * 2 <= survey->record_count) {
        return FIRN_OK;
    }
    char ours[FIRN_TIME_TEXT_SIZE];
    format_ms(at_ms, ours, sizeof ours);
    return firn__error(error_out, FIRN_E_CLOCK_SKEW, FIRN__NO_POSITION,
                       "this clock reads %s, but %" PRIu64 " of %" PRIu64
                       " workers have marks more than %" PRId64
                       " ms ahead of what that allows: set the clock, or wait; see 'firn workers'",
                       ours, survey->ahead_count, survey->record_count, holder->realm.skew_max_ms);
}

/* The worker asked for by number: its own record or none. */
static int choose_wish(firn__holder *holder, const struct survey *survey, int64_t at_ms,
                       const firn_worker **expected_out, firn_worker *desired,
                       firn_error *error_out)
{
    desired->worker = (uint32_t)holder->worker;
    *expected_out = survey->wish_exists ? &survey->wish : NULL;
    holder->retry_ms =
        free_ms(holder, survey->wish_exists ? survey->wish.mark_ms : holder->realm.floor_ms);
    if (holder->retry_ms < at_ms) {
        return FIRN_OK;
    }
    char until[FIRN_TIME_TEXT_SIZE];
    format_ms(holder->retry_ms, until, sizeof until);
    if (!survey->wish_exists) {
        return firn__error(error_out, FIRN_E_WORKER_HELD, FIRN__NO_POSITION,
                           "worker %u has no record, and the registry was adopted: it is reserved "
                           "until %s: wait, or choose another number",
                           desired->worker, until);
    }
    return firn__error(error_out, FIRN_E_WORKER_HELD, FIRN__NO_POSITION,
                       "worker %u %s '%s', and reserved until %s: wait, or choose another number",
                       desired->worker, survey->wish.released ? "was released by" : "is held by",
                       survey->wish.note, until);
}

/* Any worker: one that is free, or a new one. */
static int choose_any(firn__holder *holder, const struct survey *survey, int64_t at_ms,
                      const firn_worker **expected_out, firn_worker *desired, firn_error *error_out)
{
    const firn_realm *realm = &holder->realm;
    const bool has_new = survey->next_number <= realm->worker_last;
    const int64_t new_ms = has_new ? free_ms(holder, realm->floor_ms) : INT64_MAX;
    if (survey->found || new_ms < at_ms) {
        *expected_out = survey->found ? &survey->chosen : NULL;
        desired->worker = survey->found ? survey->chosen.worker : (uint32_t)survey->next_number;
        return FIRN_OK;
    }
    holder->retry_ms = new_ms < survey->retry_ms ? new_ms : survey->retry_ms;
    char until[FIRN_TIME_TEXT_SIZE];
    format_ms(holder->retry_ms, until, sizeof until);
    return firn__error(error_out, FIRN_E_WORKERS_BUSY, FIRN__NO_POSITION,
                       "all %u workers (%u to %u) are held; the first is free at %s: wait, or see "
                       "'firn workers' for who holds them",
                       realm->worker_last - realm->worker_first + 1, realm->worker_first,
                       realm->worker_last, until);
}

/* R3 and R7: the mark grows, and stays inside the layout's life. */
static int raise_mark(const firn__holder *holder, int64_t from_ms, int64_t window_ms,
                      int64_t *mark_out, firn_error *error_out)
{
    firn_capacity capacity;
    (void)firn_layout_capacity(&holder->layout, &capacity);
    const int64_t end_ms = capacity.end_us / 1000;
    if (from_ms >= end_ms) {
        return firn__error(error_out, FIRN_E_LAYOUT_END, FIRN__NO_POSITION, NULL);
    }
    *mark_out = window_ms > end_ms - from_ms ? end_ms : from_ms + window_ms;
    return FIRN_OK;
}

/* What every write has anew: who, which write, and one more of them. */
static int sign(const firn__holder *holder, firn_worker *desired, firn_error *error_out)
{
    const int status = firn__random_bytes(holder->env, desired->attempt, sizeof desired->attempt);
    if (status < 0) {
        return firn__error(error_out, status, FIRN__NO_POSITION, NULL);
    }
    memcpy(desired->holder, holder->id, sizeof desired->holder);
    memcpy(desired->note, holder->note, sizeof desired->note);
    desired->counter++;
    return FIRN_OK;
}

/* R1, R2: a window exists only when this very swap said so; it starts at the mark compared. */
static int swap(firn__holder *holder, const firn_worker *expected, const firn_worker *desired,
                firn_error *error_out)
{
    const int status =
        holder->backend->swap(holder->store, &holder->realm, expected, desired, error_out);
    if (status < 0 && status != FIRN_E_CONFLICT && status != FIRN_E_REGISTRY_BUSY) {
        holder->lost_replies++;
    }
    return status;
}

static int acquire_once(firn__holder *holder, int64_t window_ms, firn__grant *grant_out,
                        firn_error *error_out)
{
    struct survey survey = {.found = false};
    const firn_worker *expected = NULL;
    firn_worker desired = {0};
    int status = firn__holder_read(holder, error_out);
    const int64_t at_ms = now_ms(holder);
    status = status < 0 ? status : check_clock(holder, at_ms, error_out);
    status = status < 0 ? status : survey_all(holder, &survey, at_ms, error_out);
    status = status < 0 ? status : check_peers(holder, &survey, at_ms, error_out);
    if (status < 0) {
        return status;
    }
    status = holder->worker == FIRN__ANY_WORKER
                 ? choose_any(holder, &survey, at_ms, &expected, &desired, error_out)
                 : choose_wish(holder, &survey, at_ms, &expected, &desired, error_out);
    if (status < 0) {
        return status;
    }
    /* A worker without a record may have had one before an adoption; its mark is the floor then. */
    desired.counter = expected == NULL ? 0 : expected->counter;
    desired.mark_ms = expected == NULL ? holder->realm.floor_ms : expected->mark_ms;
    const int64_t start_ms = desired.mark_ms;
    status = raise_mark(holder, later(start_ms, at_ms), window_ms, &desired.mark_ms, error_out);
    status = status < 0 ? status : sign(holder, &desired, error_out);
    status = status < 0 ? status : swap(holder, expected, &desired, error_out);
    if (status == FIRN_OK) {
        *grant_out =
            (firn__grant){.record = desired, .start_ms = start_ms, .end_ms = desired.mark_ms};
    }
    return status;
}

/* At most the realm's window, and enough for two of the layout's ticks. */
static int64_t window_or_default(const firn__holder *holder, int64_t window_ms)
{
    const int64_t two_ticks_ms = 2 * holder->layout.tick_ns / 1000000 + 1;
    const int64_t wanted_ms = window_ms < two_ticks_ms ? two_ticks_ms : window_ms;
    return window_ms <= 0 || wanted_ms > holder->realm.window_ms ? holder->realm.window_ms
                                                                 : wanted_ms;
}

int firn__lease_acquire(firn__holder *holder, int64_t window_ms, firn__grant *grant_out,
                        firn_error *error_out)
{
    if (holder->worker != FIRN__ANY_WORKER &&
        holder->worker > (int64_t)firn__mask(firn__worker_number_bits(&holder->layout))) {
        return firn__error(error_out, FIRN_E_FIELD_RANGE, FIRN__NO_POSITION,
                           "worker %" PRId64 ": the realm's layout has workers 0 to %" PRIu64,
                           holder->worker, firn__mask(firn__worker_number_bits(&holder->layout)));
    }
    for (int i = 0; i < ACQUIRE_TRIES_MAX; i++) {
        const int status =
            acquire_once(holder, window_or_default(holder, window_ms), grant_out, error_out);
        if (status != FIRN_E_CONFLICT) {
            return status;
        }
    }
    return firn__error(error_out, FIRN_E_REGISTRY_BUSY, FIRN__NO_POSITION,
                       "others were faster %d times in a row: try again", ACQUIRE_TRIES_MAX);
}

int firn__lease_extend(firn__holder *holder, firn__grant *grant, int64_t window_ms, int64_t last_ms,
                       firn_error *error_out)
{
    const int64_t at_ms = now_ms(holder);
    const int64_t span_ms = window_or_default(holder, window_ms);
    int status = check_clock(holder, at_ms, error_out);
    if (status < 0) {
        return status;
    }
    /* R7: a mark more than a window ahead is left alone. */
    if (grant->end_ms > at_ms && grant->end_ms - at_ms >= span_ms) {
        return FIRN_OK;
    }
    firn_worker desired = grant->record;
    status = raise_mark(holder, later(last_ms + 1, at_ms), span_ms, &desired.mark_ms, error_out);
    desired.mark_ms = later(desired.mark_ms, grant->record.mark_ms);
    desired.released = 0;
    status = status < 0 ? status : sign(holder, &desired, error_out);
    status = status < 0 ? status : swap(holder, &grant->record, &desired, error_out);
    if (status == FIRN_OK) {
        grant->record = desired;
        grant->end_ms = desired.mark_ms;
    }
    return status;
}

int firn__lease_release(firn__holder *holder, const firn__grant *grant, firn_error *error_out)
{
    firn_worker desired = grant->record;
    desired.released = 1;
    const int status = sign(holder, &desired, error_out);
    return status < 0 ? status : swap(holder, &grant->record, &desired, error_out);
}
