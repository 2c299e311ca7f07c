/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* How the library fills in a firn_error. */
#ifndef FIRN_CORE_ERROR_H
#define FIRN_CORE_ERROR_H

#include "firn/status.h"

#define FIRN__NO_POSITION (-1)

/*
 * Says what went wrong. format may be NULL: the status's own sentence and hint are used.
 *
 * Returns    status, so that callers can `return firn__error(…)`. error_out may be NULL.
 */
__attribute__((format(printf, 4, 5))) int firn__error(firn_error *error_out, int status,
                                                      int32_t position, const char *format, ...);

/* Copies a text for people. One that is too long is cut, but never inside a UTF-8 character. */
void firn__text_copy(char *buf, size_t buf_size, const char *text);

#endif
