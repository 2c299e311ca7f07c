/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * JSON on standard output, written as it comes. Ids are always strings: a JSON number loses the low
 * digits of an id in most readers. key is NULL inside a list and for the outermost object.
 */
#ifndef FIRN_CLI_JSON_H
#define FIRN_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* Zero it first. */
struct json {
    bool comma;
    unsigned depth;
};

/* bracket is the one to write. Closing the outermost one also ends the line. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

void json_string(struct json *json, const char *key, const char *value);
void json_id(struct json *json, const char *key, uint64_t value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* An instant in RFC 3339. */
void json_time(struct json *json, const char *key, int64_t at_us, int decimals);

#endif
