/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Texts of a 64-bit id. Each form both ways, strictly.
 *
 *     char text[FIRN_TEXT_SIZE];
 *     uint64_t id;
 *     firn_encode(FIRN_BASE32, 236065495965528067u, text, sizeof text);
 *     firn_decode(FIRN_BASE32, text, strlen(text), &id, NULL);
 *
 * | form           | length    | alphabet                                    | sorts as numbers do
 * |
 * |----------------|-----------|---------------------------------------------|---------------------|
 * | FIRN_DECIMAL   | 1 to 20   | 0-9, no sign, no leading zero               | no | |
 * FIRN_DECIMAL20 | 20        | 0-9, zeros in front                         | yes                 |
 * | FIRN_HEX       | 16        | 0-9a-f; either case is read                 | yes | | FIRN_BASE32
 * | 13        | Crockford's: 0-9A-Z without I L O U; reads  | yes                 | | |           |
 * either case, I and L as 1, O as 0, never U  |                     | | FIRN_BASE62    | 11 |
 * 0-9A-Za-z                                   | yes (bytewise)      | | FIRN_BASE58    | 11 |
 * Bitcoin's: 1-9A-Za-z without I O l          | yes (bytewise)      |
 *
 * It does not guess which form a text has, trims nothing, and skips no hyphens.
 */
#ifndef FIRN_CODEC_H
#define FIRN_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "firn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_form {
    FIRN_DECIMAL = 0,
    FIRN_DECIMAL20 = 1,
    FIRN_HEX = 2,
    FIRN_BASE32 = 3,
    FIRN_BASE62 = 4,
    FIRN_BASE58 = 5
} firn_form;

/* Room for the longest text, with its final NUL. */
#define FIRN_TEXT_SIZE 21

/*
 * Write an id as text, with a final NUL.
 *
 * form       one of firn_form.
 * buf        [buf_size]; FIRN_TEXT_SIZE is always enough.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        buf is NULL, or form is none of firn_form
 *            FIRN_E_BUFFER          buf is too small
 * Threads    safe.
 * Cost       about the cost of a clock read (bench: firn bench); no allocation.
 * Since      0.1
 */
FIRN_API int firn_encode(int form, uint64_t id, char *buf, size_t buf_size);

/*
 * Read an id from text: the whole of it, or nothing.
 *
 * form       one of firn_form.
 * text       [text_size] bytes; a final NUL is not needed and is not part of it.
 * id_out     [1] the id.
 * error_out  [1] or NULL; its position is the offset of the first wrong byte, or of the end when
 *            the text is too short.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        text or id_out is NULL, or form is none of firn_form
 *            FIRN_E_TEXT_LENGTH     empty, shorter or longer than the form
 *            FIRN_E_TEXT_ALPHABET   a byte that the form does not use; a leading zero in DECIMAL
 *            FIRN_E_TEXT_OVERFLOW   above 2^64 - 1
 * Threads    safe.
 * Source     Crockford, "Base 32" (look-alikes); the Bitcoin base58 alphabet.
 * Since      0.1
 */
FIRN_API int firn_decode(int form, const char *text, size_t text_size, uint64_t *id_out,
                         firn_error *error_out);

/*
 * The form with a name: "decimal", "decimal20", "hex", "base32", "base62", "base58".
 *
 * form_out   [1] the form.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        name or form_out is NULL, or there is no such form
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_form_find(const char *name, int *form_out);

/*
 * The name of a form.
 *
 * Returns    a constant string; NULL when form is none of firn_form. Counting up from 0 until NULL
 *            lists them all.
 * Threads    safe.
 * Since      0.1
 */
FIRN_API const char *firn_form_name(int form);

#ifdef __cplusplus
}
#endif

#endif
