/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Every input is read in every form, and its first 8 bytes are written in every form. What is read
 * must be written as the same text, up to case and look-alikes; what is written must read back. */
#include "firn/codec.h"

#include <stdbool.h>

#include "fuzz.h"

#define UNTOUCHED UINT64_C(0x5aa5c33c0ff0f00f)

/* The one text among those that mean the same. */
static char canonical(int form, char character)
{
    if (form == FIRN_HEX && character >= 'A' && character <= 'F') {
        return (char)(character - 'A' + 'a');
    }
    if (form == FIRN_BASE32) {
        if (character >= 'a' && character <= 'z') {
            character = (char)(character - 'a' + 'A');
        }
        if (character == 'O') {
            return '0';
        }
        if (character == 'I' || character == 'L') {
            return '1';
        }
    }
    return character;
}

static void check_refusal(int status, size_t text_size, const firn_error *error)
{
    REQUIRE(status == FIRN_E_TEXT_LENGTH || status == FIRN_E_TEXT_ALPHABET ||
            status == FIRN_E_TEXT_OVERFLOW);
    REQUIRE(error->status == status);
    REQUIRE(error->position >= 0 && (size_t)error->position <= text_size);
    REQUIRE(error->text[0] != '\0');
    for (const char *at = error->text; *at != '\0'; at++) {
        REQUIRE(*at >= 0x20 && *at < 0x7f);
    }
}

static void check_decode(int form, const char *text, size_t text_size)
{
    uint64_t id = UNTOUCHED;
    firn_error error = {0};
    const int status = firn_decode(form, text, text_size, &id, &error);
    if (status != FIRN_OK) {
        REQUIRE(id == UNTOUCHED);
        check_refusal(status, text_size, &error);
        return;
    }
    char back[FIRN_TEXT_SIZE];
    REQUIRE(firn_encode(form, id, back, sizeof back) == FIRN_OK);
    REQUIRE(strlen(back) == text_size);
    for (size_t i = 0; i < text_size; i++) {
        REQUIRE(back[i] == canonical(form, text[i]));
    }
}

static void check_encode(int form, uint64_t id)
{
    char text[FIRN_TEXT_SIZE];
    uint64_t back = ~id;
    REQUIRE(firn_encode(form, id, text, sizeof text) == FIRN_OK);
    REQUIRE(firn_decode(form, text, strlen(text), &back, NULL) == FIRN_OK);
    REQUIRE(back == id);
    char small[FIRN_TEXT_SIZE] = "#";
    REQUIRE(firn_encode(form, id, small, strlen(text)) == FIRN_E_BUFFER);
    REQUIRE(small[0] == '#');
}

static void check_order(int form, uint64_t a, uint64_t b)
{
    char text_a[FIRN_TEXT_SIZE];
    char text_b[FIRN_TEXT_SIZE];
    REQUIRE(firn_encode(form, a, text_a, sizeof text_a) == FIRN_OK);
    REQUIRE(firn_encode(form, b, text_b, sizeof text_b) == FIRN_OK);
    const int order = strcmp(text_a, text_b);
    REQUIRE((order > 0) - (order < 0) == (a > b) - (a < b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    const uint64_t id = fuzz_number(data, size);
    const uint64_t other = size > 8 ? fuzz_number(data + 8, size - 8) : id + 1;
    for (int form = 0; firn_form_name(form) != NULL; form++) {
        check_decode(form, text, size);
        check_encode(form, id);
        if (form != FIRN_DECIMAL) {
            check_order(form, id, other);
        }
    }
    free(text);
    return 0;
}
