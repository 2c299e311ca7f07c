/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Instants and their text: tables of each form and of refusals, then properties of random instants.
 * The C library's calendar, which the core does not use, is the second opinion. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "firn/time.h"
#include "random.h"

#define RANDOM_INSTANTS 20000
#define SECOND_US       INT64_C(1000000)
#define DAY_US          (86400 * SECOND_US)
#define END_US          INT64_C(253402300800000000) /* 10000-01-01 */
/* 2026-10-14T10:00:00.123456Z */
#define NOW_US       INT64_C(1791972000123456)
#define MIDNIGHT_US  INT64_C(1791936000000000)
#define UNTOUCHED_US INT64_C(-77)

static const struct reading {
    const char *name;
    const char *text;
    int64_t at_us;
} readings[] = {
    {"a date", "2026-10-14", MIDNIGHT_US},
    {"the first date", "1970-01-01", 0},
    {"the last date", "9999-12-31", END_US - DAY_US},
    {"29 February", "2024-02-29", INT64_C(1709164800000000)},
    {"29 February of a century that has it", "2000-02-29", INT64_C(951782400000000)},
    {"no seconds", "2026-10-14T10:00", MIDNIGHT_US + 36000 * SECOND_US},
    {"seconds", "2026-10-14T10:00:59", MIDNIGHT_US + 36059 * SECOND_US},
    {"one decimal", "2026-10-14T10:00:00.1", MIDNIGHT_US + 36000 * SECOND_US + 100000},
    {"the design's example", "2026-10-14T10:00:00.123Z", INT64_C(1791972000123000)},
    {"six decimals", "2026-10-14T10:00:00.123456Z", NOW_US},
    {"nine decimals are cut", "2026-10-14T10:00:00.123456999Z", NOW_US},
    {"nine decimals below a microsecond", "1970-01-01T00:00:00.000000999Z", 0},
    {"a small t", "2026-10-14t10:00", MIDNIGHT_US + 36000 * SECOND_US},
    {"a blank for T", "2026-10-14 10:00", MIDNIGHT_US + 36000 * SECOND_US},
    {"a small z", "2026-10-14T10:00z", MIDNIGHT_US + 36000 * SECOND_US},
    {"east, with a colon", "2026-10-14T10:00:00+05:30", MIDNIGHT_US + 16200 * SECOND_US},
    {"west, four digits", "2026-10-14T10:00:00-0800", MIDNIGHT_US + 64800 * SECOND_US},
    {"east, hours only", "2026-10-14T10:00+05", MIDNIGHT_US + 18000 * SECOND_US},
    {"the widest zone", "2026-10-14T23:59:00+23:59", MIDNIGHT_US},
    {"the widest zone west", "2026-10-14T00:00:00.5-23:59",
     MIDNIGHT_US + 86340 * SECOND_US + 500000},
    {"zone of nothing", "2026-10-14T10:00-00:00", MIDNIGHT_US + 36000 * SECOND_US},
    {"1969 that is 1970 in UTC", "1969-12-31T23:30:00-00:30", 0},
    {"a leap second", "2016-12-31T23:59:60Z", INT64_C(1483228800000000) - 1},
    {"inside a leap second", "2016-12-31T23:59:60.250Z", INT64_C(1483228800000000) - 1},
    {"a leap second in another zone", "2017-01-01T05:29:60+05:30", INT64_C(1483228800000000) - 1},
    {"the last instant", "9999-12-31T23:59:59.999999999Z", END_US - 1},
    {"Unix milliseconds", "1791972000123", INT64_C(1791972000123000)},
    {"Unix milliseconds, the first", "0", 0},
    {"Unix milliseconds, the last", "253402300799999", END_US - 1000},
    {"now", "now", NOW_US},
    {"today", "today", MIDNIGHT_US},
    {"yesterday", "yesterday", MIDNIGHT_US - DAY_US},
    {"tomorrow", "tomorrow", MIDNIGHT_US + DAY_US},
    {"milliseconds back", "-1500ms", NOW_US - 1500000},
    {"seconds back", "-90s", NOW_US - 90 * SECOND_US},
    {"minutes on", "+5m", NOW_US + 300 * SECOND_US},
    {"an hour back", "-1h", NOW_US - 3600 * SECOND_US},
    {"days on", "+2d", NOW_US + 2 * DAY_US},
    {"a week back", "-1w", NOW_US - 7 * DAY_US},
    {"an hour ago", "1h ago", NOW_US - 3600 * SECOND_US},
    {"milliseconds ago", "20ms ago", NOW_US - 20000},
    {"a number of four digits ago", "3000s ago", NOW_US - 3000 * SECOND_US},
    {"now and an offset back", "now-30m", NOW_US - 1800 * SECOND_US},
    {"now and an offset on", "now+0s", NOW_US},
};

static void each_form_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        print_message("%s: %s\n", readings[i].name, readings[i].text);
        int64_t at_us = UNTOUCHED_US;
        firn_error error;
        assert_int_equal(firn_time_parse(readings[i].text, NOW_US, &at_us, &error), FIRN_OK);
        assert_true(at_us == readings[i].at_us);
        at_us = UNTOUCHED_US;
        assert_int_equal(firn_time_parse(readings[i].text, NOW_US, &at_us, NULL), FIRN_OK);
        assert_true(at_us == readings[i].at_us);
    }
}

static const struct refusal {
    const char *name;
    const char *text;
    int status;
    int32_t position;
    const char *says; /* part of the error's text */
} refusals[] = {
    {"nothing", "", FIRN_E_TIME_SYNTAX, 0, "expected a date such as"},
    {"a blank in front", " now", FIRN_E_TIME_SYNTAX, 0, "a blank at offset 0"},
    {"a blank behind", "2026-10-14 ", FIRN_E_TIME_SYNTAX, 11, "ends at offset 11"},
    {"a word that is none", "noon", FIRN_E_TIME_SYNTAX, 0, "yesterday"},
    {"half a word", "toda", FIRN_E_TIME_SYNTAX, 0, "today"},
    {"more than a word", "todayx", FIRN_E_TIME_SYNTAX, 5, "expected the end"},
    {"a word and an offset", "today-1h", FIRN_E_TIME_SYNTAX, 5, "expected the end"},
    {"now and more", "nowx", FIRN_E_TIME_SYNTAX, 3, "an offset such as -30m"},
    {"capitals", "NOW", FIRN_E_TIME_SYNTAX, 0, "'N'"},
    {"a sign alone", "-", FIRN_E_TIME_SYNTAX, 1, "such as 90s"},
    {"two signs", "--1h", FIRN_E_TIME_SYNTAX, 1, "'-' at offset 1"},
    {"no unit", "-5", FIRN_E_TIME_SYNTAX, 2, "a unit (ms, s, m, h, d or w)"},
    {"a unit that is none", "-5y", FIRN_E_TIME_SYNTAX, 2, "'y' at offset 2"},
    {"two units", "-1h30m", FIRN_E_TIME_SYNTAX, 3, "expected the end"},
    {"half an hour", "-1.5h", FIRN_E_TIME_SYNTAX, 2, "'.' at offset 2"},
    {"half an hour ago", "1.5h ago", FIRN_E_TIME_SYNTAX, 1, "a unit (ms, s, m, h, d or w)"},
    {"no sign and no ago", "1h", FIRN_E_TIME_SYNTAX, 2, "1h ago"},
    {"half of ago", "1h ag", FIRN_E_TIME_SYNTAX, 5, "1h ago"},
    {"more than ago", "1h ago!", FIRN_E_TIME_SYNTAX, 6, "'!'"},
    {"an offset that is ago", "-1h ago", FIRN_E_TIME_SYNTAX, 3, "expected the end"},
    {"slashes", "2026/10/14", FIRN_E_TIME_SYNTAX, 4, "after a year of four digits"},
    {"a year of three digits", "202-10-14", FIRN_E_TIME_SYNTAX, 3, "four digits"},
    {"a year of five digits", "12026-10-14", FIRN_E_TIME_SYNTAX, 4, "four digits"},
    {"a year and a month", "2026-10", FIRN_E_TIME_SYNTAX, 7, "'-' after the month"},
    {"a month of one digit", "2026-1-14", FIRN_E_TIME_SYNTAX, 6, "month of two digits"},
    {"month 0", "2026-00-14", FIRN_E_TIME_SYNTAX, 5, "month at offset 5 of the time is 0"},
    {"month 13", "2026-13-14", FIRN_E_TIME_SYNTAX, 5, "is 13; allowed are 1 to 12"},
    {"day 0", "2026-10-00", FIRN_E_TIME_SYNTAX, 8, "allowed are 1 to 31"},
    {"day 32", "2026-10-32", FIRN_E_TIME_SYNTAX, 8, "is 32"},
    {"31 April", "2026-04-31", FIRN_E_TIME_SYNTAX, 8, "2026-04 has 30 days"},
    {"29 February", "2026-02-29", FIRN_E_TIME_SYNTAX, 8, "2026-02 has 28 days"},
    {"30 February", "2024-02-30", FIRN_E_TIME_SYNTAX, 8, "2024-02 has 29 days"},
    {"29 February of a century", "2100-02-29", FIRN_E_TIME_SYNTAX, 8, "2100-02 has 28 days"},
    {"a zone after a date", "2026-10-14Z", FIRN_E_TIME_SYNTAX, 10, "'T' and a time of day"},
    {"T and nothing", "2026-10-14T", FIRN_E_TIME_SYNTAX, 11, "an hour of two digits"},
    {"an hour alone", "2026-10-14T10", FIRN_E_TIME_SYNTAX, 13, "':' after the hour"},
    {"an hour of one digit", "2026-10-14T9:00", FIRN_E_TIME_SYNTAX, 12, "hour of two digits"},
    {"hour 24", "2026-10-14T24:00", FIRN_E_TIME_SYNTAX, 11, "allowed are 0 to 23"},
    {"minute 60", "2026-10-14T10:60", FIRN_E_TIME_SYNTAX, 14, "allowed are 0 to 59"},
    {"second 61", "2026-10-14T10:00:61", FIRN_E_TIME_SYNTAX, 17, "allowed are 0 to 60"},
    {"a point and nothing", "2026-10-14T10:00:00.", FIRN_E_TIME_SYNTAX, 20, "1 to 9 decimals"},
    {"a point and a zone", "2026-10-14T10:00:00.Z", FIRN_E_TIME_SYNTAX, 20, "1 to 9 decimals"},
    {"ten decimals", "2026-10-14T10:00:00.1234567890", FIRN_E_TIME_SYNTAX, 29, "at most 9"},
    {"a comma", "2026-10-14T10:00:00,5", FIRN_E_TIME_SYNTAX, 19, "','"},
    {"decimals of a minute", "2026-10-14T10:00.5", FIRN_E_TIME_SYNTAX, 16, "'.'"},
    {"a zone by name", "2026-10-14T10:00 CET", FIRN_E_TIME_SYNTAX, 16, "a zone such as +05:30"},
    {"more than Z", "2026-10-14T10:00ZZ", FIRN_E_TIME_SYNTAX, 17, "expected the end"},
    {"a zone of no digits", "2026-10-14T10:00+", FIRN_E_TIME_SYNTAX, 17, "zone's hour"},
    {"a zone of 24 hours", "2026-10-14T10:00+24:00", FIRN_E_TIME_SYNTAX, 17, "0 to 23"},
    {"a zone of 60 minutes", "2026-10-14T10:00-08:60", FIRN_E_TIME_SYNTAX, 20, "0 to 59"},
    {"a zone and a colon", "2026-10-14T10:00+05:", FIRN_E_TIME_SYNTAX, 20, "zone's minute"},
    {"a zone of three digits", "2026-10-14T10:00+053", FIRN_E_TIME_SYNTAX, 20, "zone's minute"},
    {"a zone of five digits", "2026-10-14T10:00+05300", FIRN_E_TIME_SYNTAX, 21, "the end"},
    {"a byte that is no ASCII", "2026-10-14T10:00\xe2\x80\x93", FIRN_E_TIME_SYNTAX, 16,
     "byte 0xE2 at offset 16"},
    {"a control byte", "\x1b[2J", FIRN_E_TIME_SYNTAX, 0, "byte 0x1B"},
    {"1969", "1969-12-31", FIRN_E_TIME_RANGE, 0, "1970 to 9999"},
    {"year 0", "0000-01-01", FIRN_E_TIME_RANGE, 0, "1970 to 9999"},
    {"a microsecond too early", "1970-01-01T00:00:00+00:01", FIRN_E_TIME_RANGE, 0, "1970"},
    {"9999 that is 10000 in UTC", "9999-12-31T23:59:00-00:01", FIRN_E_TIME_RANGE, 0, "9999"},
    {"a millisecond too late", "253402300800000", FIRN_E_TIME_RANGE, 0, "253402300799999"},
    {"milliseconds of 65 bits", "18446744073709551616", FIRN_E_TIME_RANGE, 0, "milliseconds"},
    {"an offset before 1970", "-3000w", FIRN_E_TIME_RANGE, 0, "1970"},
    {"an offset past 9999", "+500000w", FIRN_E_TIME_RANGE, 0, "9999"},
    {"a span of more than 64 bits", "-99999999999999999999w", FIRN_E_TIME_RANGE, 1, "1970"},
    {"a sum of more than 64 bits", "+9223372036854775ms", FIRN_E_TIME_RANGE, 0, "9999"},
};

static void refusals_say_where_and_touch_no_output(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *row = &refusals[i];
        firn_error error = {0};
        int64_t at_us = UNTOUCHED_US;
        const int status = firn_time_parse(row->text, NOW_US, &at_us, &error);
        print_message("%s: %s\n", row->name, error.text);
        assert_int_equal(status, row->status);
        assert_int_equal(error.status, row->status);
        assert_int_equal(error.position, row->position);
        assert_non_null(strstr(error.text, row->says));
        assert_true(at_us == UNTOUCHED_US);
        assert_int_equal(firn_time_parse(row->text, NOW_US, &at_us, NULL), row->status);
    }
}

static void words_and_offsets_hold_for_any_now(void **state)
{
    (void)state;
    static const char *texts[] = {"now",  "today", "yesterday", "tomorrow",
                                  "-1ms", "+1ms",  "now+1000w", "1000w ago"};
    static const int64_t nows[] = {INT64_MIN, INT64_MIN + DAY_US, INT64_MAX, INT64_MAX - DAY_US};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t j = 0; j < sizeof nows / sizeof nows[0]; j++) {
            int64_t at_us = UNTOUCHED_US;
            assert_int_equal(firn_time_parse(texts[i], nows[j], &at_us, NULL), FIRN_E_TIME_RANGE);
            assert_true(at_us == UNTOUCHED_US);
        }
    }
    int64_t at_us;
    assert_int_equal(firn_time_parse("tomorrow", -1, &at_us, NULL), FIRN_OK);
    assert_true(at_us == 0);
    assert_int_equal(firn_time_parse("+2h", -3600 * SECOND_US, &at_us, NULL), FIRN_OK);
    assert_true(at_us == 3600 * SECOND_US);
    assert_int_equal(firn_time_parse("9000000000000s ago", INT64_MAX, &at_us, NULL), FIRN_OK);
    assert_true(at_us == INT64_MAX - INT64_C(9000000000000) * SECOND_US);
}

static const struct writing {
    const char *name;
    int64_t at_us;
    int decimals;
    const char *text;
} writings[] = {
    {"the epoch", 0, 0, "1970-01-01T00:00:00Z"},
    {"the design's example", NOW_US, 3, "2026-10-14T10:00:00.123Z"},
    {"one decimal", NOW_US, 1, "2026-10-14T10:00:00.1Z"},
    {"six decimals", NOW_US, 6, "2026-10-14T10:00:00.123456Z"},
    {"zeros inside decimals", 1002, 6, "1970-01-01T00:00:00.001002Z"},
    {"cut, never rounded", 999999, 0, "1970-01-01T00:00:00Z"},
    {"cut to five", 999999, 5, "1970-01-01T00:00:00.99999Z"},
    {"before 1970", -1, 6, "1969-12-31T23:59:59.999999Z"},
    {"cut towards the past", -1, 3, "1969-12-31T23:59:59.999Z"},
    {"29 February", INT64_C(951782400000000), 0, "2000-02-29T00:00:00Z"},
    {"the day after", INT64_C(951868800000000), 0, "2000-03-01T00:00:00Z"},
    {"31 December of a leap year", INT64_C(1735603200000000), 0, "2024-12-31T00:00:00Z"},
    {"the last of four digits", END_US - 1, 6, "9999-12-31T23:59:59.999999Z"},
    {"the first of five digits", END_US, 0, "+10000-01-01T00:00:00Z"},
    {"year 0", INT64_C(-62167219200000000), 0, "0000-01-01T00:00:00Z"},
    {"the year before", INT64_C(-62167219200000001), 6, "-0001-12-31T23:59:59.999999Z"},
    {"the default layout's end", INT64_C(3934712855552000), 3, "2094-09-07T15:47:35.552Z"},
    {"the largest", INT64_MAX, 6, "+294247-01-10T04:00:54.775807Z"},
    {"the smallest", INT64_MIN, 6, "-290308-12-21T19:59:05.224192Z"},
};

static void each_instant_has_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof writings / sizeof writings[0]; i++) {
        print_message("%s: %s\n", writings[i].name, writings[i].text);
        char text[FIRN_TIME_TEXT_SIZE];
        assert_int_equal(
            firn_time_format(writings[i].at_us, writings[i].decimals, text, sizeof text), FIRN_OK);
        assert_string_equal(text, writings[i].text);
    }
}

static void every_day_of_400_years_is_the_c_librarys_and_reads_back(void **state)
{
    (void)state;
    for (int64_t day = 0; day < 146097; day++) {
        const time_t seconds = (time_t)(day * 86400);
        struct tm utc;
        char expected[FIRN_TIME_TEXT_SIZE];
        char text[FIRN_TIME_TEXT_SIZE];
        assert_non_null(gmtime_r(&seconds, &utc));
        assert_int_equal(strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%SZ", &utc), 20);
        assert_int_equal(firn_time_format(day * DAY_US, 0, text, sizeof text), FIRN_OK);
        assert_string_equal(text, expected);
        int64_t at_us = UNTOUCHED_US;
        text[10] = '\0';
        assert_int_equal(firn_time_parse(text, 0, &at_us, NULL), FIRN_OK);
        assert_true(at_us == day * DAY_US);
    }
}

static void any_instant_of_64_bits_is_the_c_librarys(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (int i = 0; i < RANDOM_INSTANTS; i++) {
        const uint64_t magnitude = random_any_size(&random) >> 1;
        const int64_t at_us =
            random_next(&random) % 2 == 0 ? (int64_t)magnitude : -1 - (int64_t)magnitude;
        const int64_t micros = (at_us % SECOND_US + SECOND_US) % SECOND_US;
        const time_t seconds = (time_t)(at_us / SECOND_US - (at_us % SECOND_US < 0));
        struct tm utc;
        char year[16];
        char expected[FIRN_TIME_TEXT_SIZE * 2];
        char text[FIRN_TIME_TEXT_SIZE];
        assert_non_null(gmtime_r(&seconds, &utc));
        const int number = utc.tm_year + 1900;
        (void)snprintf(year, sizeof year, "%04d", number);
        if (number < 0 || number > 9999) {
            (void)snprintf(year, sizeof year, "%+05d", number);
        }
        (void)snprintf(expected, sizeof expected, "%s-%02d-%02dT%02d:%02d:%02d.%06dZ", year,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       (int)micros);
        assert_int_equal(firn_time_format(at_us, 6, text, sizeof text), FIRN_OK);
        assert_string_equal(text, expected);
    }
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    static const int64_t units_us[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    uint64_t random = random_seed(__func__);
    for (int i = 0; i < RANDOM_INSTANTS; i++) {
        const int64_t at_us = (int64_t)(random_any_size(&random) % (uint64_t)END_US);
        for (int decimals = 0; decimals <= 6; decimals++) {
            char text[FIRN_TIME_TEXT_SIZE];
            int64_t back_us = UNTOUCHED_US;
            assert_int_equal(firn_time_format(at_us, decimals, text, sizeof text), FIRN_OK);
            assert_int_equal(firn_time_parse(text, 0, &back_us, NULL), FIRN_OK);
            assert_true(back_us == at_us - at_us % units_us[decimals]);
        }
    }
}

static void a_zone_shifts_by_its_hours_and_minutes(void **state)
{
    (void)state;
    for (int minutes = -1439; minutes <= 1439; minutes++) {
        const int span = minutes < 0 ? -minutes : minutes;
        const char sign = minutes < 0 ? '-' : '+';
        char text[2][FIRN_TIME_TEXT_SIZE];
        (void)snprintf(text[0], sizeof text[0], "2026-10-14T00:00%c%02d:%02d", sign, span / 60,
                       span % 60);
        (void)snprintf(text[1], sizeof text[1], "2026-10-14 00:00:00.0%c%02d%02d", sign, span / 60,
                       span % 60);
        for (int i = 0; i < 2; i++) {
            int64_t at_us = UNTOUCHED_US;
            assert_int_equal(firn_time_parse(text[i], 0, &at_us, NULL), FIRN_OK);
            assert_true(at_us == MIDNIGHT_US - minutes * (60 * SECOND_US));
        }
    }
}

static void texts_of_one_precision_sort_as_instants_do(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (int i = 0; i < RANDOM_INSTANTS; i++) {
        const int64_t a_us = (int64_t)(random_any_size(&random) % (uint64_t)END_US);
        const int64_t b_us = (int64_t)(random_any_size(&random) % (uint64_t)END_US);
        char a[FIRN_TIME_TEXT_SIZE];
        char b[FIRN_TIME_TEXT_SIZE];
        assert_int_equal(firn_time_format(a_us, 6, a, sizeof a), FIRN_OK);
        assert_int_equal(firn_time_format(b_us, 6, b, sizeof b), FIRN_OK);
        const int order = strcmp(a, b);
        assert_int_equal((order > 0) - (order < 0), (a_us > b_us) - (a_us < b_us));
    }
}

static void a_buffer_fits_exactly_or_is_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof writings / sizeof writings[0]; i++) {
        const size_t size = strlen(writings[i].text);
        for (size_t buf_size = 0; buf_size <= FIRN_TIME_TEXT_SIZE; buf_size++) {
            char buf[FIRN_TIME_TEXT_SIZE + 1];
            memset(buf, '#', sizeof buf);
            const int status =
                firn_time_format(writings[i].at_us, writings[i].decimals, buf, buf_size);
            assert_int_equal(status, buf_size > size ? FIRN_OK : FIRN_E_BUFFER);
            const size_t written = status == FIRN_OK ? size + 1 : 0;
            for (size_t at = written; at < sizeof buf; at++) {
                assert_int_equal(buf[at], '#');
            }
        }
    }
}

static void null_and_decimals_out_of_range_are_argument_errors(void **state)
{
    (void)state;
    char buf[FIRN_TIME_TEXT_SIZE] = "#";
    int64_t at_us = UNTOUCHED_US;
    firn_error error = {0};
    assert_int_equal(firn_time_parse(NULL, 0, &at_us, &error), FIRN_E_ARGUMENT);
    assert_int_equal(error.status, FIRN_E_ARGUMENT);
    assert_int_equal(error.position, -1);
    assert_int_equal(firn_time_parse("now", 0, NULL, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn_time_format(0, -1, buf, sizeof buf), FIRN_E_ARGUMENT);
    assert_int_equal(firn_time_format(0, 7, buf, sizeof buf), FIRN_E_ARGUMENT);
    assert_int_equal(firn_time_format(0, 3, NULL, 0), FIRN_E_ARGUMENT);
    assert_true(at_us == UNTOUCHED_US);
    assert_string_equal(buf, "#");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_is_read),
        cmocka_unit_test(refusals_say_where_and_touch_no_output),
        cmocka_unit_test(words_and_offsets_hold_for_any_now),
        cmocka_unit_test(each_instant_has_its_text),
        cmocka_unit_test(every_day_of_400_years_is_the_c_librarys_and_reads_back),
        cmocka_unit_test(any_instant_of_64_bits_is_the_c_librarys),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(a_zone_shifts_by_its_hours_and_minutes),
        cmocka_unit_test(texts_of_one_precision_sort_as_instants_do),
        cmocka_unit_test(a_buffer_fits_exactly_or_is_left_alone),
        cmocka_unit_test(null_and_decimals_out_of_range_are_argument_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
