/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Every input is read as a time at several nows, and its first 8 bytes are written as one. What is
 * read must be in the years promised and be written so that it reads back; a refusal writes
 * nothing. What the first bytes say must not depend on now unless the text is a word or an offset.
 */
#include "firn/time.h"

#include "fuzz.h"

#define UNTOUCHED_US INT64_C(-77)
#define END_US       INT64_C(253402300800000000)

static void check_refusal(int status, const char *text, const firn_error *error)
{
    REQUIRE(status == FIRN_E_TIME_SYNTAX || status == FIRN_E_TIME_RANGE);
    REQUIRE(error->status == status);
    REQUIRE(error->position >= 0 && (size_t)error->position <= strlen(text));
    REQUIRE(error->text[0] != '\0');
    for (const char *at = error->text; *at != '\0'; at++) {
        REQUIRE(*at >= 0x20 && *at < 0x7f);
    }
}

/* Returns the status; *at_us_out is UNTOUCHED_US when it failed. */
static int check_parse(const char *text, int64_t now_us, int64_t *at_us_out)
{
    firn_error error = {0};
    *at_us_out = UNTOUCHED_US;
    const int status = firn_time_parse(text, now_us, at_us_out, &error);
    if (status != FIRN_OK) {
        REQUIRE(*at_us_out == UNTOUCHED_US);
        check_refusal(status, text, &error);
        return status;
    }
    REQUIRE(*at_us_out >= 0 && *at_us_out < END_US);
    char back[FIRN_TIME_TEXT_SIZE];
    int64_t back_us = UNTOUCHED_US;
    REQUIRE(firn_time_format(*at_us_out, 6, back, sizeof back) == FIRN_OK);
    REQUIRE(firn_time_parse(back, ~now_us, &back_us, NULL) == FIRN_OK);
    REQUIRE(back_us == *at_us_out);
    return FIRN_OK;
}

/* A text of digits, or of a date, means the same at any time of reading. */
static int is_fixed(const char *text)
{
    return text[0] >= '0' && text[0] <= '9' && strstr(text, "ago") == NULL;
}

static void check_format(int64_t at_us)
{
    for (int decimals = 0; decimals <= 6; decimals++) {
        char text[FIRN_TIME_TEXT_SIZE];
        REQUIRE(firn_time_format(at_us, decimals, text, sizeof text) == FIRN_OK);
        char small[FIRN_TIME_TEXT_SIZE] = "#";
        REQUIRE(firn_time_format(at_us, decimals, small, strlen(text)) == FIRN_E_BUFFER);
        REQUIRE(small[0] == '#');
        int64_t back_us = UNTOUCHED_US;
        const int status = firn_time_parse(text, 0, &back_us, NULL);
        if (at_us < 0 || at_us >= END_US) {
            REQUIRE(status < 0 && back_us == UNTOUCHED_US);
        } else {
            REQUIRE(status == FIRN_OK && back_us <= at_us && at_us - back_us < 1000000);
            REQUIRE(decimals < 6 || back_us == at_us);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t nows_us[] = {0,     INT64_C(1791972000123456), INT64_MIN, INT64_MAX, -1,
                                      END_US};
    char *text = fuzz_text(data, size);
    int64_t first_us;
    const int first = check_parse(text, (int64_t)fuzz_number(data, size), &first_us);
    for (size_t i = 0; i < sizeof nows_us / sizeof nows_us[0]; i++) {
        int64_t at_us;
        const int status = check_parse(text, nows_us[i], &at_us);
        REQUIRE(!is_fixed(text) || (status == first && at_us == first_us));
        REQUIRE((status == FIRN_E_TIME_SYNTAX) == (first == FIRN_E_TIME_SYNTAX));
    }
    check_format((int64_t)fuzz_number(data, size));
    free(text);
    return 0;
}
