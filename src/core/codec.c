/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The texts of an id, from one table of forms. Which forms there are and why is said in
 * firn/codec.h; what an id means is the layout's. */
#include "firn/codec.h"

#include <stdbool.h>
#include <string.h>

#include "core/error.h"
#include "core/quote.h"

#define DECIMAL_SIZE 20
#define HEX_SIZE     16
#define BASE32_SIZE  13
#define BASE62_SIZE  11
#define BASE58_SIZE  11

#define BYTE_VALUES 256

_Static_assert(FIRN_TEXT_SIZE == DECIMAL_SIZE + 1, "decimal is the longest form");

static const char hex_digits[] = "0123456789abcdef";
static const char base32_digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const char base62_digits[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char base58_digits[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

static const char decimal_pairs[] = "00010203040506070809"
                                    "10111213141516171819"
                                    "20212223242526272829"
                                    "30313233343536373839"
                                    "40414243444546474849"
                                    "50515253545556575859"
                                    "60616263646566676869"
                                    "70717273747576777879"
                                    "80818283848586878889"
                                    "90919293949596979899";

/* What each byte is worth when read, plus one; 0 is a byte that the form does not use. */
static const uint8_t decimal_values[BYTE_VALUES] = {
    ['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5,
    ['5'] = 6, ['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
};

static const uint8_t hex_values[BYTE_VALUES] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static const uint8_t base32_values[BYTE_VALUES] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    ['G'] = 17, ['H'] = 18, ['J'] = 19, ['K'] = 20, ['M'] = 21, ['N'] = 22, ['P'] = 23, ['Q'] = 24,
    ['R'] = 25, ['S'] = 26, ['T'] = 27, ['V'] = 28, ['W'] = 29, ['X'] = 30, ['Y'] = 31, ['Z'] = 32,
    ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['g'] = 17, ['h'] = 18,
    ['j'] = 19, ['k'] = 20, ['m'] = 21, ['n'] = 22, ['p'] = 23, ['q'] = 24, ['r'] = 25, ['s'] = 26,
    ['t'] = 27, ['v'] = 28, ['w'] = 29, ['x'] = 30, ['y'] = 31, ['z'] = 32, ['O'] = 1,  ['o'] = 1,
    ['I'] = 2,  ['i'] = 2,  ['L'] = 2,  ['l'] = 2,
};

static const uint8_t base62_values[BYTE_VALUES] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    ['G'] = 17, ['H'] = 18, ['I'] = 19, ['J'] = 20, ['K'] = 21, ['L'] = 22, ['M'] = 23, ['N'] = 24,
    ['O'] = 25, ['P'] = 26, ['Q'] = 27, ['R'] = 28, ['S'] = 29, ['T'] = 30, ['U'] = 31, ['V'] = 32,
    ['W'] = 33, ['X'] = 34, ['Y'] = 35, ['Z'] = 36, ['a'] = 37, ['b'] = 38, ['c'] = 39, ['d'] = 40,
    ['e'] = 41, ['f'] = 42, ['g'] = 43, ['h'] = 44, ['i'] = 45, ['j'] = 46, ['k'] = 47, ['l'] = 48,
    ['m'] = 49, ['n'] = 50, ['o'] = 51, ['p'] = 52, ['q'] = 53, ['r'] = 54, ['s'] = 55, ['t'] = 56,
    ['u'] = 57, ['v'] = 58, ['w'] = 59, ['x'] = 60, ['y'] = 61, ['z'] = 62,
};

static const uint8_t base58_values[BYTE_VALUES] = {
    ['1'] = 1,  ['2'] = 2,  ['3'] = 3,  ['4'] = 4,  ['5'] = 5,  ['6'] = 6,  ['7'] = 7,  ['8'] = 8,
    ['9'] = 9,  ['A'] = 10, ['B'] = 11, ['C'] = 12, ['D'] = 13, ['E'] = 14, ['F'] = 15, ['G'] = 16,
    ['H'] = 17, ['J'] = 18, ['K'] = 19, ['L'] = 20, ['M'] = 21, ['N'] = 22, ['P'] = 23, ['Q'] = 24,
    ['R'] = 25, ['S'] = 26, ['T'] = 27, ['U'] = 28, ['V'] = 29, ['W'] = 30, ['X'] = 31, ['Y'] = 32,
    ['Z'] = 33, ['a'] = 34, ['b'] = 35, ['c'] = 36, ['d'] = 37, ['e'] = 38, ['f'] = 39, ['g'] = 40,
    ['h'] = 41, ['i'] = 42, ['j'] = 43, ['k'] = 44, ['m'] = 45, ['n'] = 46, ['o'] = 47, ['p'] = 48,
    ['q'] = 49, ['r'] = 50, ['s'] = 51, ['t'] = 52, ['u'] = 53, ['v'] = 54, ['w'] = 55, ['x'] = 56,
    ['y'] = 57, ['z'] = 58,
};

/* value is below 100. */
static inline void put_2(char *to, uint32_t value)
{
    memcpy(to, &decimal_pairs[(size_t)value * 2], 2);
}

/* value is below 10^4. */
static inline void put_4(char *to, uint32_t value)
{
    put_2(to, value / 100);
    put_2(to + 2, value % 100);
}

/* value is below 10^8. Its halves do not wait for each other, as a chain of divisions would. */
static inline void put_8(char *to, uint32_t value)
{
    put_4(to, value / 10000);
    put_4(to + 4, value % 10000);
}

static void encode_decimal20(uint64_t id, char *to)
{
    const uint64_t upper = id / 100000000;
    put_4(to, (uint32_t)(upper / 100000000));
    put_8(to + 4, (uint32_t)(upper % 100000000));
    put_8(to + 12, (uint32_t)(id % 100000000));
}

/* Inlined with constants, so that the divisions become multiplications. */
static inline void put_digits(char *to, size_t size, uint64_t id, const char *digits, uint64_t base)
{
    for (size_t i = size; i > 0; i--) {
        to[i - 1] = digits[id % base];
        id /= base;
    }
}

static void encode_hex(uint64_t id, char *to)
{
    put_digits(to, HEX_SIZE, id, hex_digits, 16);
}

static void encode_base32(uint64_t id, char *to)
{
    put_digits(to, BASE32_SIZE, id, base32_digits, 32);
}

static void encode_base62(uint64_t id, char *to)
{
    put_digits(to, BASE62_SIZE, id, base62_digits, 62);
}

static void encode_base58(uint64_t id, char *to)
{
    put_digits(to, BASE58_SIZE, id, base58_digits, 58);
}

struct form {
    const char *name;
    void (*encode)(uint64_t id, char *to); /* writes size_max bytes */
    const uint8_t *values;
    uint64_t base;
    size_t size_min;
    size_t size_max;
    uint64_t head_max; /* UINT64_MAX / base: what stands before the last digit is at most this */
    const char *allowed;
};

static const struct form forms[] = {
    [FIRN_DECIMAL] = {"decimal", encode_decimal20, decimal_values, 10, 1, DECIMAL_SIZE,
                      UINT64_MAX / 10, "0-9"},
    [FIRN_DECIMAL20] = {"decimal20", encode_decimal20, decimal_values, 10, DECIMAL_SIZE,
                        DECIMAL_SIZE, UINT64_MAX / 10, "0-9"},
    [FIRN_HEX] = {"hex", encode_hex, hex_values, 16, HEX_SIZE, HEX_SIZE, UINT64_MAX / 16,
                  "0-9 and a-f, in either case"},
    [FIRN_BASE32] = {"base32", encode_base32, base32_values, 32, BASE32_SIZE, BASE32_SIZE,
                     UINT64_MAX / 32,
                     "0-9 and A-Z without U, in either case; I and L are read as 1, O as 0"},
    [FIRN_BASE62] = {"base62", encode_base62, base62_values, 62, BASE62_SIZE, BASE62_SIZE,
                     UINT64_MAX / 62, "0-9, A-Z and a-z"},
    [FIRN_BASE58] = {"base58", encode_base58, base58_values, 58, BASE58_SIZE, BASE58_SIZE,
                     UINT64_MAX / 58, "1-9, A-Z without I and O, and a-z without l"},
};

#define FORM_COUNT ((int)(sizeof forms / sizeof forms[0]))

static const struct form *form_at(int form)
{
    return form >= 0 && form < FORM_COUNT ? &forms[form] : NULL;
}

/* How many zeros stand in front of a decimal's first digit; one digit always stays. */
static size_t leading_zeros(const char *digits)
{
    size_t count = 0;
    while (count < DECIMAL_SIZE - 1 && digits[count] == '0') {
        count++;
    }
    return count;
}

int firn_encode(int form, uint64_t id, char *buf, size_t buf_size)
{
    const struct form *row = form_at(form);
    if (buf == NULL || row == NULL) {
        return FIRN_E_ARGUMENT;
    }
    char text[FIRN_TEXT_SIZE];
    row->encode(id, text);
    const size_t skipped = form == FIRN_DECIMAL ? leading_zeros(text) : 0;
    const size_t size = row->size_max - skipped;
    if (buf_size <= size) {
        return FIRN_E_BUFFER;
    }
    memcpy(buf, text + skipped, size);
    buf[size] = '\0';
    return FIRN_OK;
}

#define ON(form)    (1u << (form))
#define ON_DECIMALS (ON(FIRN_DECIMAL) | ON(FIRN_DECIMAL20))
#define ON_ALL      (ON(FORM_COUNT) - 1)

/* What a person who typed one of these bytes probably needs to hear; the first that fits is said.
 */
static const struct hint {
    const char *bytes;
    unsigned forms;
    const char *text;
} hints[] = {
    {"-", ON_DECIMALS, "ids have no sign; for a negative BIGINT add 18446744073709551616"},
    {"+", ON_DECIMALS, "ids have no sign; leave the plus out"},
    {"-", ON_ALL, "hyphens are not skipped; take them out"},
    {" \t\r\n", ON_ALL, "nothing is trimmed; take blanks and line ends away"},
    {"xX", ON(FIRN_HEX), "write it without 0x"},
    {"uU", ON(FIRN_BASE32), "U stands for no digit"},
    {"0OIl", ON(FIRN_BASE58), "0, O, I and l are left out because they look alike"},
    {".eE", ON_DECIMALS, "a number that went through floating point may have lost its last digits"},
    {"abcdefABCDEF", ON(FIRN_DECIMAL), "it may be of the form hex"},
};

static const char *hint_find(int form, char character)
{
    for (size_t i = 0; character != '\0' && i < sizeof hints / sizeof hints[0]; i++) {
        if ((hints[i].forms & ON(form)) != 0 && strchr(hints[i].bytes, character) != NULL) {
            return hints[i].text;
        }
    }
    return "";
}

static int alphabet_error(int form, const char *text, size_t offset, firn_error *error_out)
{
    const firn__quoted quoted = firn__quote(text[offset]);
    const char *hint = hint_find(form, text[offset]);
    return firn__error(error_out, FIRN_E_TEXT_ALPHABET, (int32_t)offset,
                       "%s: %s at offset %zu is not allowed; allowed are %s%s%s", forms[form].name,
                       quoted.text, offset, forms[form].allowed, *hint == '\0' ? "" : "; ", hint);
}

static int length_error(const struct form *row, size_t size, firn_error *error_out)
{
    const size_t offset = size < row->size_max ? size : row->size_max;
    if (row->size_min == row->size_max) {
        return firn__error(error_out, FIRN_E_TEXT_LENGTH, (int32_t)offset,
                           "%s: the length given is %zu; it must be exactly %zu", row->name, size,
                           row->size_max);
    }
    return firn__error(error_out, FIRN_E_TEXT_LENGTH, (int32_t)offset,
                       "%s: the length given is %zu; it must be %zu to %zu", row->name, size,
                       row->size_min, row->size_max);
}

/* The first wrong byte is the first that differs from the largest text: it is above that one's. */
static int overflow_error(const struct form *row, const char *text, firn_error *error_out)
{
    char largest[FIRN_TEXT_SIZE];
    row->encode(UINT64_MAX, largest);
    size_t offset = 0;
    while (offset < row->size_max - 1 && row->values[(unsigned char)text[offset]] ==
                                             row->values[(unsigned char)largest[offset]]) {
        offset++;
    }
    return firn__error(error_out, FIRN_E_TEXT_OVERFLOW, (int32_t)offset,
                       "%s: too large from %s at offset %zu on; the largest is %.*s, which is "
                       "2^64 - 1",
                       row->name, firn__quote(text[offset]).text, offset, (int)row->size_max,
                       largest);
}

/* Reads at most size_max digits. Only the last of them can pass 2^64 - 1, in every form. Returns
 * the offset of the first byte that is no digit; text_size or size_max when there is none. */
static size_t read_digits(const struct form *row, const char *text, size_t text_size,
                          uint64_t *id_out, bool *overflow_out)
{
    const size_t size = text_size < row->size_max ? text_size : row->size_max;
    uint64_t id = 0;
    bool overflow = false;
    size_t i;
    for (i = 0; i < size; i++) {
        const unsigned value_and_one = row->values[(unsigned char)text[i]];
        if (value_and_one == 0) {
            break;
        }
        const uint64_t digit = value_and_one - 1;
        overflow = id > row->head_max || digit > UINT64_MAX - id * row->base;
        id = id * row->base + digit;
    }
    *id_out = id;
    *overflow_out = overflow;
    return i;
}

int firn_decode(int form, const char *text, size_t text_size, uint64_t *id_out,
                firn_error *error_out)
{
    const struct form *row = form_at(form);
    if (row == NULL) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "form %d is none of firn_form, 0 to %d", form, FORM_COUNT - 1);
    }
    if (text == NULL || id_out == NULL) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "%s: text and id_out must not be NULL", row->name);
    }
    uint64_t id;
    bool overflow;
    const size_t size = read_digits(row, text, text_size, &id, &overflow);
    if (form == FIRN_DECIMAL && size > 1 && text[0] == '0') {
        return firn__error(error_out, FIRN_E_TEXT_ALPHABET, 0,
                           "decimal: '0' at offset 0 is a leading zero; take it away, or use the "
                           "form decimal20, which has them");
    }
    if (size < text_size && size < row->size_max) {
        return alphabet_error(form, text, size, error_out);
    }
    if (text_size < row->size_min || text_size > row->size_max) {
        return length_error(row, text_size, error_out);
    }
    if (overflow) {
        return overflow_error(row, text, error_out);
    }
    *id_out = id;
    return FIRN_OK;
}

int firn_form_find(const char *name, int *form_out)
{
    if (name == NULL || form_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    for (int form = 0; form < FORM_COUNT; form++) {
        if (strcmp(forms[form].name, name) == 0) {
            *form_out = form;
            return FIRN_OK;
        }
    }
    return FIRN_E_ARGUMENT;
}

const char *firn_form_name(int form)
{
    const struct form *row = form_at(form);
    return row == NULL ? NULL : row->name;
}
