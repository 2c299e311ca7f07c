/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn range: the ids of an interval of time, for queries. */
#include <inttypes.h>
#include <stddef.h>

#include "cli/input.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/text.h"
#include "firn/layout.h"

enum { FROM, TO, LAYOUT, JSON };

static const struct option_spec options[] = {
    [FROM] = {0, "from", "TIME", NULL,
              "The interval's start: ISO 8601, Unix milliseconds, now, today, yesterday, or an "
              "offset such as -1h.",
              COMPLETE_NOTHING},
    [TO] = {0, "to", "TIME", "now", "Its end, which is no longer part of it.", COMPLETE_NOTHING},
    [LAYOUT] = {'l', "layout", "LAYOUT", FIRN_LAYOUT_DEFAULT, "The layout or preset of the ids.",
                COMPLETE_LAYOUT},
    [JSON] = OPTION_JSON,
    OPTION_END,
};

static const struct example examples[] = {
    {"firn range --from 2026-10-14 --to 2026-10-15", "The ids of a day, in UTC."},
    {"firn range --from -1h", "Those of the last hour."},
    {"firn range --from 2020-05-01 --to 2020-06-01 --layout discord --json",
     "Another service's, for a program."},
    {NULL, NULL},
};

struct range {
    firn_layout layout;
    char layout_text[FIRN_LAYOUT_TEXT_SIZE];
    int64_t from_us;
    int64_t to_us;
    uint64_t smallest;
    uint64_t largest;
};

static bool complain_life(const char *what, int64_t at_us, const struct range *range)
{
    char at[TEXT_SIZE];
    char first[TEXT_SIZE];
    char end[TEXT_SIZE];
    firn_capacity capacity;
    (void)firn_layout_capacity(&range->layout, &capacity);
    (void)complain(EXIT_USAGE, "%s %s: outside the life of %s, which is %s to %s", what,
                   text_utc(at_us, 3, at), range->layout_text,
                   text_utc(capacity.first_us, 3, first), text_utc(capacity.end_us, 3, end));
    return false;
}

static bool range_find(struct range *range)
{
    if (range->from_us >= range->to_us) {
        char from[TEXT_SIZE];
        char to[TEXT_SIZE];
        (void)complain(EXIT_USAGE, "--from %s is not before --to %s: the interval is empty",
                       text_utc(range->from_us, 3, from), text_utc(range->to_us, 3, to));
        return false;
    }
    if (firn_layout_smallest(&range->layout, range->from_us, &range->smallest) < 0) {
        return complain_life("--from", range->from_us, range);
    }
    if (firn_layout_largest(&range->layout, range->to_us - 1, &range->largest) < 0) {
        return complain_life("--to", range->to_us, range);
    }
    return true;
}

static void print_json(const struct range *range)
{
    struct json json = {0};
    const int decimals = text_decimals(range->layout.tick_ns);
    json_open(&json, NULL, '{');
    json_time(&json, "from", range->from_us, decimals);
    json_time(&json, "to", range->to_us, decimals);
    json_id(&json, "smallest", range->smallest);
    json_id(&json, "largest", range->largest);
    json_string(&json, "layout", range->layout_text);
    json_close(&json, '}');
}

/* A signed column holds ids from 2^63 on as negative numbers, which sort before all others. */
static void print_where(const struct range *range)
{
    if (range->largest <= INT64_MAX || range->smallest > INT64_MAX) {
        print("WHERE id BETWEEN %" PRId64 " AND %" PRId64 "\n", (int64_t)range->smallest,
              (int64_t)range->largest);
        return;
    }
    print("WHERE (id >= %" PRId64 " OR id <= %" PRId64 ")\n", (int64_t)range->smallest,
          (int64_t)range->largest);
}

static void print_range(const struct range *range)
{
    char from[TEXT_SIZE];
    char to[TEXT_SIZE];
    const int decimals = text_decimals(range->layout.tick_ns);
    print("smallest  %s%-20" PRIu64 "%s  from %s\n", paint(PAINT_BOLD), range->smallest,
          paint(PAINT_NONE), text_utc(range->from_us, decimals, from));
    print("largest   %s%-20" PRIu64 "%s  to   %s, itself left out\n", paint(PAINT_BOLD),
          range->largest, paint(PAINT_NONE), text_utc(range->to_us, decimals, to));
    print("layout    %s\n\n", range->layout_text);
    print_where(range);
    if (range->largest > INT64_MAX) {
        print("\n%snote%s: these ids are negative in a signed 64-bit column, as written here\n",
              paint(PAINT_WARNING), paint(PAINT_NONE));
    }
}

static int run(const struct arguments *arguments)
{
    const char *const *values = arguments->values;
    const int64_t now_us = input_now_us();
    struct range range;
    if (values[FROM] == NULL) {
        return complain(EXIT_USAGE, "from when? Give --from, such as --from -1h; see 'firn range "
                                    "--help'");
    }
    if (!input_layout(values[LAYOUT], &range.layout) ||
        !input_time("--from", values[FROM], now_us, &range.from_us) ||
        !input_time("--to", values[TO], now_us, &range.to_us)) {
        return EXIT_USAGE;
    }
    (void)firn_layout_format(&range.layout, range.layout_text, sizeof range.layout_text);
    if (!range_find(&range)) {
        return EXIT_USAGE;
    }
    if (arguments->given[JSON]) {
        print_json(&range);
    } else {
        print_range(&range);
    }
    return EXIT_GOOD;
}

const struct command cmd_range = {
    .name = "range",
    .summary = "the ids of an interval of time, for WHERE id BETWEEN",
    .description = "Shows the smallest and the largest id that can be made from one instant up to "
                   "another, and a condition for SQL: with it an index on the id also answers "
                   "questions about time.",
    .options = options,
    .examples = examples,
    .run = run,
};
