/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Layouts: the grammar by tables of good and bad texts, the dates that a layout ends on, and
 * properties of random layouts. Published ids are test_vectors.c's. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/layout.h"
#include "firn/layout.h"
#include "firn/time.h"
#include "random_layout.h"
#include "scale.h"

#define RANDOM_LAYOUTS 20000
#define IDS_A_LAYOUT   20
#define NOWHERE        (-1)

static firn_layout parsed(const char *text)
{
    firn_layout layout;
    firn_error error;
    if (firn_layout_parse(text, &layout, &error) < 0) {
        fail_msg("%s", error.text);
    }
    return layout;
}

static int64_t instant(const char *text)
{
    int64_t at_us;
    assert_int_equal(firn_time_parse(text, 0, &at_us, NULL), FIRN_OK);
    return at_us;
}

static void assert_instant(int64_t at_us, const char *text)
{
    char formatted[FIRN_TIME_TEXT_SIZE];
    assert_int_equal(firn_time_format(at_us, 3, formatted, sizeof formatted), FIRN_OK);
    assert_string_equal(formatted, text);
}

static const struct good {
    const char *name;
    const char *text;
    const char *canonical;
} goods[] = {
    {"the default", "t41w10s12@2025-01-01", "t41w10s12@2025-01-01"},
    {"no epoch", "t41w10s12", "t41w10s12@2025-01-01"},
    {"time alone", "t41", "t41@2025-01-01"},
    {"no worker", "t48s16@0", "t48s16@0"},
    {"no sequence", "t41w10@0", "t41w10@0"},
    {"a datacenter alone", "t41d5s12@0", "t41d5s12@0"},
    {"sequence above worker", "t39s8w16/10ms@2014-09-01", "t39s8w16/10ms@2014-09-01"},
    {"datacenter below worker", "t41w5d5s12@0", "t41w5d5s12@0"},
    {"all five fields, backwards", "t40x1s2w3d4@0", "t40x1s2w3d4@0"},
    {"unknown bits", "t41x22@0", "t41x22@0"},
    {"all 64 bits", "t41w13s10@1314220021721", "t41w13s10@1314220021721"},
    {"32 bits of worker number", "t32d16w16@0", "t32d16w16@0"},
    {"the usual tick, said", "t41w10s12/1ms@0", "t41w10s12@0"},
    {"the usual tick in microseconds", "t41w10s12/1000us@0", "t41w10s12@0"},
    {"the shortest tick", "t53w10/1us@0", "t53w10/1us@0"},
    {"the longest tick", "t31w10s12/1s@0", "t31w10s12/1s@0"},
    {"a second in milliseconds", "t31w10s12/1000ms@0", "t31w10s12/1s@0"},
    {"a second in microseconds", "t31w10s12/1000000us@0", "t31w10s12/1s@0"},
    {"half a second", "t31/500ms@0", "t31/500ms@0"},
    {"a tick that is no whole millisecond", "t41/2500us@0", "t41/2500us@0"},
    {"64 us, which divides a second", "t41/64us@0", "t41/64us@0"},
    {"Unix milliseconds at midnight", "t41@1735689600000", "t41@2025-01-01"},
    {"Unix milliseconds elsewhere", "t41@1735689600001", "t41@1735689600001"},
    {"1970 as a date", "t41@1970-01-01", "t41@0"},
    {"the smallest number but 0", "t41@100000000000", "t41@100000000000"},
    {"a small epoch at midnight", "t41@1972-03-04", "t41@1972-03-04"},
    {"a small epoch elsewhere", "t41@1972-03-04T05:06:07.089Z", "t41@1972-03-04T05:06:07.089Z"},
    {"midnight with its time", "t41@2025-01-01T00:00:00Z", "t41@2025-01-01"},
    {"a time of day", "t41@2025-01-01T12:30", "t41@1735734600000"},
    {"a time with an offset", "t41@2025-01-01T00:00:00+02:00", "t41@1735682400000"},
    {"the latest epoch", "t41@2200-01-01", "t41@2200-01-01"},
    {"the latest epoch as a number", "t41@7258118400000", "t41@2200-01-01"},
    {"as much time as there is", "t62s2/1us@0", "t62s2/1us@0"},
    {"seconds to nearly the year 294246", "t43/1s@0", "t43/1s@0"},
    {"a preset", "twitter", "t41d5w5s12@1288834974657"},
    {"a preset whose epoch is a midnight", "sonyflake", "t39s8w16/10ms@2014-09-01"},
};

static void a_good_text_gives_its_canonical_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goods / sizeof goods[0]; i++) {
        print_message("%s\n", goods[i].name);
        const firn_layout layout = parsed(goods[i].text);
        char text[FIRN_LAYOUT_TEXT_SIZE];
        assert_int_equal(firn_layout_format(&layout, text, sizeof text), FIRN_OK);
        assert_string_equal(text, goods[i].canonical);
        const firn_layout again = parsed(text);
        assert_memory_equal(&again, &layout, sizeof layout);
    }
}

static const struct bad {
    const char *name;
    const char *text;
    int status;
    int32_t position;
    const char *says;
} bads[] = {
    {"nothing", "", FIRN_E_LAYOUT_SYNTAX, 0, "no fields"},
    {"no fields", "/10ms@0", FIRN_E_LAYOUT_SYNTAX, 0, "no fields"},
    {"72 bits", "t50w10s12", FIRN_E_LAYOUT_BITS, NOWHERE, "add up to 72 bits"},
    {"72 bits, the advice", "t50w10s12", FIRN_E_LAYOUT_BITS, NOWHERE, "take 8 away"},
    {"65 bits", "t41w10s14@0", FIRN_E_LAYOUT_BITS, NOWHERE, "take 1 away"},
    {"33 bits of worker", "t31w33@0", FIRN_E_LAYOUT_BITS, NOWHERE, "(d and w) has 33 bits"},
    {"33 bits of both", "t31d17w16@0", FIRN_E_LAYOUT_BITS, NOWHERE, "at most 32"},
    {"worker first", "w10t41s12", FIRN_E_LAYOUT_SYNTAX, 0, "(t) comes first"},
    {"time twice", "t41t1", FIRN_E_LAYOUT_SYNTAX, 3, "(t) comes first, and once"},
    {"worker twice", "t20w10w2", FIRN_E_LAYOUT_SYNTAX, 6, "the field w stands twice"},
    {"six fields", "t20d1w1s1x1d1", FIRN_E_LAYOUT_SYNTAX, 11, "more than the five fields"},
    {"an unknown letter first", "q41", FIRN_E_LAYOUT_SYNTAX, 0, "at character 1: expected a field"},
    {"an unknown letter later", "t41q9", FIRN_E_LAYOUT_SYNTAX, 3, "at character 4"},
    {"a capital", "T41w10s12", FIRN_E_LAYOUT_SYNTAX, 0, "expected a field"},
    {"a blank", "t41 w10", FIRN_E_LAYOUT_SYNTAX, 3, "expected a field"},
    {"a blank in front", " t41", FIRN_E_LAYOUT_SYNTAX, 0, "expected a field"},
    {"a dash", "t41-w10", FIRN_E_LAYOUT_SYNTAX, 3, "expected a field"},
    {"no number", "t", FIRN_E_LAYOUT_SYNTAX, 1, "the field t needs a number of bits"},
    {"no number before the next", "tw10", FIRN_E_LAYOUT_SYNTAX, 1, "the field t needs"},
    {"0 bits of time", "t0w10", FIRN_E_LAYOUT_BITS, 2, "from 1 to 64"},
    {"0 bits of worker", "t41w0s12", FIRN_E_LAYOUT_BITS, 5, "the field w needs"},
    {"65 bits of time", "t65", FIRN_E_LAYOUT_BITS, 3, "from 1 to 64"},
    {"a hundred bits", "t41w100", FIRN_E_LAYOUT_BITS, 7, "from 1 to 64"},
    {"a number that would wrap a byte", "t41w266s12", FIRN_E_LAYOUT_BITS, 7, "from 1 to 64"},
    {"a negative number", "t-41", FIRN_E_LAYOUT_SYNTAX, 1, "needs a number of bits"},
    {"a tick of nothing", "t41/", FIRN_E_LAYOUT_SYNTAX, 4, "expected a tick"},
    {"a tick without a number", "t41/ms", FIRN_E_LAYOUT_SYNTAX, 4, "expected a tick"},
    {"a tick without a unit", "t41/10", FIRN_E_LAYOUT_SYNTAX, 6, "expected a tick"},
    {"a tick of minutes", "t41/1m", FIRN_E_LAYOUT_SYNTAX, 5, "expected a tick"},
    {"a tick of nanoseconds", "t41/1000ns", FIRN_E_LAYOUT_SYNTAX, 8, "expected a tick"},
    {"a negative tick", "t41/-1ms", FIRN_E_LAYOUT_SYNTAX, 4, "expected a tick"},
    {"half a tick", "t41/1.5ms", FIRN_E_LAYOUT_SYNTAX, 5, "expected a tick"},
    {"a tick of eight digits", "t41/10000000us", FIRN_E_LAYOUT_SYNTAX, 11, "expected a tick"},
    {"a tick of 3 ms", "t41/3ms", FIRN_E_LAYOUT_TICK, 7, "divides one second evenly"},
    {"a tick of 7 us", "t41/7us", FIRN_E_LAYOUT_TICK, 7, "divides one second evenly"},
    {"a tick of 0 us", "t41/0us", FIRN_E_LAYOUT_TICK, 7, "1us to 1s"},
    {"a tick of 0 s", "t41/0s", FIRN_E_LAYOUT_TICK, 6, "1us to 1s"},
    {"a tick of 2 s", "t41/2s", FIRN_E_LAYOUT_TICK, 6, "1us to 1s"},
    {"a tick of 2000 ms", "t41/2000ms", FIRN_E_LAYOUT_TICK, 10, "1us to 1s"},
    {"a huge tick", "t41/9999999s", FIRN_E_LAYOUT_TICK, 12, "1us to 1s"},
    {"two ticks", "t41/1ms/1ms", FIRN_E_LAYOUT_SYNTAX, 7, "expected '@' and an epoch"},
    {"fields after the tick", "t41/1msw10", FIRN_E_LAYOUT_SYNTAX, 7, "expected '@' and an epoch"},
    {"an empty epoch", "t41@", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"now as epoch", "t41@now", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"an offset as epoch", "t41@-1h", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"an offset that begins with a digit", "t41@1h ago", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"month 13", "t41@2025-13-01", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"29 February of 2025", "t41@2025-02-29", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"a date and more", "t41@2025-01-01x", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"two epochs", "t41@2025-01-01@0", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"a tick after the epoch", "t41@0/1ms", FIRN_E_LAYOUT_EPOCH, 4, "is no date"},
    {"seconds", "t41@1735689600", FIRN_E_LAYOUT_EPOCH, NOWHERE - 1, "looks like seconds"},
    {"one", "t41@1", FIRN_E_LAYOUT_EPOCH, NOWHERE - 1, "looks like seconds"},
    {"eleven digits", "t41@99999999999", FIRN_E_LAYOUT_EPOCH, NOWHERE - 1, "looks like seconds"},
    {"microseconds", "t41@1735689600000000", FIRN_E_LAYOUT_EPOCH, NOWHERE - 1, "1970 to 2200"},
    {"past 2200", "t41@7258118400001", FIRN_E_LAYOUT_EPOCH, NOWHERE - 1, "1970 to 2200"},
    {"20 digits", "t41@18446744073709551616", FIRN_E_LAYOUT_EPOCH, NOWHERE - 1, "1970 to 2200"},
    {"past 2200 as a date", "t41@2200-01-02", FIRN_E_LAYOUT_EPOCH, 4, "1970 to 2200"},
    {"before 1970", "t41@1969-12-31", FIRN_E_LAYOUT_EPOCH, 4, "write a date"},
    {"before 1970 by offset", "t41@1970-01-01T00:00+05:00", FIRN_E_LAYOUT_EPOCH, 4, "write a date"},
    {"microseconds in a date", "t41@2025-01-01T00:00:00.0001Z", FIRN_E_LAYOUT_EPOCH, 4,
     "finer than a millisecond"},
    {"63 bits of milliseconds", "t63@0", FIRN_E_LAYOUT_LIFE, NOWHERE, "63 bits of time"},
    {"64 bits of microseconds", "t64/1us@0", FIRN_E_LAYOUT_LIFE, NOWHERE, "the year 294246"},
    {"63 bits of microseconds", "t63/1us@0", FIRN_E_LAYOUT_LIFE, NOWHERE, "the year 294246"},
    {"44 bits of seconds", "t44/1s@0", FIRN_E_LAYOUT_LIFE, NOWHERE, "a shorter tick"},
    {"a preset in capitals", "Twitter", FIRN_E_LAYOUT_SYNTAX, 0, "expected a field"},
    {"a preset and more", "twitter@0", FIRN_E_LAYOUT_SYNTAX, 1, "the field t needs"},
};

static void a_bad_text_is_refused_and_the_message_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        const struct bad *bad = &bads[i];
        print_message("%s\n", bad->name);
        firn_layout layout;
        firn_layout untouched;
        memset(&layout, 0x5a, sizeof layout);
        memset(&untouched, 0x5a, sizeof untouched);
        firn_error error;
        assert_int_equal(firn_layout_parse(bad->text, &layout, &error), bad->status);
        assert_memory_equal(&layout, &untouched, sizeof layout);
        assert_int_equal(error.status, bad->status);
        if (bad->position >= NOWHERE) {
            assert_int_equal(error.position, bad->position);
        }
        if (strstr(error.text, bad->says) == NULL || strstr(error.text, bad->text) == NULL) {
            fail_msg("'%s' and '%s' should stand in: %s", bad->says, bad->text, error.text);
        }
        assert_int_equal(firn_layout_parse(bad->text, &layout, NULL), bad->status);
    }
}

static void messages_show_long_and_binary_texts_safely(void **state)
{
    (void)state;
    firn_layout layout;
    firn_error error;
    assert_int_equal(firn_layout_parse("t41\033[31m\xff\n", &layout, &error), FIRN_E_LAYOUT_SYNTAX);
    for (const char *at = error.text; *at != '\0'; at++) {
        assert_in_range(*at, ' ', '~');
    }
    char text[5000];
    memset(text, 'w', sizeof text - 1);
    memcpy(text, "t41", 3);
    text[sizeof text - 1] = '\0';
    assert_int_equal(firn_layout_parse(text, &layout, &error), FIRN_E_LAYOUT_SYNTAX);
    assert_true(strlen(error.text) < sizeof error.text - 1);
    assert_non_null(strstr(error.text, "t41www"));
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    const firn_layout layout = parsed("firn");
    firn_layout out;
    firn_capacity capacity;
    firn_fields fields = {0};
    char text[FIRN_LAYOUT_TEXT_SIZE];
    uint64_t id;
    assert_int_equal(firn_layout_parse(NULL, &out, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_parse("firn", NULL, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_format(NULL, text, sizeof text), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_format(&layout, NULL, 64), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_check(NULL, 0, 0, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_capacity(NULL, &capacity), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_capacity(&layout, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_compose(NULL, &fields, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_compose(&layout, NULL, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_compose(&layout, &fields, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_decompose(NULL, 0, &fields), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_decompose(&layout, 0, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_smallest(NULL, 0, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_smallest(&layout, 0, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_largest(NULL, 0, &id), FIRN_E_ARGUMENT);
    assert_int_equal(firn_layout_largest(&layout, 0, NULL), FIRN_E_ARGUMENT);
}

static void format_needs_room_for_the_text_and_its_end(void **state)
{
    (void)state;
    const firn_layout layout = parsed("firn");
    char text[FIRN_LAYOUT_TEXT_SIZE] = "untouched";
    for (size_t size = 0; size <= strlen(FIRN_LAYOUT_DEFAULT); size++) {
        assert_int_equal(firn_layout_format(&layout, text, size), FIRN_E_BUFFER);
        assert_string_equal(text, "untouched");
    }
    assert_int_equal(firn_layout_format(&layout, text, strlen(FIRN_LAYOUT_DEFAULT) + 1), FIRN_OK);
    assert_string_equal(text, FIRN_LAYOUT_DEFAULT);
}

static void fields_stand_in_the_order_of_their_letters(void **state)
{
    (void)state;
    const firn_layout sony = parsed("t39s8w16/10ms@2014-09-01");
    assert_int_equal(sony.time_shift, 24);
    assert_int_equal(sony.sequence_shift, 16);
    assert_int_equal(sony.worker_shift, 0);
    assert_int_equal(sony.tick_ns, 10000000);
    assert_string_equal((const char *)sony.order, "tsw");
    const firn_layout mixed = parsed("t40x1s2w3d4@0");
    assert_int_equal(mixed.time_shift, 10);
    assert_int_equal(mixed.unknown_shift, 9);
    assert_int_equal(mixed.sequence_shift, 7);
    assert_int_equal(mixed.worker_shift, 4);
    assert_int_equal(mixed.datacenter_shift, 0);
}

static const struct checked {
    const char *name;
    const char *layout;
    const char *now;
    unsigned allow;
    int status;
    const char *says;
} checks[] = {
    {"the default", "firn", "2026-10-14", 0, FIRN_OK, ""},
    {"an epoch after now", "t41w10s12@2031-01-01", "2026-10-14", 0, FIRN_E_LAYOUT_EPOCH,
     "after now: 2031-01-01"},
    {"an epoch of now", "t41w10s12@2026-10-14", "2026-10-14", 0, FIRN_OK, ""},
    {"an epoch a millisecond after now", "t41w10s12@2026-10-14", "2026-10-13T23:59:59.999", 0,
     FIRN_E_LAYOUT_EPOCH, "after now"},
    {"a life that is over", "baidu", "2026-10-14", 0, FIRN_E_LAYOUT_LIFE,
     "ended on 2024-11-20T13:24:16Z"},
    {"a life that is over stays so", "baidu", "2026-10-14", FIRN_ALLOW_SHORT_LIFE,
     FIRN_E_LAYOUT_LIFE, "ended on"},
    {"a life that ends within a year", "firn", "2093-12-01", 0, FIRN_E_LAYOUT_LIFE,
     "within a year, on 2094-09-07"},
    {"a short life, allowed", "firn", "2093-12-01", FIRN_ALLOW_SHORT_LIFE, FIRN_OK, ""},
    {"the last millisecond, allowed", "firn", "2094-09-07T15:47:35.551", FIRN_ALLOW_SHORT_LIFE,
     FIRN_OK, ""},
    {"the end", "firn", "2094-09-07T15:47:35.552", FIRN_ALLOW_SHORT_LIFE, FIRN_E_LAYOUT_LIFE,
     "ended on 2094-09-07"},
    {"a year before the end", "firn", "2093-09-07T15:47:35.552", 0, FIRN_OK, ""},
    {"a year less a millisecond before the end", "firn", "2093-09-07T15:47:35.553", 0,
     FIRN_E_LAYOUT_LIFE, "within a year"},
    {"unknown bits", "linkedin", "2026-10-14", 0, FIRN_E_LAYOUT_DECODE, "22 unknown bits"},
    {"unknown bits, allowed", "linkedin", "2026-10-14", FIRN_ALLOW_UNKNOWN, FIRN_OK, ""},
    {"32 bits of milliseconds wrap within a year", "t32w10s12@2026-10-01", "2026-10-14", 0,
     FIRN_E_LAYOUT_LIFE, "2026-11-19T17:02:47Z"},
    {"time bits too few for the epoch", "t38w10s12@2010-01-01", "2026-10-14", 0, FIRN_E_LAYOUT_LIFE,
     "ended on 2018-09-17"},
};

static void a_layout_that_cannot_serve_now_is_refused_and_says_when_it_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const struct checked *row = &checks[i];
        print_message("%s\n", row->name);
        const firn_layout layout = parsed(row->layout);
        firn_error error = {.text = ""};
        const int64_t now_us = instant(row->now);
        assert_int_equal(firn_layout_check(&layout, now_us, row->allow, &error), row->status);
        if (strstr(error.text, row->says) == NULL) {
            fail_msg("'%s' should stand in: %s", row->says, error.text);
        }
        assert_int_equal(firn_layout_check(&layout, now_us, row->allow, NULL), row->status);
    }
}

static void only_the_chosen_layout_limits_the_worker(void **state)
{
    (void)state;
    /* 1025 is beyond the default's 10 bits, and well inside these. */
    const char *texts[] = {"instagram", "sonyflake", "t41w11s11@0", "t32d16w16@0"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const firn_layout layout = parsed(texts[i]);
        const firn_fields fields = {.tick = 1, .worker = 1025};
        firn_fields again;
        uint64_t id;
        assert_int_equal(firn_layout_compose(&layout, &fields, &id), FIRN_OK);
        assert_int_equal(firn_layout_decompose(&layout, id, &again), FIRN_OK);
        assert_int_equal(again.worker, 1025);
    }
}

static firn_capacity capacity_of(const char *text)
{
    const firn_layout layout = parsed(text);
    firn_capacity capacity;
    assert_int_equal(firn_layout_capacity(&layout, &capacity), FIRN_OK);
    return capacity;
}

static void the_default_layout_s_figures_are_the_published_ones(void **state)
{
    (void)state;
    const firn_capacity capacity = capacity_of(FIRN_LAYOUT_DEFAULT);
    assert_int_equal(capacity.workers, 1024);
    assert_int_equal(capacity.ids_per_tick, 4096);
    assert_int_equal(capacity.ids_per_second, 4096000);
    assert_instant(capacity.first_us, "2025-01-01T00:00:00.000Z");
    assert_instant(capacity.end_us, "2094-09-07T15:47:35.552Z");
    assert_int_equal(capacity.negative_us, capacity.end_us);
    /* 2^31 ms: 24.9 days. */
    assert_instant(capacity.javascript_us, "2025-01-25T20:31:23.648Z");
}

static void forty_one_bits_from_1970_end_in_september_2039(void **state)
{
    (void)state;
    assert_instant(capacity_of("t41w10s12@0").end_us, "2039-09-07T15:47:35.552Z");
}

static void instagram_s_ids_turn_negative_34_8_years_after_the_epoch(void **state)
{
    (void)state;
    const firn_capacity capacity = capacity_of("instagram");
    assert_int_equal(capacity.negative_us - capacity.first_us, (INT64_C(1) << 40) * 1000);
    assert_instant(capacity.negative_us, "2046-06-27T17:00:49.497Z");
    assert_int_equal(capacity.end_us - capacity.first_us, (INT64_C(1) << 41) * 1000);
    const firn_layout layout = parsed("instagram");
    uint64_t last_positive;
    uint64_t first_negative;
    (void)firn_layout_largest(&layout, capacity.negative_us - 1, &last_positive);
    (void)firn_layout_smallest(&layout, capacity.negative_us, &first_negative);
    assert_true(last_positive == INT64_MAX);
    assert_true(first_negative == (uint64_t)INT64_MAX + 1);
}

static void figures_do_not_overflow_at_the_widest(void **state)
{
    (void)state;
    assert_true(capacity_of("t1s63@0").ids_per_tick == UINT64_C(1) << 63);
    assert_true(capacity_of("t1s63@0").ids_per_second == UINT64_MAX);
    assert_true(capacity_of("t20s44/1us@0").ids_per_second == (UINT64_C(1) << 44) * 1000000);
    assert_true(capacity_of("t19s45/1us@0").ids_per_second == UINT64_MAX);
    assert_true(capacity_of("t32d16w16@0").workers == UINT64_C(1) << 32);
    assert_int_equal(capacity_of("t31w10s12/1s@0").ids_per_second, 4096);
}

/* The first instant whose largest id needs more than bits bits, by bisection over the instants: it
 * shares nothing with the arithmetic that firn_layout_capacity() does. */
static int64_t outgrown_by_bisection_us(const firn_layout *layout, const firn_capacity *capacity,
                                        unsigned bits)
{
    int64_t low_us = capacity->first_us;
    int64_t high_us = capacity->end_us;
    while (low_us < high_us) {
        const int64_t middle_us = low_us + (high_us - low_us) / 2;
        uint64_t largest;
        assert_int_equal(firn_layout_largest(layout, middle_us, &largest), FIRN_OK);
        if (largest >> bits != 0) {
            high_us = middle_us;
        } else {
            low_us = middle_us + 1;
        }
    }
    return low_us;
}

static void the_dates_of_2_53_and_2_63_are_the_first_instants_of_such_ids(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (size_t i = test_scaled(RANDOM_LAYOUTS / 4); i > 0; i--) {
        char text[128];
        firn_layout layout;
        firn_capacity capacity;
        random_layout(&random, true, &layout, text);
        (void)firn_layout_capacity(&layout, &capacity);
        const int64_t javascript_us = outgrown_by_bisection_us(&layout, &capacity, 53);
        const int64_t negative_us = outgrown_by_bisection_us(&layout, &capacity, 63);
        if (capacity.javascript_us != javascript_us || capacity.negative_us != negative_us) {
            fail_msg("%s: %" PRId64 " %" PRId64 ", not %" PRId64 " %" PRId64, text,
                     capacity.javascript_us, capacity.negative_us, javascript_us, negative_us);
        }
    }
}

static firn_fields random_values(uint64_t *random, const firn_layout *layout)
{
    return (firn_fields){
        .tick = random_next(random) & firn__mask(layout->time_bits),
        .sequence = random_any_size(random) & firn__mask(layout->sequence_bits),
        .unknown = random_next(random) & firn__mask(layout->unknown_bits),
        .worker = (uint32_t)(random_next(random) & firn__mask(firn__worker_number_bits(layout))),
    };
}

/* An id by plain reading of the grammar: each field in turn, shifted in from the right. */
static uint64_t composed_by_order(const firn_layout *layout, const firn_fields *fields)
{
    const uint64_t datacenter = (uint64_t)fields->worker >> layout->worker_bits;
    const uint64_t low = fields->worker & firn__mask(layout->worker_bits);
    uint64_t id = 0;
    for (size_t i = 0; layout->order[i] != 0; i++) {
        switch (layout->order[i]) {
        case 't':
            id = fields->tick;
            break;
        case 'd':
            id = id << layout->datacenter_bits | datacenter;
            break;
        case 'w':
            id = id << layout->worker_bits | low;
            break;
        case 's':
            id = id << layout->sequence_bits % 64 | fields->sequence;
            break;
        default:
            id = id << layout->unknown_bits | fields->unknown;
            break;
        }
    }
    return id;
}

static void check_round_trip(uint64_t *random, const firn_layout *layout, const char *text)
{
    const firn_fields fields = random_values(random, layout);
    firn_fields again;
    uint64_t id;
    assert_int_equal(firn_layout_compose(layout, &fields, &id), FIRN_OK);
    if (id != composed_by_order(layout, &fields)) {
        fail_msg("%s: %" PRIu64 " is not composed in the order of the letters", text, id);
    }
    assert_int_equal(firn_layout_decompose(layout, id, &again), FIRN_OK);
    if (again.tick != fields.tick || again.worker != fields.worker ||
        again.sequence != fields.sequence || again.unknown != fields.unknown) {
        fail_msg("%s: %" PRIu64 " does not come back", text, id);
    }
    const int64_t since_us = (int64_t)(fields.tick * (uint64_t)(layout->tick_ns / 1000));
    assert_int_equal(again.time_us, layout->epoch_ms * 1000 + since_us);
    assert_int_equal(again.datacenter, (uint64_t)fields.worker >> layout->worker_bits);
}

static void compose_and_decompose_undo_each_other_for_all_layouts(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (size_t i = test_scaled(RANDOM_LAYOUTS); i > 0; i--) {
        char text[128];
        firn_layout layout;
        random_layout(&random, true, &layout, text);
        for (size_t k = 0; k < IDS_A_LAYOUT; k++) {
            check_round_trip(&random, &layout, text);
        }
    }
}

static void formatting_and_parsing_undo_each_other_for_all_layouts(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (size_t i = test_scaled(RANDOM_LAYOUTS); i > 0; i--) {
        char text[128];
        char canonical[FIRN_LAYOUT_TEXT_SIZE];
        char twice[FIRN_LAYOUT_TEXT_SIZE];
        firn_layout layout;
        random_layout(&random, true, &layout, text);
        assert_int_equal(firn_layout_format(&layout, canonical, sizeof canonical), FIRN_OK);
        const firn_layout again = parsed(canonical);
        if (memcmp(&again, &layout, sizeof layout) != 0) {
            fail_msg("%s became %s, which is another layout", text, canonical);
        }
        assert_int_equal(firn_layout_format(&again, twice, sizeof twice), FIRN_OK);
        assert_string_equal(twice, canonical);
    }
}

static void a_field_that_does_not_fit_is_refused_never_cut(void **state)
{
    (void)state;
    const firn_layout layout = parsed("t41d5w5s12@0");
    const firn_layout unknown = parsed("t41x22@0");
    const firn_fields last = {.tick = firn__mask(41), .worker = 1023, .sequence = 4095};
    uint64_t id = 4711;
    firn_fields fields = last;
    fields.tick++;
    assert_int_equal(firn_layout_compose(&layout, &fields, &id), FIRN_E_FIELD_RANGE);
    fields = last;
    fields.worker++;
    assert_int_equal(firn_layout_compose(&layout, &fields, &id), FIRN_E_FIELD_RANGE);
    fields.worker = UINT32_MAX;
    assert_int_equal(firn_layout_compose(&layout, &fields, &id), FIRN_E_FIELD_RANGE);
    fields = last;
    fields.sequence++;
    assert_int_equal(firn_layout_compose(&layout, &fields, &id), FIRN_E_FIELD_RANGE);
    fields = last;
    fields.unknown = 1;
    assert_int_equal(firn_layout_compose(&layout, &fields, &id), FIRN_E_FIELD_RANGE);
    fields = (firn_fields){.unknown = UINT64_C(1) << 22};
    assert_int_equal(firn_layout_compose(&unknown, &fields, &id), FIRN_E_FIELD_RANGE);
    assert_int_equal(id, 4711);
    assert_int_equal(firn_layout_compose(&layout, &last, &id), FIRN_OK);
    assert_true(id == INT64_MAX);
}

static void an_id_above_the_layout_s_bits_is_refused(void **state)
{
    (void)state;
    const firn_layout layout = parsed("t41w10s12@0");
    firn_fields fields;
    assert_int_equal(firn_layout_decompose(&layout, INT64_MAX, &fields), FIRN_OK);
    assert_int_equal(firn_layout_decompose(&layout, (uint64_t)INT64_MAX + 1, &fields),
                     FIRN_E_ID_RANGE);
    assert_int_equal(firn_layout_decompose(&layout, UINT64_MAX, &fields), FIRN_E_ID_RANGE);
    const firn_layout small = parsed("t8s8@0");
    assert_int_equal(firn_layout_decompose(&small, 65535, &fields), FIRN_OK);
    assert_int_equal(firn_layout_decompose(&small, 65536, &fields), FIRN_E_ID_RANGE);
    const firn_layout whole = parsed("instagram");
    assert_int_equal(firn_layout_decompose(&whole, UINT64_MAX, &fields), FIRN_OK);
}

/* Every id of the tick lies between the bounds, and both neighbours belong to other ticks. */
static void check_bounds(uint64_t *random, const firn_layout *layout, const char *text)
{
    firn_fields fields = random_values(random, layout);
    firn_fields read;
    uint64_t id;
    uint64_t smallest;
    uint64_t largest;
    (void)firn_layout_compose(layout, &fields, &id);
    (void)firn_layout_decompose(layout, id, &read);
    const int64_t at_us =
        read.time_us + (int64_t)random_below(random, (uint64_t)layout->tick_ns / 1000);
    assert_int_equal(firn_layout_smallest(layout, at_us, &smallest), FIRN_OK);
    assert_int_equal(firn_layout_largest(layout, at_us, &largest), FIRN_OK);
    if (id < smallest || id > largest) {
        fail_msg("%s: %" PRIu64 " lies outside %" PRIu64 " to %" PRIu64, text, id, smallest,
                 largest);
    }
    (void)firn_layout_decompose(layout, smallest, &read);
    assert_true(read.tick == fields.tick);
    (void)firn_layout_decompose(layout, largest, &read);
    assert_true(read.tick == fields.tick);
    if (smallest != 0 && firn_layout_decompose(layout, smallest - 1, &read) == FIRN_OK) {
        assert_true(read.tick == fields.tick - 1);
    }
    if (largest != UINT64_MAX && firn_layout_decompose(layout, largest + 1, &read) == FIRN_OK) {
        assert_true(read.tick == fields.tick + 1);
    }
}

static void bounds_of_an_instant_hold_its_ids_and_no_others(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (size_t i = test_scaled(RANDOM_LAYOUTS); i > 0; i--) {
        char text[128];
        firn_layout layout;
        random_layout(&random, true, &layout, text);
        for (size_t k = 0; k < IDS_A_LAYOUT; k++) {
            check_bounds(&random, &layout, text);
        }
    }
}

static void the_last_tick_has_ids_and_the_instants_around_the_life_have_none(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (size_t i = test_scaled(RANDOM_LAYOUTS / 10); i > 0; i--) {
        char text[128];
        firn_layout layout;
        firn_capacity capacity;
        random_layout(&random, true, &layout, text);
        (void)firn_layout_capacity(&layout, &capacity);
        uint64_t id = 4711;
        const int64_t outside_us[] = {capacity.first_us - 1, capacity.end_us, INT64_MIN, INT64_MAX};
        for (size_t k = 0; k < sizeof outside_us / sizeof outside_us[0]; k++) {
            assert_int_equal(firn_layout_smallest(&layout, outside_us[k], &id), FIRN_E_TIME_RANGE);
            assert_int_equal(firn_layout_largest(&layout, outside_us[k], &id), FIRN_E_TIME_RANGE);
        }
        assert_int_equal(id, 4711);
        assert_int_equal(firn_layout_smallest(&layout, capacity.first_us, &id), FIRN_OK);
        assert_int_equal(id, 0);
        assert_int_equal(firn_layout_largest(&layout, capacity.end_us - 1, &id), FIRN_OK);
        assert_true(id == firn__mask((unsigned)layout.time_shift + layout.time_bits));
    }
}

static void a_datacenter_owns_one_range_of_worker_numbers(void **state)
{
    (void)state;
    const firn_layout layout = parsed("t41w5s12d5@0");
    for (uint32_t worker = 0; worker < 1024; worker++) {
        const firn_fields fields = {.tick = 1, .worker = worker};
        firn_fields read;
        uint64_t id;
        assert_int_equal(firn_layout_compose(&layout, &fields, &id), FIRN_OK);
        assert_int_equal(firn_layout_decompose(&layout, id, &read), FIRN_OK);
        assert_int_equal(read.worker, worker);
        assert_int_equal(read.datacenter, worker / 32);
    }
}

/* The same in 128 bits, by the words of the header: whole ticks at or after, and whole ticks before,
 * an instant. */
static void check_ticks(const firn_layout *layout, int64_t at_ms, const char *text)
{
    __extension__ typedef __int128 wide;
    const wide tick_us = layout->tick_ns / 1000;
    const wide span_us = ((wide)at_ms - layout->epoch_ms) * 1000;
    const wide limit = (wide)firn__tick_last(layout) + 1;
    wide until = span_us <= 0 ? 0 : span_us / tick_us;
    wide from = span_us <= 0 ? 0 : (span_us + tick_us - 1) / tick_us;
    until = until > limit ? limit : until;
    from = from > limit ? limit : from;
    if (firn__tick_from_ms(layout, at_ms) != (uint64_t)from ||
        firn__tick_until_ms(layout, at_ms) != (uint64_t)until) {
        fail_msg("%s: the ticks around %" PRId64 " ms are wrong", text, at_ms);
    }
}

static void a_window_s_ticks_are_those_that_lie_wholly_inside_it(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (size_t i = test_scaled(RANDOM_LAYOUTS); i > 0; i--) {
        char text[128];
        firn_layout layout;
        firn_capacity capacity;
        random_layout(&random, false, &layout, text);
        (void)firn_layout_capacity(&layout, &capacity);
        const int64_t end_ms = capacity.end_us / 1000;
        check_ticks(&layout, INT64_MIN, text);
        check_ticks(&layout, INT64_MAX, text);
        for (int64_t k = -2; k <= 2; k++) {
            check_ticks(&layout, layout.epoch_ms + k, text);
            check_ticks(&layout, end_ms + k, text);
            check_ticks(&layout, (int64_t)random_any_size(&random), text);
            check_ticks(&layout, layout.epoch_ms + (int64_t)random_below(&random, 1 << 30), text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_text_gives_its_canonical_text),
        cmocka_unit_test(a_bad_text_is_refused_and_the_message_says_why),
        cmocka_unit_test(messages_show_long_and_binary_texts_safely),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(format_needs_room_for_the_text_and_its_end),
        cmocka_unit_test(fields_stand_in_the_order_of_their_letters),
        cmocka_unit_test(a_layout_that_cannot_serve_now_is_refused_and_says_when_it_ends),
        cmocka_unit_test(only_the_chosen_layout_limits_the_worker),
        cmocka_unit_test(the_default_layout_s_figures_are_the_published_ones),
        cmocka_unit_test(forty_one_bits_from_1970_end_in_september_2039),
        cmocka_unit_test(instagram_s_ids_turn_negative_34_8_years_after_the_epoch),
        cmocka_unit_test(figures_do_not_overflow_at_the_widest),
        cmocka_unit_test(the_dates_of_2_53_and_2_63_are_the_first_instants_of_such_ids),
        cmocka_unit_test(compose_and_decompose_undo_each_other_for_all_layouts),
        cmocka_unit_test(formatting_and_parsing_undo_each_other_for_all_layouts),
        cmocka_unit_test(a_field_that_does_not_fit_is_refused_never_cut),
        cmocka_unit_test(an_id_above_the_layout_s_bits_is_refused),
        cmocka_unit_test(bounds_of_an_instant_hold_its_ids_and_no_others),
        cmocka_unit_test(the_last_tick_has_ids_and_the_instants_around_the_life_have_none),
        cmocka_unit_test(a_datacenter_owns_one_range_of_worker_numbers),
        cmocka_unit_test(a_window_s_ticks_are_those_that_lie_wholly_inside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
