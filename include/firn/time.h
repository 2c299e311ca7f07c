/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Instants and their text. An instant is an int64_t of Unix microseconds, UTC, without leap
 * seconds; that spans the years -290308 to 294247, more than any layout.
 *
 *     int64_t at_us;
 *     firn_time_parse("2026-10-14T10:00:00.123Z", 0, &at_us, NULL);
 *     char text[FIRN_TIME_TEXT_SIZE];
 *     firn_time_format(at_us, 3, text, sizeof text);
 *
 * It knows no time zones by name and never reads a clock: what "now" is, is an argument.
 */
#ifndef FIRN_TIME_H
#define FIRN_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "firn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for any text of firn_time_format(), with its final NUL. */
#define FIRN_TIME_TEXT_SIZE 40

/*
 * Read an instant.
 *
 * text       one of
 *              2026-10-14                            midnight UTC
 *              2026-10-14T10:00, …:00:00, …:00.123   'T', 't' or a blank; up to 9 decimals
 *              … with Z, z, +05:30, -0800 or +05     without one, UTC
 *              1791972000123                         Unix milliseconds, 1970 to 9999
 *              now, today, yesterday, tomorrow       the last three at midnight UTC
 *              -90s, -1h, +2d, 1h ago, now-30m       ms, s, m, h, d, w; from now_us
 *            A second of 60 (a leap second) is read as the last instant before the next minute.
 * now_us     what the words and offsets count from.
 * at_us_out  [1] the instant; decimals beyond microseconds are cut (towards the past).
 * error_out  [1] or NULL; what was wrong and where.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        text or at_us_out is NULL
 *            FIRN_E_TIME_SYNTAX     not one of these forms, or no such date
 *            FIRN_E_TIME_RANGE      outside the years 1970 to 9999
 * Threads    safe.
 * Source     RFC 3339, ISO 8601.
 * Since      0.1
 */
FIRN_API int firn_time_parse(const char *text, int64_t now_us, int64_t *at_us_out,
                             firn_error *error_out);

/*
 * Write an instant as RFC 3339 in UTC, such as 2026-10-14T10:00:00.123Z.
 *
 * at_us      the instant. Years outside 0 to 9999 get a sign, and as many digits as they need.
 * decimals   digits after the second, 0 to 6; the rest is cut, never rounded.
 * buf        [buf_size]; FIRN_TIME_TEXT_SIZE is always enough.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        buf is NULL, or decimals is not 0 to 6
 *            FIRN_E_BUFFER          buf is too small
 * Threads    safe.
 * Source     RFC 3339.
 * Since      0.1
 */
FIRN_API int firn_time_format(int64_t at_us, int decimals, char *buf, size_t buf_size);

#ifdef __cplusplus
}
#endif

#endif
