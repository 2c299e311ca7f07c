/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn explain: what an id says. Reading is the library's part, drawing picture.c's; here it is
 * chosen under which layout an id is read, and whether a reading is plausible. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/picture.h"
#include "cli/reading.h"
#include "cli/registry_url.h"
#include "cli/text.h"
#include "firn/firn.h"

#define WORDS_MAX 1000000
/* Clocks that ran a day ahead are still taken for real. */
#define PLAUSIBLE_AHEAD_US (INT64_C(86400) * 1000000)

enum { LAYOUT, FORMAT, ALL, JSON, REGISTRY };

static const struct option_spec options[] = {
    [LAYOUT] = {'l', "layout", "LAYOUT", NULL,
                "Read ids under this layout or preset. Default: the registry's, else the default "
                "layout.",
                COMPLETE_LAYOUT},
    [FORMAT] = {'f', "format", "FORM", NULL,
                "The form of the ids: decimal20, hex, base32, base62, base58. Default: decimal, or "
                "hex after 0x.",
                COMPLETE_FORM},
    [ALL] = {'a', "all", NULL, NULL, "Try every preset, and show those that are plausible.",
             COMPLETE_NOTHING},
    [JSON] = OPTION_JSON,
    [REGISTRY] = OPTION_REGISTRY,
    OPTION_END,
};

static const struct example examples[] = {
    {"firn explain 236065495965528067", "Its time, worker and sequence, and a picture."},
    {"firn explain 1052900140279963648 --layout twitter", "Another service's id."},
    {"firn explain 175928847299117063 --all", "Whose could it be?"},
    {"firn gen -n 3 | firn explain --json", "A pipe: one JSON object a line."},
    {"firn explain 06HNCA5FC0W03 --format base32", "Another form."},
    {NULL, NULL},
};

struct explanation {
    firn_layout layout;
    const char *origin; /* where the layout comes from, for a person */
    int64_t now_us;
    int form;
    bool all;
    bool json;
    bool several; /* whether blank lines divide the answers */
};

/* The realm's layout when there is a registry to be read without making anything. False when a
 * registry that was asked for by option cannot be used; that has been said. */
static bool layout_of_registry(const char *option, struct explanation *explanation)
{
    struct registry_choice choice;
    if (!registry_choose(option, &choice)) {
        return false;
    }
    if (option == NULL && (choice.path[0] == '\0' || !registry_exists(&choice))) {
        return true;
    }
    firn_registry *registry = NULL;
    firn_realm realm = firn_realm_default();
    firn_error error = {.status = FIRN_OK};
    int code = EXIT_GOOD;
    if (option != NULL) {
        code = registry_look(&choice, &registry);
    } else if (firn_registry_open(choice.url, 1000, &registry, &error) < 0) {
        note("%s; the default layout is used", error.text);
    }
    if (registry == NULL) {
        return code == EXIT_GOOD;
    }
    const int status = firn_registry_realm(registry, &realm, &error);
    firn_registry_close(registry);
    if (status < 0 && status != FIRN_E_REGISTRY_MOVED) {
        if (option != NULL) {
            (void)complain_error(&error);
            return false;
        }
        note("%s; the default layout is used", error.text);
        return true;
    }
    explanation->origin = "the registry's";
    return input_layout(realm.layout, &explanation->layout);
}

static bool layout_choose(const struct arguments *arguments, struct explanation *explanation)
{
    const char *text = arguments->values[LAYOUT];
    if (text != NULL) {
        explanation->origin = firn_preset_find(text) != NULL ? text : "as asked";
        return input_layout(text, &explanation->layout);
    }
    explanation->origin = "the default";
    return input_layout(FIRN_LAYOUT_DEFAULT, &explanation->layout) &&
           (explanation->all || layout_of_registry(arguments->values[REGISTRY], explanation));
}

static void print_times(const struct reading *reading, int64_t now_us)
{
    char buf[TEXT_SIZE];
    const int decimals = text_decimals(reading->layout->tick_ns);
    const int64_t at_us = reading->fields.time_us;
    print("  time        %s%s%s\n", paint(PAINT_TIME), text_utc(at_us, decimals, buf),
          paint(PAINT_NONE));
    print("  local       %s\n", text_local(at_us, decimals, buf));
    if (at_us <= now_us) {
        print("  age         %s\n", text_span(now_us - at_us, buf));
    } else {
        print("  age         not yet: %s\n", text_relative(at_us, now_us, buf));
    }
}

static void print_remarks(const struct reading *reading, int64_t now_us)
{
    const char *remark;
    for (unsigned i = 0; (remark = reading_remark(reading, now_us, i)) != NULL; i++) {
        print("%s  %snote%s: ", i == 0 ? "\n" : "", paint(PAINT_WARNING), paint(PAINT_NONE));
        print_wrapped(remark, 8, 8);
    }
}

static void print_reading(const struct reading *reading, const struct explanation *explanation)
{
    const firn_layout *layout = reading->layout;
    const firn_fields *fields = &reading->fields;
    print("%s%" PRIu64 "%s\n\n", paint(PAINT_BOLD), reading->id, paint(PAINT_NONE));
    if (!reading->counter) {
        print_times(reading, explanation->now_us);
        if (layout->datacenter_bits > 0) {
            print("  datacenter  %" PRIu32 "\n", fields->datacenter);
        }
        if (layout->datacenter_bits + layout->worker_bits > 0) {
            print("  worker      %" PRIu32, fields->worker);
            if (layout->datacenter_bits > 0) {
                print(" (%" PRIu32 " in its datacenter)", reading_worker_part(reading));
            }
            print("\n");
        }
        if (layout->sequence_bits > 0) {
            print("  sequence    %" PRIu64 "\n", fields->sequence);
        }
    }
    print("  layout      %s (%s)\n\n", reading->layout_text, explanation->origin);
    picture_id(layout, reading->id);
    print_remarks(reading, explanation->now_us);
}

/* When a service whose layout counts from 1970 made its first ids. The sources: Mastodon 2.0's
 * release, LinkedIn's launch, the AT Protocol's announcement. */
static int64_t service_start_us(const firn_preset *preset, const firn_layout *layout)
{
    static const struct {
        const char *name;
        int64_t ms;
    } starts[] = {
        {"mastodon", INT64_C(1508284800000)}, /* 2017-10-18 */
        {"linkedin", INT64_C(1052092800000)}, /* 2003-05-05 */
        {"bluesky", INT64_C(1651536000000)},  /* 2022-05-03 */
    };
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (strcmp(starts[i].name, preset->name) == 0) {
            return starts[i].ms * 1000;
        }
    }
    return layout->epoch_ms * 1000;
}

static bool plausible(const firn_preset *preset, uint64_t id, int64_t now_us,
                      firn_layout *layout_out, struct reading *reading_out)
{
    if (firn_layout_parse(preset->layout, layout_out, NULL) < 0 ||
        reading_make(layout_out, id, reading_out) < 0) {
        return false;
    }
    return reading_out->counter ||
           (reading_out->fields.time_us >= service_start_us(preset, layout_out) &&
            reading_out->fields.time_us <= now_us + PLAUSIBLE_AHEAD_US);
}

static void print_candidate(const firn_preset *preset, const struct reading *reading)
{
    char buf[TEXT_SIZE] = "a plain counter: no time";
    if (!reading->counter) {
        (void)text_utc(reading->fields.time_us, text_decimals(reading->layout->tick_ns), buf);
    }
    print("  %s%-10s%s  %s%-27s%s", paint(PAINT_BOLD), preset->name, paint(PAINT_NONE),
          paint(PAINT_TIME), buf, paint(PAINT_NONE));
    if (reading->layout->datacenter_bits + reading->layout->worker_bits > 0) {
        print("  %7" PRIu32, reading->fields.worker);
    } else {
        print("  %7s", "-");
    }
    if (reading->layout->sequence_bits > 0) {
        print("  %8" PRIu64 "\n", reading->fields.sequence);
    } else {
        print("  %8s\n", "-");
    }
}

static void candidate_json(struct json *json, const firn_preset *preset,
                           const struct reading *reading)
{
    json_open(json, NULL, '{');
    json_string(json, "preset", preset->name);
    json_string(json, "layout", reading->layout_text);
    if (reading->counter) {
        json_null(json, "time");
    } else {
        json_time(json, "time", reading->fields.time_us, text_decimals(reading->layout->tick_ns));
    }
    json_integer(json, "worker", reading->fields.worker);
    json_integer(json, "sequence", (int64_t)reading->fields.sequence);
    json_close(json, '}');
}

static void all_json(uint64_t id, const struct explanation *explanation)
{
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_id(&json, "id", id);
    json_open(&json, "plausible", '[');
    const firn_preset *preset;
    for (size_t i = 0; (preset = firn_preset_at(i)) != NULL; i++) {
        firn_layout layout;
        struct reading reading;
        if (plausible(preset, id, explanation->now_us, &layout, &reading)) {
            candidate_json(&json, preset, &reading);
        }
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void all_print(uint64_t id, const struct explanation *explanation)
{
    size_t count = 0;
    print("%s%" PRIu64 "%s\n\n", paint(PAINT_BOLD), id, paint(PAINT_NONE));
    const firn_preset *preset;
    for (size_t i = 0; (preset = firn_preset_at(i)) != NULL; i++) {
        firn_layout layout;
        struct reading reading;
        if (!plausible(preset, id, explanation->now_us, &layout, &reading)) {
            continue;
        }
        if (count++ == 0) {
            print("  %s%-10s  %-27s  %7s  %8s%s\n", paint(PAINT_DIM), "preset", "time", "worker",
                  "sequence", paint(PAINT_NONE));
        }
        print_candidate(preset, &reading);
    }
    if (count == 0) {
        print("  No preset gives this id a time between its service's start and now.\n");
    } else {
        print("\n  More on one of them: firn explain %" PRIu64 " --layout PRESET\n", id);
    }
}

static int failed_json(const struct explanation *explanation, const char *text)
{
    if (explanation->json) {
        struct json json = {0};
        json_open(&json, NULL, '{');
        json_string(&json, "text", text);
        json_string(&json, "error", "not an id of this layout and form");
        json_close(&json, '}');
    }
    return EXIT_FINDING;
}

/* A negative number is an id whose highest bit is set; only 64-bit layouts have those. */
static bool check_negative(const char *text, uint64_t id, const struct explanation *explanation)
{
    const firn_layout *layout = &explanation->layout;
    char layout_text[FIRN_LAYOUT_TEXT_SIZE];
    if (explanation->all || layout->time_shift + layout->time_bits >= 64) {
        note("'%s' is read as the unsigned number %" PRIu64, text, id);
        return true;
    }
    (void)firn_layout_format(layout, layout_text, sizeof layout_text);
    (void)complain(EXIT_FINDING,
                   "'%s': ids of %s are never negative; an id of a 64-bit layout, which a signed "
                   "column shows negative, needs its --layout, or --all",
                   text, layout_text);
    return false;
}

static int explain_text(const char *text, const struct explanation *explanation)
{
    uint64_t id;
    bool negative;
    if (!input_id(text, explanation->form, &id, &negative) ||
        (negative && !check_negative(text, id, explanation))) {
        return failed_json(explanation, text);
    }
    if (explanation->all) {
        (explanation->json ? all_json : all_print)(id, explanation);
        return EXIT_GOOD;
    }
    struct reading reading;
    if (reading_make(&explanation->layout, id, &reading) < 0) {
        char layout_text[FIRN_LAYOUT_TEXT_SIZE];
        const firn_layout *layout = &explanation->layout;
        const unsigned bits = layout->time_shift + (unsigned)layout->time_bits;
        (void)firn_layout_format(layout, layout_text, sizeof layout_text);
        (void)complain(EXIT_FINDING,
                       "'%s': past the end of %s, whose largest id is %" PRIu64
                       "; see whose it could be with --all",
                       text, layout_text, bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1);
        return failed_json(explanation, text);
    }
    if (explanation->json) {
        reading_json(&reading, &explanation->now_us);
    } else {
        print_reading(&reading, explanation);
    }
    return EXIT_GOOD;
}

static int explain_one(const char *text, struct explanation *explanation, int worst)
{
    if (explanation->several && !explanation->json) {
        print("\n");
    }
    explanation->several = true;
    explanation->now_us = input_now_us();
    const int code = explain_text(text, explanation);
    return code > worst ? code : worst;
}

/* Cuts blanks off both ends, in place. */
static char *trimmed(char *line)
{
    line += strspn(line, " \t\r\n");
    size_t size = strlen(line);
    while (size > 0 && strchr(" \t\r\n", line[size - 1]) != NULL) {
        line[--size] = '\0';
    }
    return line;
}

static int explain_stdin(struct explanation *explanation, int worst)
{
    char *line = NULL;
    size_t line_size = 0;
    while (output_is_open() && getline(&line, &line_size, stdin) >= 0) {
        const char *text = trimmed(line);
        if (text[0] != '\0') {
            worst = explain_one(text, explanation, worst);
        }
    }
    if (ferror(stdin) != 0) {
        worst = complain(EXIT_SYSTEM, "standard input: %s", strerror(errno));
    }
    free(line);
    return worst;
}

static int run(const struct arguments *arguments)
{
    struct explanation explanation = {
        .all = arguments->given[ALL],
        .json = arguments->given[JSON],
    };
    if (arguments->words_count == 0 && isatty(STDIN_FILENO) == 1) {
        return complain(EXIT_USAGE, "which id? Give one, or pipe some in, one a line; see 'firn "
                                    "explain --help'");
    }
    if (!input_form(arguments->values[FORMAT], &explanation.form)) {
        return EXIT_USAGE;
    }
    if (!layout_choose(arguments, &explanation)) {
        return arguments->given[LAYOUT] ? EXIT_USAGE : EXIT_REGISTRY;
    }
    int worst = EXIT_GOOD;
    if (arguments->words_count == 0) {
        return explain_stdin(&explanation, worst);
    }
    for (size_t i = 0; i < arguments->words_count && output_is_open(); i++) {
        const char *word = arguments->words[i];
        worst = strcmp(word, "-") == 0 ? explain_stdin(&explanation, worst)
                                       : explain_one(word, &explanation, worst);
    }
    return worst;
}

const struct command cmd_explain = {
    .name = "explain",
    .summary = "read ids back: time, worker, sequence, and a picture",
    .words = "ID",
    .words_max = WORDS_MAX,
    .description =
        "Reads ids back. Without an id, or for '-', it reads standard input, one a line. Ids are "
        "decimal, or hex after 0x; a negative number, as a signed column shows ids from 2^63 on, "
        "is read as unsigned when the layout has 64 bits.",
    .options = options,
    .examples = examples,
    .run = run,
};
