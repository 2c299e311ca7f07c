/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn init: makes a realm, with a layout and rules of one's own. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/realm.h"
#include "cli/registry_url.h"
#include "firn/registry.h"

#define SPAN_MAX_MS (INT64_C(86400) * 1000)
#define TIMEOUT_MS  5000

enum { LAYOUT, WINDOW, GRACE, WORKERS, SKEW_MAX, JSON, REGISTRY };

static const struct option_spec options[] = {
    [LAYOUT] = {'l', "layout", "LAYOUT", FIRN_LAYOUT_DEFAULT,
                "The layout of all its ids; it cannot be changed later.", COMPLETE_LAYOUT},
    [WINDOW] = {0, "window", "SPAN", NULL,
                "How much time a worker is given at once, such as 3s: ids go on for so long when "
                "the registry is away, and a crashed worker's number comes back after it. Default: "
                "the registry's.",
                COMPLETE_NOTHING},
    [GRACE] = {0, "grace", "SPAN", NULL,
               "How much of the last acknowledged writes the store may lose; a number is free so "
               "long after its window. Default: the registry's.",
               COMPLETE_NOTHING},
    [WORKERS] = {0, "workers", "A-B", NULL,
                 "The worker numbers that it hands out. Default: all of the layout's.",
                 COMPLETE_NOTHING},
    [SKEW_MAX] = {0, "skew-max", "SPAN", NULL,
                  "How far clocks may disagree before one is refused. Default: the registry's.",
                  COMPLETE_NOTHING},
    [JSON] = OPTION_JSON,
    [REGISTRY] = OPTION_REGISTRY,
    OPTION_END,
};

static const struct example examples[] = {
    {"firn init", "The default registry, before its first use."},
    {"firn init --registry sqlite:./orders.db --layout t41w13s10@2026-01-01 --window 10s",
     "A registry of one's own."},
    {"firn init --registry sqlite:./east.db --workers 0-511",
     "Half of the worker numbers, for one of two places that share an id space."},
    {NULL, NULL},
};

static bool realm_read(const struct arguments *arguments, firn_realm *realm)
{
    const char *const *values = arguments->values;
    firn_layout layout;
    if (!input_layout(values[LAYOUT], &layout)) {
        return false;
    }
    (void)firn_layout_format(&layout, realm->layout, sizeof realm->layout);
    return (values[WINDOW] == NULL ||
            input_span_ms("--window", values[WINDOW], SPAN_MAX_MS, &realm->window_ms)) &&
           (values[GRACE] == NULL ||
            input_span_ms("--grace", values[GRACE], SPAN_MAX_MS, &realm->grace_ms)) &&
           (values[SKEW_MAX] == NULL ||
            input_span_ms("--skew-max", values[SKEW_MAX], SPAN_MAX_MS, &realm->skew_max_ms)) &&
           (values[WORKERS] == NULL ||
            input_range("--workers", values[WORKERS], &realm->worker_first, &realm->worker_last));
}

static int complain_exists(firn_registry *registry, const char *url)
{
    firn_realm realm = firn_realm_default();
    if (firn_registry_realm(registry, &realm, NULL) < 0) {
        return complain(EXIT_REGISTRY, "%s: there is a realm already; it was left as it is", url);
    }
    char uuid[REALM_UUID_SIZE];
    return complain(EXIT_REGISTRY,
                    "%s: there is a realm already: layout %s, workers %" PRIu32 " to %" PRIu32
                    ", window %" PRId64 " ms, %s; it was left as it is; use it, or choose another "
                    "path",
                    url, realm.layout, realm.worker_first, realm.worker_last, realm.window_ms,
                    realm_uuid(&realm, uuid));
}

static int make(firn_registry *registry, const struct registry_choice *choice,
                const firn_realm *wanted, bool as_json)
{
    firn_error error;
    const int status = firn_registry_create(registry, wanted, &error);
    if (status == FIRN_E_REALM_EXISTS) {
        return complain_exists(registry, choice->url);
    }
    firn_realm realm = firn_realm_default();
    if (status < 0 || firn_registry_realm(registry, &realm, &error) < 0) {
        return complain_error(&error);
    }
    if (as_json) {
        struct json json = {0};
        json_open(&json, NULL, '{');
        realm_json(&json, &realm, choice->url);
        json_close(&json, '}');
    } else {
        print("made a realm\n");
        realm_print(&realm, choice->url);
    }
    return EXIT_GOOD;
}

static int run(const struct arguments *arguments)
{
    struct registry_choice choice;
    firn_realm realm = firn_realm_default();
    if (!realm_read(arguments, &realm) || !registry_choose(arguments->values[REGISTRY], &choice)) {
        return EXIT_USAGE;
    }
    if (!registry_folder_make(&choice)) {
        return EXIT_REGISTRY;
    }
    firn_registry *registry = NULL;
    firn_error error;
    if (firn_registry_open(choice.url, TIMEOUT_MS, &registry, &error) < 0) {
        return complain_error(&error);
    }
    const int code = make(registry, &choice, &realm, arguments->given[JSON]);
    firn_registry_close(registry);
    return code;
}

const struct command cmd_init = {
    .name = "init",
    .summary = "make a registry, with a layout and rules of its own",
    .description =
        "Makes the realm of a registry: one id space with one layout. Only the default registry is "
        "ever made without it. A realm that exists is never changed.",
    .options = options,
    .examples = examples,
    .run = run,
};
