/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* What the fuzzers share: libFuzzer's entry point, and a check that no build leaves out. */
#ifndef FIRN_TESTS_FUZZ_FUZZ_H
#define FIRN_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The first 8 bytes of an input as a number; fewer count as if zeros stood before them. */
static inline uint64_t fuzz_number(const uint8_t *data, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size && i < 8; i++) {
        number = number << 8 | data[i];
    }
    return number;
}

/* The input as a text of its own, so that a sanitizer sees each read past its end. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    REQUIRE(text != NULL);
    if (size != 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

#endif
