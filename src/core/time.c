/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Instants from text and to text, with a calendar of its own: the C library's would bring the time
 * zone in. The forms are in firn/time.h; which instants a layout has is the layout's. */
#include "firn/time.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/quote.h"

#define MILLISECOND_US INT64_C(1000)
#define SECOND_US      INT64_C(1000000)
#define MINUTE_US      (60 * SECOND_US)
#define HOUR_US        (60 * MINUTE_US)
#define DAY_US         (24 * HOUR_US)

/* The Gregorian calendar repeats after 400 years. */
#define CYCLE_YEARS 400
#define CYCLE_DAYS  (CYCLE_YEARS * 365 + 97)
/* Days from 0000-01-01 to 1970-01-01. */
#define UNIX_DAYS 719528

#define YEAR_MIN 1970
#define YEAR_MAX 9999
/* The end of 9999, exclusive. */
#define END_US (INT64_C(2932897) * DAY_US)

#define FRACTION_DIGITS_MAX 9

/* Days before each month of a year that is no leap year. */
static const int month_days[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* month is 1 to 13; 13 gives the days of the whole year. */
static int days_before_month(int year, int month)
{
    return month_days[month - 1] + (month > 2 && is_leap(year));
}

/* Days from 0000-01-01 to the first of January of a year from 0 on; year 0 is a leap year. */
static int64_t days_before_year(int year)
{
    return INT64_C(365) * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

/* The remainder from 0 to divisor - 1; divisor is positive. */
static int64_t floor_remainder(int64_t value, int64_t divisor)
{
    const int64_t remainder = value % divisor;
    return remainder < 0 ? remainder + divisor : remainder;
}

static int64_t floor_quotient(int64_t value, int64_t divisor)
{
    return value / divisor - (value % divisor < 0);
}

struct date {
    int year;
    int month;
    int day;
};

/* unix_day is any day that has an instant: 10^8 days and a little more either way. */
static struct date date_of_day(int64_t unix_day)
{
    const int64_t cycle = floor_quotient(unix_day + UNIX_DAYS, CYCLE_DAYS);
    const int day_of_cycle = (int)floor_remainder(unix_day + UNIX_DAYS, CYCLE_DAYS);
    /* Never above the year sought, and at most one below: 366 days are too many for most years. */
    int year = day_of_cycle / 366;
    if (days_before_year(year + 1) <= day_of_cycle) {
        year++;
    }
    const int day_of_year = day_of_cycle - (int)days_before_year(year);
    int month = day_of_year / 31 + 1;
    if (days_before_month(year, month + 1) <= day_of_year) {
        month++;
    }
    return (struct date){.year = (int)(cycle * CYCLE_YEARS) + year,
                         .month = month,
                         .day = day_of_year - days_before_month(year, month) + 1};
}

/* Where the reading stands, and what words and offsets count from. */
struct cursor {
    const char *text;
    const char *at;
    firn_error *error_out;
    int64_t now_us;
};

static int32_t offset_of(const struct cursor *cursor, const char *at)
{
    const ptrdiff_t offset = at - cursor->text;
    return offset < INT32_MAX ? (int32_t)offset : INT32_MAX;
}

/* The byte at cursor->at is wrong: says which it is, and what is allowed there. */
static int refuse(const struct cursor *cursor, const char *allowed)
{
    const int32_t offset = offset_of(cursor, cursor->at);
    if (*cursor->at == '\0') {
        return firn__error(cursor->error_out, FIRN_E_TIME_SYNTAX, offset,
                           "the time ends at offset %" PRId32 "; expected %s", offset, allowed);
    }
    return firn__error(cursor->error_out, FIRN_E_TIME_SYNTAX, offset,
                       "%s at offset %" PRId32 " of the time; expected %s",
                       firn__quote(*cursor->at).text, offset, allowed);
}

static int refuse_range(const struct cursor *cursor, const char *at)
{
    return firn__error(cursor->error_out, FIRN_E_TIME_RANGE, offset_of(cursor, at),
                       "the time is outside the years %d to %d", YEAR_MIN, YEAR_MAX);
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

static bool take(struct cursor *cursor, char character)
{
    const bool taken = *cursor->at == character;
    cursor->at += taken;
    return taken;
}

static int take_end(const struct cursor *cursor)
{
    return *cursor->at == '\0' ? FIRN_OK : refuse(cursor, "the end");
}

/* One number of fixed width inside a date or a time of day. */
struct part {
    const char *name;
    const char *digits; /* what is expected, for refuse() */
    int width;
    int min;
    int max;
};

static const struct part part_year = {"year", "a year of four digits", 4, 0, YEAR_MAX};
static const struct part part_month = {"month", "a month of two digits", 2, 1, 12};
static const struct part part_day = {"day", "a day of two digits", 2, 1, 31};
static const struct part part_hour = {"hour", "an hour of two digits", 2, 0, 23};
static const struct part part_minute = {"minute", "a minute of two digits", 2, 0, 59};
static const struct part part_second = {"second", "a second of two digits", 2, 0, 60};
static const struct part part_zone_hour = {"zone's hour", "a zone's hour of two digits", 2, 0, 23};
static const struct part part_zone_minute = {"zone's minute", "a zone's minute of two digits", 2, 0,
                                             59};

static int take_part(struct cursor *cursor, const struct part *part, int *value_out)
{
    const char *start = cursor->at;
    int value = 0;
    for (int i = 0; i < part->width; i++) {
        if (!is_digit(*cursor->at)) {
            return refuse(cursor, part->digits);
        }
        value = value * 10 + (*cursor->at - '0');
        cursor->at++;
    }
    if (value < part->min || value > part->max) {
        const int32_t offset = offset_of(cursor, start);
        return firn__error(cursor->error_out, FIRN_E_TIME_SYNTAX, offset,
                           "the %s at offset %" PRId32 " of the time is %d; allowed are %d to %d",
                           part->name, offset, value, part->min, part->max);
    }
    *value_out = value;
    return FIRN_OK;
}

static int take_date(struct cursor *cursor, int64_t *at_us_out)
{
    struct date date = {.year = 0, .month = 1, .day = 1};
    int status = take_part(cursor, &part_year, &date.year);
    if (status == FIRN_OK && !take(cursor, '-')) {
        status = refuse(cursor, "'-' after a year of four digits");
    }
    status = status < 0 ? status : take_part(cursor, &part_month, &date.month);
    if (status == FIRN_OK && !take(cursor, '-')) {
        status = refuse(cursor, "'-' after the month");
    }
    const char *day_at = cursor->at;
    status = status < 0 ? status : take_part(cursor, &part_day, &date.day);
    if (status < 0) {
        return status;
    }
    const int day_of_year = days_before_month(date.year, date.month);
    const int days = days_before_month(date.year, date.month + 1) - day_of_year;
    if (date.day > days) {
        const int32_t offset = offset_of(cursor, day_at);
        return firn__error(cursor->error_out, FIRN_E_TIME_SYNTAX, offset,
                           "the day at offset %" PRId32 " of the time is %d; %04d-%02d has %d days",
                           offset, date.day, date.year, date.month, days);
    }
    *at_us_out = (days_before_year(date.year) + day_of_year + date.day - 1 - UNIX_DAYS) * DAY_US;
    return FIRN_OK;
}

/* The decimals after a second, cut to microseconds. */
static int take_fraction(struct cursor *cursor, int64_t *fraction_us_out)
{
    int64_t unit_us = SECOND_US;
    int64_t fraction_us = 0;
    int digits = 0;
    for (; is_digit(*cursor->at); cursor->at++) {
        if (digits == FRACTION_DIGITS_MAX) {
            return refuse(cursor, "at most 9 decimals");
        }
        unit_us /= 10; /* 0 from the seventh on */
        fraction_us += (*cursor->at - '0') * unit_us;
        digits++;
    }
    if (digits == 0) {
        return refuse(cursor, "1 to 9 decimals");
    }
    *fraction_us_out = fraction_us;
    return FIRN_OK;
}

static int take_seconds(struct cursor *cursor, int64_t *span_us_out)
{
    int second = 0;
    int64_t fraction_us = 0;
    int status = take_part(cursor, &part_second, &second);
    if (status == FIRN_OK && take(cursor, '.')) {
        status = take_fraction(cursor, &fraction_us);
    }
    if (status < 0) {
        return status;
    }
    *span_us_out = second == 60 ? MINUTE_US - 1 : second * SECOND_US + fraction_us;
    return FIRN_OK;
}

static int take_time_of_day(struct cursor *cursor, int64_t *span_us_out)
{
    int hour = 0;
    int minute = 0;
    int64_t seconds_us = 0;
    int status = take_part(cursor, &part_hour, &hour);
    if (status == FIRN_OK && !take(cursor, ':')) {
        status = refuse(cursor, "':' after the hour");
    }
    status = status < 0 ? status : take_part(cursor, &part_minute, &minute);
    if (status == FIRN_OK && take(cursor, ':')) {
        status = take_seconds(cursor, &seconds_us);
    }
    if (status < 0) {
        return status;
    }
    *span_us_out = hour * HOUR_US + minute * MINUTE_US + seconds_us;
    return FIRN_OK;
}

/* How far local time is ahead of UTC; nothing where no zone is given. */
static int take_zone(struct cursor *cursor, int64_t *ahead_us_out)
{
    *ahead_us_out = 0;
    if (*cursor->at == '\0' || take(cursor, 'Z') || take(cursor, 'z')) {
        return FIRN_OK;
    }
    const bool behind = *cursor->at == '-';
    if (!take(cursor, '+') && !take(cursor, '-')) {
        return refuse(cursor, "the end, Z, or a zone such as +05:30; a time of day is 10:00, "
                              "10:00:00 or 10:00:00.123");
    }
    int hours = 0;
    int minutes = 0;
    int status = take_part(cursor, &part_zone_hour, &hours);
    if (status == FIRN_OK && (take(cursor, ':') || *cursor->at != '\0')) {
        status = take_part(cursor, &part_zone_minute, &minutes);
    }
    if (status < 0) {
        return status;
    }
    const int64_t span_us = hours * HOUR_US + minutes * MINUTE_US;
    *ahead_us_out = behind ? -span_us : span_us;
    return FIRN_OK;
}

static int parse_date(struct cursor *cursor, int64_t *at_us_out)
{
    int64_t day_us = 0;
    int64_t span_us = 0;
    int64_t ahead_us = 0;
    int status = take_date(cursor, &day_us);
    if (status < 0) {
        return status;
    }
    if (*cursor->at == '\0') {
        *at_us_out = day_us;
        return FIRN_OK;
    }
    if (!take(cursor, 'T') && !take(cursor, 't') && !take(cursor, ' ')) {
        return refuse(cursor, "the end, or 'T' and a time of day such as 10:00");
    }
    status = take_time_of_day(cursor, &span_us);
    status = status < 0 ? status : take_zone(cursor, &ahead_us);
    status = status < 0 ? status : take_end(cursor);
    if (status < 0) {
        return status;
    }
    *at_us_out = day_us + span_us - ahead_us;
    return FIRN_OK;
}

/* Digits up to where they end. A number too large for an int64_t stays at INT64_MAX. */
static int64_t take_number(struct cursor *cursor)
{
    int64_t number = 0;
    for (; is_digit(*cursor->at); cursor->at++) {
        const int digit = *cursor->at - '0';
        number = number > (INT64_MAX - digit) / 10 ? INT64_MAX : number * 10 + digit;
    }
    return number;
}

static int parse_unix_ms(struct cursor *cursor, int64_t *at_us_out)
{
    const char *start = cursor->at;
    const int64_t number_ms = take_number(cursor);
    if (number_ms >= END_US / MILLISECOND_US) {
        const int32_t offset = offset_of(cursor, start);
        return firn__error(cursor->error_out, FIRN_E_TIME_RANGE, offset,
                           "a number is Unix milliseconds, at most %" PRId64 ", the end of %d",
                           END_US / MILLISECOND_US - 1, YEAR_MAX);
    }
    *at_us_out = number_ms * MILLISECOND_US;
    return FIRN_OK;
}

/* Fails when the sum is no int64_t. */
static int shift(const struct cursor *cursor, int64_t from_us, int64_t span_us, int64_t *at_us_out)
{
    const bool fits = span_us < 0 ? from_us >= INT64_MIN - span_us : from_us <= INT64_MAX - span_us;
    if (!fits) {
        return refuse_range(cursor, cursor->text);
    }
    *at_us_out = from_us + span_us;
    return FIRN_OK;
}

/* ms stands before m, which it begins with. */
static const struct unit {
    const char *name;
    int64_t size_us;
} units[] = {
    {"ms", MILLISECOND_US}, {"s", SECOND_US}, {"m", MINUTE_US},
    {"h", HOUR_US},         {"d", DAY_US},    {"w", 7 * DAY_US},
};

/* A number and its unit, such as 90s. */
static int take_span(struct cursor *cursor, int64_t *span_us_out)
{
    const char *start = cursor->at;
    if (!is_digit(*start)) {
        return refuse(cursor, "a number and its unit, such as 90s");
    }
    const int64_t number = take_number(cursor);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t name_size = strlen(units[i].name);
        if (strncmp(cursor->at, units[i].name, name_size) != 0) {
            continue;
        }
        cursor->at += name_size;
        if (number > INT64_MAX / units[i].size_us) {
            return refuse_range(cursor, start);
        }
        *span_us_out = number * units[i].size_us;
        return FIRN_OK;
    }
    return refuse(cursor, "a unit (ms, s, m, h, d or w); a number alone is Unix milliseconds");
}

/* A sign, a span, and the end. */
static int parse_offset(struct cursor *cursor, int64_t *at_us_out)
{
    int64_t span_us = 0;
    const bool back = *cursor->at == '-';
    cursor->at++;
    int status = take_span(cursor, &span_us);
    status = status < 0 ? status : take_end(cursor);
    if (status < 0) {
        return status;
    }
    return shift(cursor, cursor->now_us, back ? -span_us : span_us, at_us_out);
}

static int parse_ago(struct cursor *cursor, int64_t *at_us_out)
{
    static const char ago[] = " ago";
    int64_t span_us = 0;
    const int status = take_span(cursor, &span_us);
    if (status < 0) {
        return status;
    }
    for (const char *expected = ago; *expected != '\0'; expected++) {
        if (!take(cursor, *expected)) {
            return refuse(cursor, "' ago' after a span without a sign, as in 1h ago");
        }
    }
    if (*cursor->at != '\0') {
        return refuse(cursor, "the end");
    }
    return shift(cursor, cursor->now_us, -span_us, at_us_out);
}

static int parse_now(struct cursor *cursor, int64_t *at_us_out)
{
    if (*cursor->at == '+' || *cursor->at == '-') {
        return parse_offset(cursor, at_us_out);
    }
    *at_us_out = cursor->now_us;
    return *cursor->at == '\0' ? FIRN_OK : refuse(cursor, "the end, or an offset such as -30m");
}

static const struct day_word {
    const char *name;
    int64_t span_us;
} day_words[] = {{"today", 0}, {"yesterday", -DAY_US}, {"tomorrow", DAY_US}};

static bool take_word(struct cursor *cursor, const char *word)
{
    const size_t size = strlen(word);
    const bool taken = strncmp(cursor->at, word, size) == 0;
    cursor->at += taken ? size : 0;
    return taken;
}

static int parse_word(struct cursor *cursor, int64_t *at_us_out)
{
    if (take_word(cursor, "now")) {
        return parse_now(cursor, at_us_out);
    }
    for (size_t i = 0; i < sizeof day_words / sizeof day_words[0]; i++) {
        if (!take_word(cursor, day_words[i].name)) {
            continue;
        }
        int64_t midnight_us = 0;
        int status = take_end(cursor);
        status = status < 0 ? status
                            : shift(cursor, cursor->now_us,
                                    -floor_remainder(cursor->now_us, DAY_US), &midnight_us);
        return status < 0 ? status : shift(cursor, midnight_us, day_words[i].span_us, at_us_out);
    }
    return refuse(cursor, "a date such as 2026-10-14T10:00:00Z, Unix milliseconds, an offset such "
                          "as -1h, or now, today, yesterday or tomorrow");
}

/* The first byte, or the first after the digits, tells the forms apart. */
static int parse_any(struct cursor *cursor, int64_t *at_us_out)
{
    if (*cursor->at == '+' || *cursor->at == '-') {
        return parse_offset(cursor, at_us_out);
    }
    if (!is_digit(*cursor->at)) {
        return parse_word(cursor, at_us_out);
    }
    const size_t digits = strspn(cursor->at, "0123456789");
    const char next = cursor->at[digits];
    if (next == '\0') {
        return parse_unix_ms(cursor, at_us_out);
    }
    /* Four digits and anything but a unit were meant as a year, as in 2026/10/14. */
    if (next == '-' || (digits == 4 && strchr("msdhw", next) == NULL)) {
        return parse_date(cursor, at_us_out);
    }
    return parse_ago(cursor, at_us_out);
}

int firn_time_parse(const char *text, int64_t now_us, int64_t *at_us_out, firn_error *error_out)
{
    if (text == NULL || at_us_out == NULL) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "text and at_us_out must not be NULL");
    }
    struct cursor cursor = {.text = text, .at = text, .error_out = error_out, .now_us = now_us};
    int64_t at_us = 0;
    const int status = parse_any(&cursor, &at_us);
    if (status < 0) {
        return status;
    }
    if (at_us < 0 || at_us >= END_US) {
        return refuse_range(&cursor, text);
    }
    *at_us_out = at_us;
    return FIRN_OK;
}

int firn_time_format(int64_t at_us, int decimals, char *buf, size_t buf_size)
{
    static const int64_t units_us[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    if (buf == NULL || decimals < 0 || decimals > 6) {
        return FIRN_E_ARGUMENT;
    }
    const struct date date = date_of_day(floor_quotient(at_us, DAY_US));
    const int64_t span_us = floor_remainder(at_us, DAY_US);
    char text[FIRN_TIME_TEXT_SIZE];
    size_t size = (size_t)snprintf(text, sizeof text, "%s%04d-%02d-%02dT%02d:%02d:%02d",
                                   date.year < 0 ? "-" : (date.year > YEAR_MAX ? "+" : ""),
                                   date.year < 0 ? -date.year : date.year, date.month, date.day,
                                   (int)(span_us / HOUR_US), (int)(span_us / MINUTE_US % 60),
                                   (int)(span_us / SECOND_US % 60));
    if (decimals > 0) {
        size += (size_t)snprintf(text + size, sizeof text - size, ".%0*d", decimals,
                                 (int)(span_us % SECOND_US / units_us[decimals]));
    }
    if (buf_size < size + sizeof "Z") {
        return FIRN_E_BUFFER;
    }
    memcpy(buf, text, size);
    memcpy(buf + size, "Z", sizeof "Z");
    return FIRN_OK;
}
