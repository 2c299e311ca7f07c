/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A JSON writer: commas, quotes and escapes. What is said is up to the commands. */
#include "cli/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "cli/output.h"
#include "cli/text.h"

/* The length of the UTF-8 character at text, 0 when there is none (RFC 3629, section 4). */
static size_t utf8_size(const unsigned char *text)
{
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t size;
    if (text[0] < 0x80) {
        return 1;
    }
    if (text[0] >= 0xc2 && text[0] <= 0xdf) {
        size = 2;
    } else if ((text[0] & 0xf0) == 0xe0) {
        size = 3;
        low = text[0] == 0xe0 ? 0xa0 : low;
        high = text[0] == 0xed ? 0x9f : high;
    } else if (text[0] >= 0xf0 && text[0] <= 0xf4) {
        size = 4;
        low = text[0] == 0xf0 ? 0x90 : low;
        high = text[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if (text[i] < low || text[i] > high) {
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return size;
}

static void quoted(const char *text)
{
    print("\"");
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        const size_t size = utf8_size(at);
        if (size == 0) {
            print("\\ufffd");
        } else if (*at == '"' || *at == '\\') {
            print("\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            print("\\u%04x", *at);
        } else {
            print("%.*s", (int)size, (const char *)at);
        }
        at += size == 0 ? 1 : size;
    }
    print("\"");
}

static void begin_value(struct json *json, const char *key)
{
    if (json->comma) {
        print(",");
    }
    json->comma = true;
    if (key != NULL) {
        quoted(key);
        print(":");
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    begin_value(json, key);
    print("%c", bracket);
    json->comma = false;
    json->depth++;
}

void json_close(struct json *json, char bracket)
{
    print("%c", bracket);
    json->comma = true;
    json->depth--;
    if (json->depth == 0) {
        print("\n");
        json->comma = false;
    }
}

void json_string(struct json *json, const char *key, const char *value)
{
    begin_value(json, key);
    quoted(value);
}

void json_id(struct json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    print("\"%" PRIu64 "\"", value);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    print("%" PRId64, value);
}

void json_real(struct json *json, const char *key, double value)
{
    begin_value(json, key);
    /* JSON has neither infinity nor NaN. */
    if (isfinite(value) != 0) {
        print("%.6g", value);
    } else {
        print("null");
    }
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    print("%s", value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    begin_value(json, key);
    print("null");
}

void json_time(struct json *json, const char *key, int64_t at_us, int decimals)
{
    char buf[TEXT_SIZE];
    json_string(json, key, text_utc(at_us, decimals, buf));
}
