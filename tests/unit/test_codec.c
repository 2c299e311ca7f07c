/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The texts of an id: tables of known pairs and of refusals, then properties of random ids. The
 * fuzzer of the same name asks what no table thought of. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "firn/codec.h"
#include "random.h"

#define RANDOM_IDS   20000
#define FORM_COUNT   6
#define UNTOUCHED_ID UINT64_C(0x5aa5c33c0ff0f00f)

static int decode(int form, const char *text, uint64_t *id_out, firn_error *error_out)
{
    return firn_decode(form, text, strlen(text), id_out, error_out);
}

static const struct known {
    const char *name;
    uint64_t id;
    const char *texts[FORM_COUNT];
} knowns[] = {
    {"zero",
     0,
     {"0", "00000000000000000000", "0000000000000000", "0000000000000", "00000000000",
      "11111111111"}},
    {"one",
     1,
     {"1", "00000000000000000001", "0000000000000001", "0000000000001", "00000000001",
      "11111111112"}},
    {"the design's example",
     236065495965528067,
     {"236065495965528067", "00236065495965528067", "0346ac515ec07003", "06HNCA5FC0W03",
      "0HRBJR8d4z5", "1YnMVHPAHNz"}},
    {"Twitter, 2022-06-28",
     1541815603606036480,
     {"1541815603606036480", "01541815603606036480", "1565a11f6217a000", "1ASD13XH1F800",
      "1ptWyK4WgZU", "4aaW4SzAyQK"}},
    {"2^63 - 1, the largest BIGINT",
     INT64_MAX,
     {"9223372036854775807", "09223372036854775807", "7fffffffffffffff", "7ZZZZZZZZZZZZ",
      "AzL8n0Y58m7", "NQm6nKp8qFC"}},
    {"2^63, negative as a BIGINT",
     UINT64_C(9223372036854775808),
     {"9223372036854775808", "09223372036854775808", "8000000000000000", "8000000000000",
      "AzL8n0Y58m8", "NQm6nKp8qFD"}},
    {"2^64 - 1, the largest id",
     UINT64_MAX,
     {"18446744073709551615", "18446744073709551615", "ffffffffffffffff", "FZZZZZZZZZZZZ",
      "LygHa16AHYF", "jpXCZedGfVQ"}},
};

static void known_ids_have_their_known_texts_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof knowns / sizeof knowns[0]; i++) {
        for (int form = 0; form < FORM_COUNT; form++) {
            print_message("%s, %s\n", knowns[i].name, firn_form_name(form));
            char text[FIRN_TEXT_SIZE];
            uint64_t id = UNTOUCHED_ID;
            assert_int_equal(firn_encode(form, knowns[i].id, text, sizeof text), FIRN_OK);
            assert_string_equal(text, knowns[i].texts[form]);
            assert_int_equal(decode(form, text, &id, NULL), FIRN_OK);
            assert_true(id == knowns[i].id);
        }
    }
}

static const struct also_read {
    const char *name;
    int form;
    const char *text;
    uint64_t id;
} also_reads[] = {
    {"hex in upper case", FIRN_HEX, "0346AC515EC07003", 236065495965528067},
    {"hex in both cases", FIRN_HEX, "0346aC515Ec07003", 236065495965528067},
    {"base32 in lower case", FIRN_BASE32, "06hnca5fc0w03", 236065495965528067},
    {"O as 0", FIRN_BASE32, "O6HNCA5FCOWo3", 236065495965528067},
    {"I, i, L and l as 1", FIRN_BASE32, "00000000IiLl1", 1 + 32 + 32 * 32 + 32768 + 1048576},
    {"tsid's README", FIRN_BASE32, "01226N0640J7Q", 38358284406638839},
};

static void crockford_reads_look_alikes_and_hex_reads_both_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof also_reads / sizeof also_reads[0]; i++) {
        print_message("%s\n", also_reads[i].name);
        uint64_t id = UNTOUCHED_ID;
        assert_int_equal(decode(also_reads[i].form, also_reads[i].text, &id, NULL), FIRN_OK);
        assert_true(id == also_reads[i].id);
    }
}

#define TEXT(bytes) (bytes), sizeof(bytes) - 1

static const struct refusal {
    const char *name;
    int form;
    const char *text;
    size_t text_size;
    int status;
    int32_t position;
    const char *says; /* part of the error's text */
} refusals[] = {
    {"nothing", FIRN_DECIMAL, TEXT(""), FIRN_E_TEXT_LENGTH, 0, "given is 0; it must be 1 to 20"},
    {"21 digits", FIRN_DECIMAL, TEXT("100000000000000000000"), FIRN_E_TEXT_LENGTH, 20, "is 21"},
    {"a leading zero", FIRN_DECIMAL, TEXT("0123"), FIRN_E_TEXT_ALPHABET, 0, "leading zero"},
    {"two zeros", FIRN_DECIMAL, TEXT("00"), FIRN_E_TEXT_ALPHABET, 0, "decimal20"},
    {"a minus sign", FIRN_DECIMAL, TEXT("-1"), FIRN_E_TEXT_ALPHABET, 0, "negative BIGINT"},
    {"a plus sign", FIRN_DECIMAL, TEXT("+1"), FIRN_E_TEXT_ALPHABET, 0, "leave the plus out"},
    {"a line end", FIRN_DECIMAL, TEXT("12\n"), FIRN_E_TEXT_ALPHABET, 2, "byte 0x0A at offset 2"},
    {"a blank in front", FIRN_DECIMAL, TEXT(" 12"), FIRN_E_TEXT_ALPHABET, 0, "nothing is trimmed"},
    {"a final NUL", FIRN_DECIMAL, TEXT("12\0"), FIRN_E_TEXT_ALPHABET, 2, "byte 0x00"},
    {"a float", FIRN_DECIMAL, TEXT("2.36e17"), FIRN_E_TEXT_ALPHABET, 1, "floating point"},
    {"hexadecimal", FIRN_DECIMAL, TEXT("12ab"), FIRN_E_TEXT_ALPHABET, 2, "hex"},
    {"UTF-8", FIRN_DECIMAL, TEXT("1\xc3\xa9"), FIRN_E_TEXT_ALPHABET, 1, "byte 0xC3"},
    {"2^64", FIRN_DECIMAL, TEXT("18446744073709551616"), FIRN_E_TEXT_OVERFLOW, 19,
     "the largest is 18446744073709551615"},
    {"2^65 - 1", FIRN_DECIMAL, TEXT("36893488147419103231"), FIRN_E_TEXT_OVERFLOW, 0, "'3'"},
    {"twenty nines", FIRN_DECIMAL, TEXT("99999999999999999999"), FIRN_E_TEXT_OVERFLOW, 0, "'9'"},
    {"long, with a sign", FIRN_DECIMAL, TEXT("-18446744073709551616"), FIRN_E_TEXT_ALPHABET, 0,
     "no sign"},
    {"decimal20 too short", FIRN_DECIMAL20, TEXT("1"), FIRN_E_TEXT_LENGTH, 1, "exactly 20"},
    {"decimal20 empty", FIRN_DECIMAL20, TEXT(""), FIRN_E_TEXT_LENGTH, 0, "exactly 20"},
    {"decimal20 too long", FIRN_DECIMAL20, TEXT("000000000000000000001"), FIRN_E_TEXT_LENGTH, 20,
     "is 21"},
    {"decimal20 of 2^64", FIRN_DECIMAL20, TEXT("18446744073709551616"), FIRN_E_TEXT_OVERFLOW, 19,
     "2^64 - 1"},
    {"decimal20 with a sign", FIRN_DECIMAL20, TEXT("-0000000000000000001"), FIRN_E_TEXT_ALPHABET, 0,
     "no sign"},
    {"hex with 0x", FIRN_HEX, TEXT("0x12345678901234"), FIRN_E_TEXT_ALPHABET, 1, "without 0x"},
    {"hex with g", FIRN_HEX, TEXT("000000000000000g"), FIRN_E_TEXT_ALPHABET, 15, "'g'"},
    {"hex too short", FIRN_HEX, TEXT("000000000000000"), FIRN_E_TEXT_LENGTH, 15, "exactly 16"},
    {"hex too long", FIRN_HEX, TEXT("00000000000000000"), FIRN_E_TEXT_LENGTH, 16, "is 17"},
    {"a UUID", FIRN_HEX, TEXT("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), FIRN_E_TEXT_ALPHABET, 8,
     "hyphens are not skipped"},
    {"U", FIRN_BASE32, TEXT("000U000000000"), FIRN_E_TEXT_ALPHABET, 3, "'U' at offset 3"},
    {"u", FIRN_BASE32, TEXT("000000000000u"), FIRN_E_TEXT_ALPHABET, 12, "U stands for no digit"},
    {"base32 with a hyphen", FIRN_BASE32, TEXT("06HNC-A5FC0W03"), FIRN_E_TEXT_ALPHABET, 5,
     "hyphens"},
    {"base32 of 65 bits", FIRN_BASE32, TEXT("G000000000000"), FIRN_E_TEXT_OVERFLOW, 0,
     "the largest is FZZZZZZZZZZZZ"},
    {"the largest 13 of base32", FIRN_BASE32, TEXT("zzzzzzzzzzzzz"), FIRN_E_TEXT_OVERFLOW, 0,
     "2^64 - 1"},
    {"a ULID", FIRN_BASE32, TEXT("01ARZ3NDEKTSV4RRFFQ69G5FAV"), FIRN_E_TEXT_LENGTH, 13, "is 26"},
    {"base32 too short", FIRN_BASE32, TEXT("06HNCA5FC0W0"), FIRN_E_TEXT_LENGTH, 12, "exactly 13"},
    {"base62 of 2^64", FIRN_BASE62, TEXT("LygHa16AHYG"), FIRN_E_TEXT_OVERFLOW, 10, "LygHa16AHYF"},
    {"the largest 11 of base62", FIRN_BASE62, TEXT("zzzzzzzzzzz"), FIRN_E_TEXT_OVERFLOW, 0, "'z'"},
    {"base62 with a hyphen", FIRN_BASE62, TEXT("0HRBJR8-4z5"), FIRN_E_TEXT_ALPHABET, 7, "'-'"},
    {"base62 too short", FIRN_BASE62, TEXT("HRBJR8d4z5"), FIRN_E_TEXT_LENGTH, 10, "exactly 11"},
    {"base62 too long", FIRN_BASE62, TEXT("00HRBJR8d4z5"), FIRN_E_TEXT_LENGTH, 11, "is 12"},
    {"base58 with 0", FIRN_BASE58, TEXT("01111111111"), FIRN_E_TEXT_ALPHABET, 0, "look alike"},
    {"base58 with O", FIRN_BASE58, TEXT("1O111111111"), FIRN_E_TEXT_ALPHABET, 1, "look alike"},
    {"base58 with I", FIRN_BASE58, TEXT("11I11111111"), FIRN_E_TEXT_ALPHABET, 2, "look alike"},
    {"base58 with l", FIRN_BASE58, TEXT("111l1111111"), FIRN_E_TEXT_ALPHABET, 3, "look alike"},
    {"base58 of 2^64", FIRN_BASE58, TEXT("jpXCZedGfVR"), FIRN_E_TEXT_OVERFLOW, 10, "jpXCZedGfVQ"},
    {"base58 too short", FIRN_BASE58, TEXT("1"), FIRN_E_TEXT_LENGTH, 1, "exactly 11"},
};

static void refusals_say_which_byte_and_touch_no_output(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *row = &refusals[i];
        firn_error error = {0};
        uint64_t id = UNTOUCHED_ID;
        const int status = firn_decode(row->form, row->text, row->text_size, &id, &error);
        print_message("%s: %s\n", row->name, error.text);
        assert_int_equal(status, row->status);
        assert_int_equal(error.status, row->status);
        assert_int_equal(error.position, row->position);
        assert_non_null(strstr(error.text, row->says));
        assert_true(id == UNTOUCHED_ID);
        assert_int_equal(firn_decode(row->form, row->text, row->text_size, &id, NULL), row->status);
    }
}

static void a_refusal_ends_with_a_hint_only_where_there_is_one(void **state)
{
    (void)state;
    uint64_t id;
    firn_error error;
    assert_int_equal(firn_decode(FIRN_DECIMAL, "12\0", 3, &id, &error), FIRN_E_TEXT_ALPHABET);
    assert_string_equal(error.text,
                        "decimal: byte 0x00 at offset 2 is not allowed; allowed are 0-9");
    assert_int_equal(decode(FIRN_DECIMAL, "+12", &id, &error), FIRN_E_TEXT_ALPHABET);
    assert_string_equal(error.text, "decimal: '+' at offset 0 is not allowed; allowed are 0-9; ids "
                                    "have no sign; leave the plus out");
}

/* Which digit a byte stands for, told by the alphabet alone; -1 for none. */
static int digit_expected(int form, unsigned byte)
{
    static const char *alphabets[FORM_COUNT] = {
        "0123456789",
        "0123456789",
        "0123456789abcdef",
        "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    };
    int character = (int)byte;
    if (form == FIRN_HEX && character >= 'A' && character <= 'F') {
        character += 'a' - 'A';
    }
    if (form == FIRN_BASE32) {
        character -= character >= 'a' && character <= 'z' ? 'a' - 'A' : 0;
        character = character == 'O' ? '0' : character;
        character = character == 'I' || character == 'L' ? '1' : character;
    }
    const char *found = character == 0 ? NULL : strchr(alphabets[form], character);
    return found == NULL ? -1 : (int)(found - alphabets[form]);
}

static void each_byte_is_its_digit_or_is_refused_in_print(void **state)
{
    (void)state;
    for (int form = 0; form < FORM_COUNT; form++) {
        char zeros[FIRN_TEXT_SIZE];
        assert_int_equal(firn_encode(form, 0, zeros, sizeof zeros), FIRN_OK);
        const size_t size = strlen(zeros);
        for (unsigned byte = 0; byte < 256; byte++) {
            zeros[size - 1] = (char)byte;
            uint64_t id = UNTOUCHED_ID;
            firn_error error = {0};
            const int status = firn_decode(form, zeros, size, &id, &error);
            const int digit = digit_expected(form, byte);
            if (digit >= 0) {
                assert_int_equal(status, FIRN_OK);
                assert_true(id == (uint64_t)digit);
                continue;
            }
            assert_int_equal(status, FIRN_E_TEXT_ALPHABET);
            assert_int_equal(error.position, size - 1);
            for (const char *at = error.text; *at != '\0'; at++) {
                assert_in_range(*at, 0x20, 0x7e);
            }
        }
    }
}

static void random_ids_come_back_from_every_form(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (int i = 0; i < RANDOM_IDS; i++) {
        const uint64_t id = random_any_size(&random);
        for (int form = 0; form < FORM_COUNT; form++) {
            char text[FIRN_TEXT_SIZE];
            uint64_t back = UNTOUCHED_ID;
            assert_int_equal(firn_encode(form, id, text, sizeof text), FIRN_OK);
            assert_int_equal(decode(form, text, &back, NULL), FIRN_OK);
            assert_true(back == id);
        }
    }
}

static void decimal_and_hex_agree_with_the_c_library(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (int i = 0; i < RANDOM_IDS; i++) {
        const uint64_t id = random_any_size(&random);
        char expected[FORM_COUNT][FIRN_TEXT_SIZE];
        (void)snprintf(expected[FIRN_DECIMAL], FIRN_TEXT_SIZE, "%" PRIu64, id);
        (void)snprintf(expected[FIRN_DECIMAL20], FIRN_TEXT_SIZE, "%020" PRIu64, id);
        (void)snprintf(expected[FIRN_HEX], FIRN_TEXT_SIZE, "%016" PRIx64, id);
        for (int form = FIRN_DECIMAL; form <= FIRN_HEX; form++) {
            char text[FIRN_TEXT_SIZE];
            assert_int_equal(firn_encode(form, id, text, sizeof text), FIRN_OK);
            assert_string_equal(text, expected[form]);
        }
    }
}

static void every_power_of_ten_has_its_length_in_decimal(void **state)
{
    (void)state;
    uint64_t power = 1;
    for (size_t digits = 1; digits <= 20; digits++, power *= 10) {
        char text[FIRN_TEXT_SIZE];
        assert_int_equal(firn_encode(FIRN_DECIMAL, power, text, sizeof text), FIRN_OK);
        assert_int_equal(strlen(text), digits);
        assert_int_equal(text[0], '1');
        assert_int_equal(strspn(text + 1, "0"), digits - 1);
        assert_int_equal(firn_encode(FIRN_DECIMAL, power - 1, text, sizeof text), FIRN_OK);
        assert_int_equal(strspn(text, power == 1 ? "0" : "9"), digits == 1 ? 1 : digits - 1);
    }
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void check_order(int form, uint64_t a, uint64_t b)
{
    char text_a[FIRN_TEXT_SIZE];
    char text_b[FIRN_TEXT_SIZE];
    assert_int_equal(firn_encode(form, a, text_a, sizeof text_a), FIRN_OK);
    assert_int_equal(firn_encode(form, b, text_b, sizeof text_b), FIRN_OK);
    assert_int_equal(strlen(text_a), strlen(text_b));
    assert_int_equal(sign(memcmp(text_a, text_b, strlen(text_a))), (a > b) - (a < b));
}

static void fixed_width_texts_sort_as_numbers_do(void **state)
{
    (void)state;
    uint64_t random = random_seed(__func__);
    for (int form = FIRN_DECIMAL20; form < FORM_COUNT; form++) {
        for (int i = 0; i < RANDOM_IDS; i++) {
            const uint64_t a = random_any_size(&random);
            check_order(form, a, random_any_size(&random));
            check_order(form, a, a + 1 + random_next(&random) % 64);
            check_order(form, a, a);
        }
    }
}

static void a_buffer_fits_exactly_or_is_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof knowns / sizeof knowns[0]; i++) {
        for (int form = 0; form < FORM_COUNT; form++) {
            const size_t size = strlen(knowns[i].texts[form]);
            for (size_t buf_size = 0; buf_size <= FIRN_TEXT_SIZE; buf_size++) {
                char buf[FIRN_TEXT_SIZE + 1];
                memset(buf, '#', sizeof buf);
                const int status = firn_encode(form, knowns[i].id, buf, buf_size);
                assert_int_equal(status, buf_size > size ? FIRN_OK : FIRN_E_BUFFER);
                const size_t written = status == FIRN_OK ? size + 1 : 0;
                for (size_t at = written; at < sizeof buf; at++) {
                    assert_int_equal(buf[at], '#');
                }
            }
        }
    }
}

static void what_is_no_form_and_what_is_null_is_an_argument_error(void **state)
{
    (void)state;
    static const int no_forms[] = {-1, FORM_COUNT, INT32_MAX, INT32_MIN};
    char buf[FIRN_TEXT_SIZE] = "#";
    uint64_t id = UNTOUCHED_ID;
    firn_error error;
    for (size_t i = 0; i < sizeof no_forms / sizeof no_forms[0]; i++) {
        assert_int_equal(firn_encode(no_forms[i], 1, buf, sizeof buf), FIRN_E_ARGUMENT);
        error.position = 0;
        assert_int_equal(firn_decode(no_forms[i], "1", 1, &id, &error), FIRN_E_ARGUMENT);
        assert_int_equal(error.status, FIRN_E_ARGUMENT);
        assert_int_equal(error.position, -1);
        assert_null(firn_form_name(no_forms[i]));
    }
    assert_int_equal(firn_encode(FIRN_HEX, 1, NULL, sizeof buf), FIRN_E_ARGUMENT);
    assert_int_equal(firn_decode(FIRN_HEX, NULL, 0, &id, &error), FIRN_E_ARGUMENT);
    assert_int_equal(firn_decode(FIRN_HEX, "1", 1, NULL, NULL), FIRN_E_ARGUMENT);
    assert_string_equal(buf, "#");
    assert_true(id == UNTOUCHED_ID);
}

static void names_and_forms_are_found_both_ways(void **state)
{
    (void)state;
    static const char *names[] = {"decimal", "decimal20", "hex", "base32", "base62", "base58"};
    int form = -5;
    for (int i = 0; i < FORM_COUNT; i++) {
        assert_string_equal(firn_form_name(i), names[i]);
        assert_int_equal(firn_form_find(names[i], &form), FIRN_OK);
        assert_int_equal(form, i);
    }
    form = -5;
    assert_int_equal(firn_form_find("", &form), FIRN_E_ARGUMENT);
    assert_int_equal(firn_form_find("Hex", &form), FIRN_E_ARGUMENT);
    assert_int_equal(firn_form_find("decimal2", &form), FIRN_E_ARGUMENT);
    assert_int_equal(firn_form_find(NULL, &form), FIRN_E_ARGUMENT);
    assert_int_equal(firn_form_find("hex", NULL), FIRN_E_ARGUMENT);
    assert_int_equal(form, -5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_ids_have_their_known_texts_both_ways),
        cmocka_unit_test(crockford_reads_look_alikes_and_hex_reads_both_cases),
        cmocka_unit_test(refusals_say_which_byte_and_touch_no_output),
        cmocka_unit_test(a_refusal_ends_with_a_hint_only_where_there_is_one),
        cmocka_unit_test(each_byte_is_its_digit_or_is_refused_in_print),
        cmocka_unit_test(random_ids_come_back_from_every_form),
        cmocka_unit_test(decimal_and_hex_agree_with_the_c_library),
        cmocka_unit_test(every_power_of_ten_has_its_length_in_decimal),
        cmocka_unit_test(fixed_width_texts_sort_as_numbers_do),
        cmocka_unit_test(a_buffer_fits_exactly_or_is_left_alone),
        cmocka_unit_test(what_is_no_form_and_what_is_null_is_an_argument_error),
        cmocka_unit_test(names_and_forms_are_found_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
