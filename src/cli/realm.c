/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Showing a realm: for 'firn init', 'firn workers' and 'firn doctor'. */
#include "cli/realm.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/output.h"
#include "cli/text.h"

#define US_PER_MS 1000

char *realm_uuid(const firn_realm *realm, char *buf)
{
    char *at = buf;
    for (int i = 0; i < 16; i++) {
        const bool divided = i == 4 || i == 6 || i == 8 || i == 10;
        at += snprintf(at, 4, "%s%02x", divided ? "-" : "", realm->uuid[i]);
    }
    return buf;
}

static void print_span(const char *name, int64_t span_ms)
{
    char span[TEXT_SIZE];
    print("  %-10s%s\n", name, text_span(span_ms * US_PER_MS, span));
}

void realm_print(const firn_realm *realm, const char *url)
{
    char uuid[REALM_UUID_SIZE];
    print("  %-10s%s\n", "registry", url);
    print("  %-10s%s\n", "realm", realm_uuid(realm, uuid));
    print("  %-10s%s%s%s\n", "layout", paint(PAINT_BOLD), realm->layout, paint(PAINT_NONE));
    print("  %-10s%" PRIu32 " to %" PRIu32 "\n", "workers", realm->worker_first,
          realm->worker_last);
    print_span("window", realm->window_ms);
    print_span("grace", realm->grace_ms);
    print_span("skew-max", realm->skew_max_ms);
}

void realm_json(struct json *json, const firn_realm *realm, const char *url)
{
    char uuid[REALM_UUID_SIZE];
    json_string(json, "registry", url);
    json_string(json, "realm", realm_uuid(realm, uuid));
    json_string(json, "layout", realm->layout);
    json_integer(json, "worker_first", realm->worker_first);
    json_integer(json, "worker_last", realm->worker_last);
    json_integer(json, "workers_used", realm->workers_used);
    json_integer(json, "window_ms", realm->window_ms);
    json_integer(json, "grace_ms", realm->grace_ms);
    json_integer(json, "skew_max_ms", realm->skew_max_ms);
    json_integer(json, "adoptions", realm->adoptions);
}
