/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn workers: who holds what; and the adoption of a registry that was copied or restored. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/input.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/realm.h"
#include "cli/registry_url.h"
#include "cli/text.h"
#include "firn/registry.h"

#define PAGE      256
#define US_PER_MS 1000

enum { REASON, JSON, REGISTRY };

static const struct option_spec options[] = {
    [REASON] = {0, "reason", "TEXT", NULL, "For adopt: why, for the record.", COMPLETE_NOTHING},
    [JSON] = OPTION_JSON,
    [REGISTRY] = OPTION_REGISTRY,
    OPTION_END,
};

static const struct example examples[] = {
    {"firn workers", "Who holds which number, and until when."},
    {"firn workers --json", "A line a worker, for a program."},
    {"firn workers adopt --reason 'restored from backup'",
     "Use a copy from now on; the original must not be used again."},
    {NULL, NULL},
};

/* Counted while the list is read. */
struct census {
    int64_t now_ms;
    uint64_t held;
    uint64_t released; /* given back, and not free yet */
    uint64_t free;
};

static const char *state_of(const firn_worker *worker, struct census *census)
{
    if (worker->free_ms < census->now_ms) {
        census->free++;
        return "free";
    }
    if (worker->released != 0) {
        census->released++;
        return "released";
    }
    census->held++;
    return "held";
}

static void worker_json(const firn_worker *worker, const char *state)
{
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_integer(&json, "worker", worker->worker);
    json_string(&json, "state", state);
    json_time(&json, "mark", worker->mark_ms * US_PER_MS, 3);
    json_time(&json, "free_from", worker->free_ms * US_PER_MS, 3);
    json_id(&json, "windows", worker->counter);
    json_string(&json, "note", worker->note);
    json_close(&json, '}');
}

static void worker_print(const firn_worker *worker, const char *state, const struct census *census)
{
    char mark[TEXT_SIZE];
    char from[TEXT_SIZE];
    const bool is_free = strcmp(state, "free") == 0;
    const bool is_held = strcmp(state, "held") == 0;
    print("%7" PRIu32 "  %s%-8s%s  %s  %-12s  %s\n", worker->worker,
          paint(is_held ? PAINT_WARNING : PAINT_GOOD), state, paint(PAINT_NONE),
          text_utc(worker->mark_ms * US_PER_MS, 3, mark),
          is_free ? "now"
                  : text_relative(worker->free_ms * US_PER_MS, census->now_ms * US_PER_MS, from),
          worker->note);
}

static int list(firn_registry *registry, struct census *census, bool as_json)
{
    firn_worker page[PAGE];
    uint32_t first = 0;
    size_t count = PAGE;
    while (count == PAGE && output_is_open()) {
        firn_error error;
        if (firn_registry_workers(registry, first, page, PAGE, &count, &error) < 0) {
            return complain_error(&error);
        }
        for (size_t i = 0; i < count; i++) {
            const char *state = state_of(&page[i], census);
            if (as_json) {
                worker_json(&page[i], state);
            } else {
                worker_print(&page[i], state, census);
            }
        }
        first = count > 0 ? page[count - 1].worker + 1 : first;
    }
    return EXIT_GOOD;
}

static void print_summary(const firn_realm *realm, const struct census *census)
{
    const uint64_t all = (uint64_t)realm->worker_last - realm->worker_first + 1;
    print("%s%" PRIu64 " held, %" PRIu64 " released, %" PRIu64 " free; %" PRIu32 " of %" PRIu64
          " numbers were ever used; layout %s\n",
          realm->workers_used > 0 ? "\n" : "", census->held, census->released, census->free,
          realm->workers_used, all, realm->layout);
}

static int show(firn_registry *registry, bool as_json)
{
    firn_realm realm = firn_realm_default();
    firn_error error;
    const int status = firn_registry_realm(registry, &realm, &error);
    if (status == FIRN_E_REGISTRY_MOVED) {
        note("%s", error.text);
    } else if (status < 0) {
        return complain_error(&error);
    }
    struct census census = {.now_ms = input_now_us() / US_PER_MS};
    if (!as_json && realm.workers_used > 0) {
        print("%s%7s  %-8s  %-24s  %-12s  %s%s\n", paint(PAINT_DIM), "worker", "state", "mark",
              "free", "note", paint(PAINT_NONE));
    }
    const int code = list(registry, &census, as_json);
    if (code == EXIT_GOOD && !as_json) {
        print_summary(&realm, &census);
    }
    return code;
}

static int adopt(firn_registry *registry, const char *reason)
{
    firn_error error;
    if (firn_registry_adopt(registry, reason, &error) < 0) {
        return complain_error(&error);
    }
    print("adopted: every mark was raised; the original must not be used again\n");
    return EXIT_GOOD;
}

static int run(const struct arguments *arguments)
{
    const bool adopting = arguments->words_count > 0;
    const char *reason = arguments->values[REASON];
    struct registry_choice choice;
    if (adopting && strcmp(arguments->words[0], "adopt") != 0) {
        return complain(EXIT_USAGE, "'%s': 'firn workers' takes nothing, or adopt",
                        arguments->words[0]);
    }
    if (adopting && (reason == NULL || reason[strspn(reason, " ")] == '\0')) {
        return complain(EXIT_USAGE, "adopt needs --reason, such as --reason 'restored from "
                                    "backup': it is kept for whoever looks later");
    }
    if (!adopting && reason != NULL) {
        return complain(EXIT_USAGE, "--reason goes with adopt: firn workers adopt --reason TEXT");
    }
    if (!registry_choose(arguments->values[REGISTRY], &choice)) {
        return EXIT_USAGE;
    }
    firn_registry *registry = NULL;
    int code = registry_look(&choice, &registry);
    if (code == EXIT_GOOD) {
        code = adopting ? adopt(registry, reason) : show(registry, arguments->given[JSON]);
        firn_registry_close(registry);
    }
    return code;
}

const struct command cmd_workers = {
    .name = "workers",
    .summary = "who holds which worker number, and until when",
    .words = "adopt",
    .words_max = 1,
    .description =
        "Lists every worker number that was ever leased. A number is free when its mark, the end "
        "of the last window granted for it, and the grace have passed: no message and no timeout "
        "is needed for that.\n\n"
        "With adopt it takes over a registry that firn refuses because it is not the one that it "
        "was made in: a copy, or one restored from a backup. Every mark is raised past whatever "
        "the original may have granted; nobody may go on using the original.",
    .options = options,
    .examples = examples,
    .run = run,
};
