/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* How an error shows one byte of what it was given: nothing a terminal would act on. */
#ifndef FIRN_CORE_QUOTE_H
#define FIRN_CORE_QUOTE_H

#include <stdio.h>

/* A byte in single quotes, or as "byte 0xNN" when it is not printable ASCII. */
typedef struct firn__quoted {
    char text[12];
} firn__quoted;

static inline firn__quoted firn__quote(char character)
{
    const unsigned byte = (unsigned char)character;
    firn__quoted quoted;
    if (byte > 0x20 && byte < 0x7f) {
        (void)snprintf(quoted.text, sizeof quoted.text, "'%c'", character);
    } else if (byte == 0x20) {
        (void)snprintf(quoted.text, sizeof quoted.text, "a blank");
    } else {
        (void)snprintf(quoted.text, sizeof quoted.text, "byte 0x%02X", byte);
    }
    return quoted;
}

#endif
