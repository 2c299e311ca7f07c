/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Instants and spans as text for people. Each writes into buf [TEXT_SIZE] and returns it. */
#ifndef FIRN_CLI_TEXT_H
#define FIRN_CLI_TEXT_H

#include <stdint.h>

#define TEXT_SIZE 64

/* As many decimals as a tick of this length can tell apart: 0, 3 or 6. */
int text_decimals(int64_t tick_ns);

/* RFC 3339, in UTC and in local time. */
char *text_utc(int64_t at_us, int decimals, char *buf);
char *text_local(int64_t at_us, int decimals, char *buf);

/* A positive span in its two largest units: "3 d 4 h", "1.5 s", "20 us". */
char *text_span(int64_t span_us, char *buf);

/* From now to an instant: "3 d 4 h ago", "in 2 h 5 min", "now". */
char *text_relative(int64_t at_us, int64_t now_us, char *buf);

/* The length of a tick: "1 ms". */
char *text_tick(int64_t tick_ns, char *buf);

#endif
