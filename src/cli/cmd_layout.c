/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn layout: what a layout can do, until when, and what to beware of; and the presets. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/input.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/picture.h"
#include "cli/text.h"
#include "firn/layout.h"

#define WARNINGS_MAX 5

enum { LIST, JSON };

static const struct option_spec options[] = {
    [LIST] = {0, "list", NULL, NULL, "List the presets, with notes and sources.", COMPLETE_NOTHING},
    [JSON] = OPTION_JSON,
    OPTION_END,
};

static const struct example examples[] = {
    {"firn layout t41w10s12@2025-01-01", "The default layout."},
    {"firn layout t39s8w16/10ms@2014-09-01", "Sequence above worker, and ticks of 10 ms."},
    {"firn layout instagram --json", "A preset, for a program."},
    {"firn layout --list", "Every preset."},
    {NULL, NULL},
};

struct view {
    firn_layout layout;
    firn_capacity capacity;
    const firn_preset *preset; /* or NULL */
    char text[FIRN_LAYOUT_TEXT_SIZE];
    int64_t now_us;
    int decimals;
    size_t warning_count;
    char warnings[WARNINGS_MAX][640];
};

__attribute__((format(printf, 2, 3))) static void warn(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(view->warnings[view->warning_count++], sizeof view->warnings[0], format,
                    arguments);
    va_end(arguments);
}

static const char *tense(int64_t at_us, int64_t now_us, const char *past, const char *future)
{
    return at_us <= now_us ? past : future;
}

static void find_warnings(struct view *view)
{
    const firn_capacity *capacity = &view->capacity;
    const int64_t now_us = view->now_us;
    char at[TEXT_SIZE];
    firn_error error;
    if (firn_layout_check(&view->layout, now_us, FIRN_ALLOW_UNKNOWN, &error) < 0) {
        warn(view, "%s", error.text);
    }
    if (view->layout.unknown_bits > 0) {
        warn(view, "it has %u bits of unknown meaning: it reads ids, but cannot make them",
             view->layout.unknown_bits);
    }
    if (capacity->negative_us < capacity->end_us) {
        warn(view, "from %s on ids %s negative in a signed 64-bit column",
             text_utc(capacity->negative_us, view->decimals, at),
             tense(capacity->negative_us, now_us, "are", "will be"));
    }
    if (capacity->javascript_us < capacity->end_us) {
        warn(view,
             "ids pass 2^53 from %s on: a JavaScript number %s hold them exactly; pass them as "
             "strings",
             text_utc(capacity->javascript_us, view->decimals, at),
             tense(capacity->javascript_us, now_us, "cannot", "will no longer"));
    }
}

static void print_date(const struct view *view, const char *name, int64_t at_us)
{
    char at[TEXT_SIZE];
    char relative[TEXT_SIZE];
    print("  %-12s%s  (%s)\n", name, text_utc(at_us, view->decimals, at),
          text_relative(at_us, view->now_us, relative));
}

/* The date from which on something holds, or "never". */
static void print_border(const struct view *view, const char *name, int64_t at_us)
{
    if (at_us < view->capacity.end_us) {
        print_date(view, name, at_us);
    } else {
        print("  %-12snever\n", name);
    }
}

static void print_capacity(const struct view *view)
{
    const firn_capacity *capacity = &view->capacity;
    char tick[TEXT_SIZE];
    print("  %-12s%s\n", "tick", text_tick(view->layout.tick_ns, tick));
    print("  %-12s%" PRIu64 "\n", "workers", capacity->workers);
    print("  %-12s%" PRIu64 " a tick, %" PRIu64 " a second, for each worker\n", "ids",
          capacity->ids_per_tick, capacity->ids_per_second);
    print_date(view, "first", capacity->first_us);
    print_date(view, "end", capacity->end_us);
    print_border(view, "negative", capacity->negative_us);
    print_border(view, "past 2^53", capacity->javascript_us);
}

static void print_view(const struct view *view)
{
    print("%s%s%s\n\n", paint(PAINT_BOLD), view->text, paint(PAINT_NONE));
    picture_layout(&view->layout);
    print("\n");
    print_capacity(view);
    if (view->preset != NULL) {
        print("  %-12s", "note");
        print_wrapped(view->preset->note, 14, 14);
        print("  %-12s", "source");
        print_wrapped(view->preset->source, 14, 14);
    }
    for (size_t i = 0; i < view->warning_count; i++) {
        print("%s  %swarning%s: ", i == 0 ? "\n" : "", paint(PAINT_WARNING), paint(PAINT_NONE));
        print_wrapped(view->warnings[i], 11, 11);
    }
}

static void json_border(struct json *json, const struct view *view, const char *key, int64_t at_us)
{
    if (at_us < view->capacity.end_us) {
        json_time(json, key, at_us, view->decimals);
    } else {
        json_null(json, key);
    }
}

static void print_json(const struct view *view)
{
    struct json json = {0};
    const firn_layout *layout = &view->layout;
    const firn_capacity *capacity = &view->capacity;
    json_open(&json, NULL, '{');
    json_string(&json, "layout", view->text);
    json_open(&json, "bits", '{');
    json_integer(&json, "time", layout->time_bits);
    json_integer(&json, "datacenter", layout->datacenter_bits);
    json_integer(&json, "worker", layout->worker_bits);
    json_integer(&json, "sequence", layout->sequence_bits);
    json_integer(&json, "unknown", layout->unknown_bits);
    json_close(&json, '}');
    json_integer(&json, "tick_ns", layout->tick_ns);
    json_id(&json, "workers", capacity->workers);
    json_id(&json, "ids_per_tick", capacity->ids_per_tick);
    json_id(&json, "ids_per_second", capacity->ids_per_second);
    json_time(&json, "first", capacity->first_us, view->decimals);
    json_time(&json, "end", capacity->end_us, view->decimals);
    json_border(&json, view, "negative_from", capacity->negative_us);
    json_border(&json, view, "past_2_53_from", capacity->javascript_us);
    if (view->preset != NULL) {
        json_string(&json, "preset", view->preset->name);
        json_string(&json, "note", view->preset->note);
        json_string(&json, "source", view->preset->source);
    }
    json_open(&json, "warnings", '[');
    for (size_t i = 0; i < view->warning_count; i++) {
        json_string(&json, NULL, view->warnings[i]);
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void list_json(void)
{
    const firn_preset *preset;
    for (size_t i = 0; (preset = firn_preset_at(i)) != NULL; i++) {
        struct json json = {0};
        json_open(&json, NULL, '{');
        json_string(&json, "preset", preset->name);
        json_string(&json, "layout", preset->layout);
        json_string(&json, "note", preset->note);
        json_string(&json, "source", preset->source);
        json_close(&json, '}');
    }
}

static void list_print(void)
{
    const firn_preset *preset;
    for (size_t i = 0; (preset = firn_preset_at(i)) != NULL; i++) {
        print("%s%-10s%s  %s\n%12s", paint(PAINT_BOLD), preset->name, paint(PAINT_NONE),
              preset->layout, "");
        print_wrapped(preset->note, 12, 12);
        print("%12s%s", "", paint(PAINT_DIM));
        print_wrapped(preset->source, 12, 12);
        print("%s", paint(PAINT_NONE));
    }
}

static int run(const struct arguments *arguments)
{
    if (arguments->given[LIST] && arguments->words_count > 0) {
        return complain(EXIT_USAGE, "'%s' with --list: give one or the other", arguments->words[0]);
    }
    if (arguments->given[LIST]) {
        (arguments->given[JSON] ? list_json : list_print)();
        return EXIT_GOOD;
    }
    if (arguments->words_count == 0) {
        return complain(EXIT_USAGE, "which layout? Give one, such as %s, or --list",
                        FIRN_LAYOUT_DEFAULT);
    }
    struct view view = {.now_us = input_now_us(), .preset = firn_preset_find(arguments->words[0])};
    if (!input_layout(arguments->words[0], &view.layout)) {
        return EXIT_USAGE;
    }
    (void)firn_layout_format(&view.layout, view.text, sizeof view.text);
    (void)firn_layout_capacity(&view.layout, &view.capacity);
    view.decimals = text_decimals(view.layout.tick_ns);
    find_warnings(&view);
    (arguments->given[JSON] ? print_json : print_view)(&view);
    return EXIT_GOOD;
}

const struct command cmd_layout = {
    .name = "layout",
    .summary = "what a layout can do, and until when",
    .words = "LAYOUT",
    .words_max = 1,
    .words_completion = COMPLETE_LAYOUT,
    .description =
        "Shows a layout's picture, capacity, first and last instant, and what to beware of. A "
        "layout is a preset's name, or fields from the highest bits down with their widths (t "
        "time, d datacenter, w worker, s sequence, x unknown), then the tick when it is not 1 ms, "
        "then the epoch: t39s8w16/10ms@2014-09-01.",
    .options = options,
    .examples = examples,
    .run = run,
};
