/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The public functions of firn/registry.h, and the list of backends built in. What a lease is, is
 * lease.c's. */
#include "firn/registry.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "registry/lease.h"

#define TIMEOUT_MAX_MS 3600000

struct firn_registry {
    firn__holder holder;
};

static const firn__backend *const backends[] = {
#if FIRN_WITH_SQLITE
    &firn__sqlite_backend,
#endif
    &firn__mem_backend,
};

#define BACKEND_COUNT (sizeof backends / sizeof backends[0])

const firn__backend *firn__backend_find(const char *scheme)
{
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        if (strcmp(backends[i]->scheme, scheme) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

const char *firn_backend_at(size_t index)
{
    return index < BACKEND_COUNT ? backends[index]->scheme : NULL;
}

void firn_realm_fill(firn_realm *realm, size_t realm_size)
{
    const firn_realm defaults = {
        .size = realm_size,
        .grace_ms = -1,
        .worker_last = UINT32_MAX,
    };
    memset(realm, 0, realm_size);
    memcpy(realm, &defaults, realm_size < sizeof defaults ? realm_size : sizeof defaults);
}

int firn_registry_open(const char *url, int64_t timeout_ms, firn_registry **registry_out,
                       firn_error *error_out)
{
    firn__url parts;
    if (url == NULL || registry_out == NULL || timeout_ms < 1 || timeout_ms > TIMEOUT_MAX_MS) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    int status = firn__url_parse(url, &parts, error_out);
    if (status < 0) {
        return status;
    }
    firn_registry *registry = calloc(1, sizeof *registry);
    if (registry == NULL) {
        return firn__error(error_out, FIRN_E_MEMORY, FIRN__NO_POSITION, NULL);
    }
    status = firn__holder_open(&registry->holder, &parts, timeout_ms, NULL, error_out);
    if (status < 0) {
        firn_registry_close(registry);
        return status;
    }
    *registry_out = registry;
    return FIRN_OK;
}

void firn_registry_close(firn_registry *registry)
{
    if (registry != NULL) {
        firn__holder_close(&registry->holder);
        free(registry);
    }
}

/* The realm as this library knows it: members that a caller's older struct lacks get their
 * defaults. */
static int read_wanted(const firn_realm *given, firn_realm *wanted)
{
    *wanted = firn_realm_default();
    if (given->size < sizeof given->size || given->size > sizeof *wanted) {
        return FIRN_E_ARGUMENT;
    }
    memcpy(wanted, given, given->size);
    wanted->size = sizeof *wanted;
    return FIRN_OK;
}

int firn_registry_create(firn_registry *registry, const firn_realm *realm, firn_error *error_out)
{
    firn_realm wanted;
    if (registry == NULL || realm == NULL || read_wanted(realm, &wanted) < 0) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    return firn__holder_create(&registry->holder, &wanted, error_out);
}

int firn_registry_realm(firn_registry *registry, firn_realm *realm_out, firn_error *error_out)
{
    if (registry == NULL || realm_out == NULL) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    const int status = firn__holder_read(&registry->holder, error_out);
    if (status == FIRN_OK || status == FIRN_E_REGISTRY_MOVED) {
        const size_t size =
            realm_out->size < sizeof realm_out->size ? sizeof *realm_out : realm_out->size;
        memcpy(realm_out, &registry->holder.realm,
               size < sizeof *realm_out ? size : sizeof *realm_out);
        realm_out->size = size;
    }
    return status;
}

/* A copy may still be looked at. */
static int read_for_show(firn__holder *holder, firn_error *error_out)
{
    const int status = firn__holder_read(holder, error_out);
    return status == FIRN_E_REGISTRY_MOVED ? FIRN_OK : status;
}

int firn_registry_workers(firn_registry *registry, uint32_t first, firn_worker *workers_out,
                          size_t workers_count, size_t *count_out, firn_error *error_out)
{
    if (registry == NULL || count_out == NULL || (workers_out == NULL && workers_count != 0)) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    firn__holder *holder = &registry->holder;
    size_t count = 0;
    int status = read_for_show(holder, error_out);
    if (status == FIRN_OK && workers_count != 0) {
        status = holder->backend->list(holder->store, first, workers_out, workers_count, &count,
                                       error_out);
    }
    if (status < 0) {
        return status;
    }
    if (first == 0 && count < workers_count && count < holder->realm.workers_used) {
        return firn__error(error_out, FIRN_E_REGISTRY_CORRUPT, FIRN__NO_POSITION,
                           "the realm counts %u workers, but only %zu have a record: %s",
                           holder->realm.workers_used, count,
                           firn_status_hint(FIRN_E_REGISTRY_CORRUPT));
    }
    for (size_t i = 0; i < count; i++) {
        workers_out[i].free_ms = workers_out[i].mark_ms + holder->realm.grace_ms;
    }
    *count_out = count;
    return FIRN_OK;
}

int firn_registry_probe(firn_registry *registry, firn_error *error_out)
{
    if (registry == NULL) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    const int status = firn__holder_read(&registry->holder, error_out);
    return status < 0 ? status : firn__holder_probe(&registry->holder, error_out);
}

int firn_registry_adopt(firn_registry *registry, const char *reason, firn_error *error_out)
{
    if (registry == NULL || reason == NULL || reason[0] == '\0') {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "adopt needs a registry and a reason that is not empty");
    }
    firn__holder *holder = &registry->holder;
    const int status = read_for_show(holder, error_out);
    if (status < 0) {
        return status;
    }
    const int64_t raise_ms = 2 * holder->realm.window_ms;
    const int64_t now_ms = firn__real_ns(holder->env) / 1000000;
    return holder->backend->adopt(holder->store, now_ms + raise_ms, raise_ms, reason, error_out);
}
