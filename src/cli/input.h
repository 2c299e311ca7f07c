/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Reading what a person typed, strictly. Each reader returns true, or has complained in one line
 * that names the value and says what is allowed; its output is untouched then.
 */
#ifndef FIRN_CLI_INPUT_H
#define FIRN_CLI_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "firn/firn.h"

/* A form that is none of firn_form: decimal, negative decimal, or hex after 0x. */
#define FORM_ANY (-1)

/* what: the option, for the complaint. A whole decimal number from min to max. */
bool input_count(const char *what, const char *text, uint64_t min, uint64_t max,
                 uint64_t *count_out);

/* A number and a unit: ms, s, m, h or d. From 0 to max_ms. */
bool input_span_ms(const char *what, const char *text, int64_t max_ms, int64_t *span_ms_out);

/* As firn_time_parse(). */
bool input_time(const char *what, const char *text, int64_t now_us, int64_t *at_us_out);

/* As firn_layout_parse(). */
bool input_layout(const char *text, firn_layout *layout_out);

/* The name of a form; NULL gives FORM_ANY. */
bool input_form(const char *text, int *form_out);

/* "3" or "0-511". */
bool input_range(const char *what, const char *text, uint32_t *first_out, uint32_t *last_out);

/* An id. form: a firn_form or FORM_ANY. negative_out: it was typed as a negative number. */
bool input_id(const char *text, int form, uint64_t *id_out, bool *negative_out);

/* Now, in Unix microseconds. */
int64_t input_now_us(void);

#endif
