/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A user's program that brings its own worker numbers: the core alone. It is compiled as C99, as
 * C11 and as C++11. */
#include <firn/codec.h>
#include <firn/generator.h>
#include <firn/layout.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    firn_layout layout;
    firn_generator generator;
    firn_fields fields;
    firn_error error;
    uint64_t id = 0;
    uint64_t next = 0;
    char text[FIRN_TEXT_SIZE];
    if (strcmp(firn_version(), FIRN_VERSION) != 0) {
        fprintf(stderr, "header %s, library %s\n", FIRN_VERSION, firn_version());
        return 1;
    }
    if (firn_layout_parse(FIRN_LAYOUT_DEFAULT, &layout, &error) != FIRN_OK ||
        firn_generator_init(&generator, &layout, 7, NULL, &error) != FIRN_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (firn_generator_next(&generator, &id) != FIRN_OK ||
        firn_generator_wait(&generator, INT64_C(1000000000), &next) != FIRN_OK || next <= id) {
        fprintf(stderr, "no two ids in order\n");
        return 1;
    }
    if (firn_layout_decompose(&layout, id, &fields) != FIRN_OK || fields.worker != 7 ||
        firn_encode(FIRN_BASE32, id, text, sizeof text) != FIRN_OK || strlen(text) != 13) {
        fprintf(stderr, "the id does not read back\n");
        return 1;
    }
    return 0;
}
