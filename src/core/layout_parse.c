/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The text of a layout, read and written. The grammar is at the top of firn/layout.h; what a layout
 * can do is layout.c's. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/layout.h"
#include "firn/time.h"

#define FIELDS_MAX     5
#define TOTAL_BITS_MAX 64
/* 2200-01-01: an epoch beyond it is a slip of units. */
#define EPOCH_MAX_MS INT64_C(7258118400000)
/* 1973: below it, but for 0 itself, a number is taken for seconds by mistake. */
#define EPOCH_MIN_MS INT64_C(100000000000)
#define LIFE_MAX_US  (INT64_C(9223372036) * 1000000 * 1000)

#define SHOWN_SIZE 61

struct cursor {
    char shown[SHOWN_SIZE]; /* the text for messages: cut, and without control characters */
    const char *text;
    const char *at;
    firn_error *error_out;
};

static int32_t position(const struct cursor *cursor)
{
    return (int32_t)(cursor->at - cursor->text);
}

#define FIELD_LETTERS "tdwsx"

/* Where the width and the shift of one of FIELD_LETTERS live. */
static uint8_t *field_bits(firn_layout *layout, char letter, uint8_t **shift_out)
{
    switch (letter) {
    case 't':
        *shift_out = &layout->time_shift;
        return &layout->time_bits;
    case 'd':
        *shift_out = &layout->datacenter_shift;
        return &layout->datacenter_bits;
    case 'w':
        *shift_out = &layout->worker_shift;
        return &layout->worker_bits;
    case 's':
        *shift_out = &layout->sequence_shift;
        return &layout->sequence_bits;
    default:
        *shift_out = &layout->unknown_shift;
        return &layout->unknown_bits;
    }
}

/* Digits, at most digits_max of them. Returns how many were read. */
static unsigned read_digits(struct cursor *cursor, unsigned digits_max, uint64_t *number_out)
{
    unsigned digits = 0;
    uint64_t number = 0;
    while (digits < digits_max && *cursor->at >= '0' && *cursor->at <= '9') {
        number = number * 10 + (uint64_t)(*cursor->at - '0');
        cursor->at++;
        digits++;
    }
    *number_out = number;
    return digits;
}

static int read_field(struct cursor *cursor, firn_layout *layout, unsigned index)
{
    const char letter = *cursor->at;
    if (strchr(FIELD_LETTERS, letter) == NULL) {
        return firn__error(cursor->error_out, FIRN_E_LAYOUT_SYNTAX, position(cursor),
                           "layout '%s': at character %d: expected a field (t, d, w, s or x and "
                           "its number of bits), '/' and a tick, or '@' and an epoch, as in "
                           "t41w10s12@2025-01-01",
                           cursor->shown, position(cursor) + 1);
    }
    if ((index == 0) != (letter == 't')) {
        return firn__error(cursor->error_out, FIRN_E_LAYOUT_SYNTAX, position(cursor),
                           "layout '%s': the time field (t) comes first, and once", cursor->shown);
    }
    uint8_t *shift;
    uint8_t *bits = field_bits(layout, letter, &shift);
    if (*bits != 0) {
        return firn__error(cursor->error_out, FIRN_E_LAYOUT_SYNTAX, position(cursor),
                           "layout '%s': the field %c stands twice", cursor->shown, letter);
    }
    cursor->at++;
    uint64_t number;
    const unsigned digits = read_digits(cursor, 3, &number);
    if (digits == 0 || number == 0 || number > TOTAL_BITS_MAX) {
        return firn__error(
            cursor->error_out, digits == 0 ? FIRN_E_LAYOUT_SYNTAX : FIRN_E_LAYOUT_BITS,
            position(cursor), "layout '%s': the field %c needs a number of bits from 1 to 64",
            cursor->shown, letter);
    }
    *bits = (uint8_t)number;
    layout->order[index] = (uint8_t)letter;
    return FIRN_OK;
}

static int check_bits(const struct cursor *cursor, const firn_layout *layout)
{
    const unsigned total = (unsigned)layout->time_bits + layout->datacenter_bits +
                           layout->worker_bits + layout->sequence_bits + layout->unknown_bits;
    if (total > TOTAL_BITS_MAX) {
        return firn__error(cursor->error_out, FIRN_E_LAYOUT_BITS, FIRN__NO_POSITION,
                           "layout '%s': its fields add up to %u bits, and an id has 64: take "
                           "%u away",
                           cursor->shown, total, total - TOTAL_BITS_MAX);
    }
    if (firn__worker_number_bits(layout) > FIRN__WORKER_BITS_MAX) {
        return firn__error(cursor->error_out, FIRN_E_LAYOUT_BITS, FIRN__NO_POSITION,
                           "layout '%s': the worker number (d and w) has %u bits; at most %d "
                           "are allowed",
                           cursor->shown, firn__worker_number_bits(layout), FIRN__WORKER_BITS_MAX);
    }
    return FIRN_OK;
}

static void place_fields(firn_layout *layout)
{
    unsigned shift = 0;
    for (size_t i = strlen((const char *)layout->order); i > 0; i--) {
        uint8_t *field_shift;
        const uint8_t *bits = field_bits(layout, (char)layout->order[i - 1], &field_shift);
        *field_shift = (uint8_t)shift;
        shift += *bits;
    }
}

static int read_fields(struct cursor *cursor, firn_layout *layout)
{
    unsigned index = 0;
    while (*cursor->at != '/' && *cursor->at != '@' && *cursor->at != '\0') {
        if (index == FIELDS_MAX) {
            return firn__error(cursor->error_out, FIRN_E_LAYOUT_SYNTAX, position(cursor),
                               "layout '%s': at character %d: more than the five fields "
                               "t, d, w, s and x",
                               cursor->shown, position(cursor) + 1);
        }
        const int status = read_field(cursor, layout, index);
        if (status < 0) {
            return status;
        }
        index++;
    }
    if (index == 0) {
        return firn__error(cursor->error_out, FIRN_E_LAYOUT_SYNTAX, position(cursor),
                           "layout '%s': no fields: write it like t41w10s12@2025-01-01, or name "
                           "a preset such as twitter",
                           cursor->shown);
    }
    const int status = check_bits(cursor, layout);
    if (status == FIRN_OK) {
        place_fields(layout);
    }
    return status;
}

static const struct tick_unit {
    const char *name;
    int64_t size_ns;
} tick_units[] = {{"us", 1000}, {"ms", 1000000}, {"s", FIRN__SECOND_NS}};

static int read_tick(struct cursor *cursor, firn_layout *layout)
{
    layout->tick_ns = 1000000;
    if (*cursor->at != '/') {
        return FIRN_OK;
    }
    cursor->at++;
    uint64_t number;
    const unsigned digits = read_digits(cursor, 7, &number);
    for (size_t i = 0; digits != 0 && i < sizeof tick_units / sizeof tick_units[0]; i++) {
        const size_t name_size = strlen(tick_units[i].name);
        if (strncmp(cursor->at, tick_units[i].name, name_size) != 0) {
            continue;
        }
        cursor->at += name_size;
        layout->tick_ns = (int64_t)number * tick_units[i].size_ns;
        if (layout->tick_ns < FIRN__TICK_MIN_NS || layout->tick_ns > FIRN__SECOND_NS ||
            FIRN__SECOND_NS % layout->tick_ns != 0) {
            return firn__error(cursor->error_out, FIRN_E_LAYOUT_TICK, position(cursor),
                               "layout '%s': a tick is 1us to 1s and divides one second "
                               "evenly, such as 1us, 1ms, 10ms or 1s",
                               cursor->shown);
        }
        return FIRN_OK;
    }
    return firn__error(cursor->error_out, FIRN_E_LAYOUT_SYNTAX, position(cursor),
                       "layout '%s': at character %d: expected a tick such as 1us, 10ms or 1s",
                       cursor->shown, position(cursor) + 1);
}

static int epoch_error(const struct cursor *cursor, const char *why)
{
    return firn__error(cursor->error_out, FIRN_E_LAYOUT_EPOCH, position(cursor),
                       "layout '%s': the epoch %s: write a date such as 2025-01-01, or Unix "
                       "milliseconds such as 1735689600000",
                       cursor->shown, why);
}

/* A number is Unix milliseconds; firn_time_parse() would refuse 0 and small ones. */
static int read_epoch_number(struct cursor *cursor, firn_layout *layout)
{
    uint64_t number;
    (void)read_digits(cursor, 18, &number);
    if (*cursor->at != '\0' || number > (uint64_t)EPOCH_MAX_MS) {
        return epoch_error(cursor, "is outside 1970 to 2200");
    }
    if (number != 0 && number < (uint64_t)EPOCH_MIN_MS) {
        return epoch_error(cursor, "looks like seconds");
    }
    layout->epoch_ms = (int64_t)number;
    return FIRN_OK;
}

static int read_epoch(struct cursor *cursor, firn_layout *layout)
{
    layout->epoch_ms = FIRN__EPOCH_DEFAULT_MS;
    if (*cursor->at == '\0') {
        return FIRN_OK;
    }
    if (*cursor->at != '@') {
        return firn__error(cursor->error_out, FIRN_E_LAYOUT_SYNTAX, position(cursor),
                           "layout '%s': at character %d: expected '@' and an epoch, or the end",
                           cursor->shown, position(cursor) + 1);
    }
    cursor->at++;
    if (cursor->at[0] != '\0' && strspn(cursor->at, "0123456789") == strlen(cursor->at)) {
        return read_epoch_number(cursor, layout);
    }
    /* Only dates: words such as "now" would give another layout each time they are read. */
    int64_t at_us;
    if (cursor->at[0] < '0' || cursor->at[0] > '9' ||
        firn_time_parse(cursor->at, 0, &at_us, NULL) < 0) {
        return epoch_error(cursor, "is no date");
    }
    if (at_us % 1000 != 0) {
        return epoch_error(cursor, "is finer than a millisecond");
    }
    if (at_us / 1000 > EPOCH_MAX_MS) {
        return epoch_error(cursor, "is outside 1970 to 2200");
    }
    layout->epoch_ms = at_us / 1000;
    return FIRN_OK;
}

/* So that every tick has an instant in microseconds that an int64_t holds. */
static int check_life(const struct cursor *cursor, const firn_layout *layout)
{
    const uint64_t room_us = (uint64_t)(LIFE_MAX_US - layout->epoch_ms * 1000);
    const uint64_t ticks = room_us / (uint64_t)(layout->tick_ns / 1000);
    if (firn__tick_last(layout) < ticks) {
        return FIRN_OK;
    }
    return firn__error(cursor->error_out, FIRN_E_LAYOUT_LIFE, FIRN__NO_POSITION,
                       "layout '%s': %u bits of time reach beyond the year 294246: take fewer, "
                       "or a shorter tick",
                       cursor->shown, layout->time_bits);
}

static void show(const char *text, char shown[SHOWN_SIZE])
{
    size_t i = 0;
    for (; i < SHOWN_SIZE - 1 && text[i] != '\0'; i++) {
        const bool printable = text[i] >= ' ' && text[i] <= '~';
        shown[i] = (char)(printable ? text[i] : '?');
    }
    shown[i] = '\0';
}

int firn_layout_parse(const char *text, firn_layout *layout_out, firn_error *error_out)
{
    if (text == NULL || layout_out == NULL) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    const firn_preset *preset = firn_preset_find(text);
    if (preset != NULL) {
        text = preset->layout;
    }
    struct cursor cursor = {.text = text, .at = text, .error_out = error_out};
    show(text, cursor.shown);
    firn_layout layout = {0};
    int status = read_fields(&cursor, &layout);
    status = status < 0 ? status : read_tick(&cursor, &layout);
    status = status < 0 ? status : read_epoch(&cursor, &layout);
    status = status < 0 ? status : check_life(&cursor, &layout);
    if (status == FIRN_OK) {
        *layout_out = layout;
    }
    return status;
}

/* The tick in its largest whole unit; nothing for the usual 1 ms. */
static void format_tick(int64_t tick_ns, char *buf, size_t buf_size)
{
    buf[0] = '\0';
    for (size_t i = sizeof tick_units / sizeof tick_units[0]; tick_ns != 1000000 && i > 0; i--) {
        if (tick_ns % tick_units[i - 1].size_ns == 0) {
            (void)snprintf(buf, buf_size, "/%" PRId64 "%s", tick_ns / tick_units[i - 1].size_ns,
                           tick_units[i - 1].name);
            return;
        }
    }
}

/* A date when the epoch is a midnight, else Unix milliseconds, or an instant when that number would
 * be taken for seconds. */
static void format_epoch(int64_t epoch_ms, char *buf, size_t buf_size)
{
    char date[FIRN_TIME_TEXT_SIZE];
    (void)firn_time_format(epoch_ms * 1000, 3, date, sizeof date);
    if (epoch_ms != 0 && epoch_ms % 86400000 == 0) {
        (void)snprintf(buf, buf_size, "@%.10s", date);
    } else if (epoch_ms != 0 && epoch_ms < EPOCH_MIN_MS) {
        (void)snprintf(buf, buf_size, "@%s", date);
    } else {
        (void)snprintf(buf, buf_size, "@%" PRId64, epoch_ms);
    }
}

int firn_layout_format(const firn_layout *layout, char *buf, size_t buf_size)
{
    if (layout == NULL || buf == NULL) {
        return FIRN_E_ARGUMENT;
    }
    char text[FIRN_LAYOUT_TEXT_SIZE * 2];
    char tick[32];
    char epoch[FIRN_TIME_TEXT_SIZE + 1];
    size_t size = 0;
    firn_layout copy = *layout;
    for (size_t i = 0; i < FIELDS_MAX && copy.order[i] != 0; i++) {
        uint8_t *shift;
        const uint8_t *bits = field_bits(&copy, (char)copy.order[i], &shift);
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%c%u", (char)copy.order[i], *bits);
    }
    format_tick(layout->tick_ns, tick, sizeof tick);
    format_epoch(layout->epoch_ms, epoch, sizeof epoch);
    size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", tick, epoch);
    if (size >= buf_size) {
        return FIRN_E_BUFFER;
    }
    memcpy(buf, text, size + 1);
    return FIRN_OK;
}
