/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The list of statuses: complete, without doubles, and fit to be shown to a person. That each one
 * is provoked somewhere is the business of the tests of whatever returns it. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/error.h"
#include "core/generator.h"
#include "firn/status.h"

static const struct listed {
    int status;
    const char *name;
} listed[] = {
#define LISTED(name, number, sentence, hint) {number, #name},
    FIRN_STATUS_LIST(LISTED)
#undef LISTED
};

static const size_t listed_count = sizeof listed / sizeof listed[0];

static void every_listed_status_is_found_by_index_and_by_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < listed_count; i++) {
        int status = INT32_MAX;
        assert_int_equal(firn_status_at(i, &status), FIRN_OK);
        assert_int_equal(status, listed[i].status);
        assert_string_equal(firn_status_name(status), listed[i].name);
    }
    int status = 4711;
    assert_int_equal(firn_status_at(listed_count, &status), FIRN_E_ARGUMENT);
    assert_int_equal(firn_status_at(SIZE_MAX, &status), FIRN_E_ARGUMENT);
    assert_int_equal(status, 4711);
    assert_int_equal(firn_status_at(0, NULL), FIRN_E_ARGUMENT);
}

static void numbers_names_and_sentences_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < listed_count; i++) {
        for (size_t k = 0; k < i; k++) {
            const int a = listed[i].status;
            const int b = listed[k].status;
            assert_int_not_equal(a, b);
            assert_string_not_equal(listed[i].name, listed[k].name);
            assert_string_not_equal(firn_status_text(a), firn_status_text(b));
        }
    }
}

static void the_sign_says_what_the_name_says(void **state)
{
    (void)state;
    int status = -1;
    assert_int_equal(firn_status_at(0, &status), FIRN_OK);
    assert_int_equal(status, 0);
    for (size_t i = 1; i < listed_count; i++) {
        const char *prefix = listed[i].status < 0 ? "FIRN_E_" : "FIRN_R_";
        assert_int_equal(strncmp(listed[i].name, prefix, strlen(prefix)), 0);
        assert_int_not_equal(listed[i].status, 0);
    }
}

static void sentences_and_hints_read_as_parts_of_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < listed_count; i++) {
        const char *text = firn_status_text(listed[i].status);
        const char *hint = firn_status_hint(listed[i].status);
        assert_true(strlen(text) > 0 && strlen(hint) > 0);
        assert_true(text[strlen(text) - 1] != '.');
        assert_false(isupper((unsigned char)text[0]));
        assert_null(strchr(text, '\n'));
        assert_null(strchr(hint, '\n'));
    }
}

static void a_number_that_is_no_status_is_said_to_be_unknown(void **state)
{
    (void)state;
    const int numbers[] = {INT32_MIN, -1000, -9, 2, FIRN__STALE, INT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_string_equal(firn_status_name(numbers[i]), "FIRN_UNKNOWN");
        assert_string_equal(firn_status_text(numbers[i]), "unknown status");
        assert_string_equal(firn_status_hint(numbers[i]), "");
    }
}

static void an_error_without_a_text_of_its_own_gives_sentence_and_hint(void **state)
{
    (void)state;
    firn_error error;
    assert_int_equal(firn__error(&error, FIRN_E_WINDOW, FIRN__NO_POSITION, NULL), FIRN_E_WINDOW);
    assert_int_equal(error.status, FIRN_E_WINDOW);
    assert_int_equal(error.position, -1);
    assert_non_null(strstr(error.text, firn_status_text(FIRN_E_WINDOW)));
    assert_non_null(strstr(error.text, firn_status_hint(FIRN_E_WINDOW)));
    assert_int_equal(firn__error(NULL, FIRN_E_WINDOW, 3, "%d", 4), FIRN_E_WINDOW);
}

static void every_error_fits_whole_and_a_longer_text_is_cut_with_its_end(void **state)
{
    (void)state;
    firn_error error;
    for (size_t i = 0; i < listed_count; i++) {
        (void)firn__error(&error, listed[i].status, FIRN__NO_POSITION, NULL);
        assert_true(strlen(error.text) < sizeof error.text - 1);
    }
    (void)firn__error(&error, FIRN_E_ARGUMENT, 7, "%0*d", 2000, 0);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_int_equal(error.position, 7);
}

static void the_library_s_version_is_the_header_s(void **state)
{
    (void)state;
    char text[32];
    (void)snprintf(text, sizeof text, "%d.%d.%d", FIRN_VERSION_MAJOR, FIRN_VERSION_MINOR,
                   FIRN_VERSION_PATCH);
    assert_string_equal(firn_version(), FIRN_VERSION);
    assert_string_equal(firn_version(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_listed_status_is_found_by_index_and_by_number),
        cmocka_unit_test(numbers_names_and_sentences_are_unique),
        cmocka_unit_test(the_sign_says_what_the_name_says),
        cmocka_unit_test(sentences_and_hints_read_as_parts_of_one_line),
        cmocka_unit_test(a_number_that_is_no_status_is_said_to_be_unknown),
        cmocka_unit_test(an_error_without_a_text_of_its_own_gives_sentence_and_hint),
        cmocka_unit_test(every_error_fits_whole_and_a_longer_text_is_cut_with_its_end),
        cmocka_unit_test(the_library_s_version_is_the_header_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
