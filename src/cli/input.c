/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Strict readers of numbers, spans, times, layouts and ids, on top of the library's own. */
#include "cli/input.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/output.h"

#define NS_PER_US 1000
#define US_PER_S  1000000

static bool all_digits(const char *text)
{
    if (text[0] == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (isdigit((unsigned char)*text) == 0) {
            return false;
        }
    }
    return true;
}

/* strtoull() alone would also take a sign, blanks and 0x. */
static bool digits_value(const char *text, uint64_t *value_out)
{
    if (!all_digits(text)) {
        return false;
    }
    errno = 0;
    const unsigned long long value = strtoull(text, NULL, 10);
    if (errno != 0) {
        return false;
    }
    *value_out = value;
    return true;
}

bool input_count(const char *what, const char *text, uint64_t min, uint64_t max,
                 uint64_t *count_out)
{
    uint64_t value = 0;
    const bool fits = digits_value(text, &value);
    if (fits && value >= min && value <= max) {
        *count_out = value;
        return true;
    }
    const char *reason = "is no whole number in digits";
    if (text[0] == '\0') {
        reason = "is empty";
    } else if (all_digits(text)) {
        reason = fits && value < min ? "is too small" : "is too large";
    }
    (void)complain(EXIT_USAGE, "%s: '%s' %s; allowed is %" PRIu64 " to %" PRIu64, what, text,
                   reason, min, max);
    return false;
}

struct span_unit {
    const char *name;
    int64_t ms;
};

static const struct span_unit span_units[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static int64_t unit_ms(const char *name)
{
    for (size_t i = 0; i < sizeof span_units / sizeof span_units[0]; i++) {
        if (strcmp(span_units[i].name, name) == 0) {
            return span_units[i].ms;
        }
    }
    return 0;
}

bool input_span_ms(const char *what, const char *text, int64_t max_ms, int64_t *span_ms_out)
{
    char digits[20];
    const size_t size = strspn(text, "0123456789");
    const int64_t unit = unit_ms(text + size);
    uint64_t value = 0;
    if (size > 0 && size < sizeof digits && unit > 0) {
        memcpy(digits, text, size);
        digits[size] = '\0';
        if (digits_value(digits, &value) && value <= (uint64_t)(max_ms / unit)) {
            *span_ms_out = (int64_t)value * unit;
            return true;
        }
    }
    (void)complain(EXIT_USAGE,
                   "%s '%s': not a length of time; write a whole number and a unit (ms, s, m, h or "
                   "d), such as 500ms or 10s, %" PRId64 "s at most",
                   what, text, max_ms / 1000);
    return false;
}

bool input_time(const char *what, const char *text, int64_t now_us, int64_t *at_us_out)
{
    firn_error error;
    if (firn_time_parse(text, now_us, at_us_out, &error) < 0) {
        (void)complain(EXIT_USAGE, "%s '%s': %s", what, text, error.text);
        return false;
    }
    return true;
}

bool input_layout(const char *text, firn_layout *layout_out)
{
    firn_error error;
    if (firn_layout_parse(text, layout_out, &error) < 0) {
        (void)complain_error(&error);
        return false;
    }
    return true;
}

bool input_form(const char *text, int *form_out)
{
    if (text == NULL) {
        *form_out = FORM_ANY;
        return true;
    }
    if (firn_form_find(text, form_out) == FIRN_OK) {
        return true;
    }
    char names[128];
    size_t used = 0;
    names[0] = '\0';
    for (int form = 0; firn_form_name(form) != NULL && used < sizeof names; form++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", form > 0 ? ", " : "",
                                 firn_form_name(form));
    }
    (void)complain(EXIT_USAGE, "--format '%s': no such form; use one of %s", text, names);
    return false;
}

bool input_range(const char *what, const char *text, uint32_t *first_out, uint32_t *last_out)
{
    char first_text[12];
    const size_t size = strcspn(text, "-");
    const char *last_text = text[size] == '-' ? text + size + 1 : text;
    uint64_t first = 0;
    uint64_t last = 0;
    if (size < sizeof first_text) {
        memcpy(first_text, text, size);
        first_text[size] = '\0';
        if (digits_value(first_text, &first) && digits_value(last_text, &last) && first <= last &&
            last < UINT32_MAX) {
            *first_out = (uint32_t)first;
            *last_out = (uint32_t)last;
            return true;
        }
    }
    (void)complain(EXIT_USAGE,
                   "%s '%s': not a range of workers; write the first and the last, such as 0-511",
                   what, text);
    return false;
}

static bool complain_id(const char *text, const char *reason)
{
    (void)complain(EXIT_FINDING, "'%s': %s", text, reason);
    return false;
}

/* Negative numbers are what a signed 64-bit column shows for ids from 2^63 on. */
static bool negative_id(const char *text, uint64_t *id_out)
{
    uint64_t value = 0;
    if (!all_digits(text + 1)) {
        return complain_id(text, "not a number; an id is 0 to 18446744073709551615");
    }
    if (!digits_value(text + 1, &value) || value > (uint64_t)1 << 63) {
        return complain_id(text, "below -9223372036854775808, which no 64-bit column can hold");
    }
    *id_out = 0 - value;
    return true;
}

static bool hex_id(const char *text, uint64_t *id_out)
{
    const char *digits = text + 2;
    const size_t size = strlen(digits);
    if (size == 0 || size > 16 || strspn(digits, "0123456789abcdefABCDEF") != size) {
        return complain_id(text, "not a hex id; write 0x and 1 to 16 hex digits");
    }
    *id_out = strtoull(digits, NULL, 16);
    return true;
}

bool input_id(const char *text, int form, uint64_t *id_out, bool *negative_out)
{
    *negative_out = false;
    if (form == FORM_ANY && text[0] == '-') {
        *negative_out = true;
        return negative_id(text, id_out);
    }
    if (form == FORM_ANY && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        return hex_id(text, id_out);
    }
    firn_error error;
    const int decode_form = form == FORM_ANY ? FIRN_DECIMAL : form;
    if (firn_decode(decode_form, text, strlen(text), id_out, &error) < 0) {
        (void)complain(EXIT_FINDING, "'%s': %s%s", text, error.text,
                       form == FORM_ANY && error.status == FIRN_E_TEXT_ALPHABET
                           ? "; say which form with --format"
                           : "");
        return false;
    }
    return true;
}

int64_t input_now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / NS_PER_US;
}
