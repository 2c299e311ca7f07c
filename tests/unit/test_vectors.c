/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The shared vectors against the core: presets.json is the table of presets, and ids.json holds
 * published ids of known services with the time and the fields that their makers gave. texts.json is
 * test_codec.c's. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "core/layout.h"
#include "firn/layout.h"
#include "firn/time.h"

static struct json_object *read_vectors(const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", FIRN_VECTORS_DIR, name);
    struct json_object *vectors = json_object_from_file(path);
    if (vectors == NULL) {
        fail_msg("%s: %s", path, json_util_get_last_err());
    }
    assert_true(json_object_is_type(vectors, json_type_array));
    assert_true(json_object_array_length(vectors) > 0);
    return vectors;
}

static const char *member(struct json_object *object, const char *name)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, name, &value)) {
        fail_msg("no member %s in %s", name, json_object_to_json_string(object));
    }
    return json_object_get_string(value);
}

static void the_preset_table_is_the_shared_one(void **state)
{
    (void)state;
    struct json_object *presets = read_vectors("presets.json");
    const size_t count = json_object_array_length(presets);
    for (size_t i = 0; i < count; i++) {
        struct json_object *expected = json_object_array_get_idx(presets, i);
        const firn_preset *preset = firn_preset_at(i);
        assert_non_null(preset);
        assert_string_equal(preset->name, member(expected, "name"));
        assert_string_equal(preset->layout, member(expected, "layout"));
        assert_string_equal(preset->note, member(expected, "note"));
        assert_string_equal(preset->source, member(expected, "source"));
        assert_ptr_equal(firn_preset_find(preset->name), preset);
    }
    assert_null(firn_preset_at(count));
    assert_null(firn_preset_at(SIZE_MAX));
    json_object_put(presets);
}

static void a_preset_s_name_parses_as_its_layout(void **state)
{
    (void)state;
    for (size_t i = 0; firn_preset_at(i) != NULL; i++) {
        firn_layout by_name;
        firn_layout by_text;
        assert_int_equal(firn_layout_parse(firn_preset_at(i)->name, &by_name, NULL), FIRN_OK);
        assert_int_equal(firn_layout_parse(firn_preset_at(i)->layout, &by_text, NULL), FIRN_OK);
        assert_memory_equal(&by_name, &by_text, sizeof by_name);
    }
    assert_null(firn_preset_find("nosuch"));
    assert_null(firn_preset_find(""));
    assert_null(firn_preset_find(NULL));
    assert_ptr_equal(firn_preset_find("firn"), firn_preset_at(0));
    assert_string_equal(firn_preset_at(0)->layout, FIRN_LAYOUT_DEFAULT);
}

/* In the vectors w is the lower part of the worker number, as the services say it. */
static uint64_t field_value(const firn_layout *layout, const firn_fields *fields, char letter)
{
    switch (letter) {
    case 'd':
        return fields->datacenter;
    case 'w':
        return fields->worker & firn__mask(layout->worker_bits);
    case 's':
        return fields->sequence;
    case 'x':
        return fields->unknown;
    default:
        fail_msg("no such field: %c", letter);
        return 0;
    }
}

static void check_id(struct json_object *vector)
{
    firn_layout layout;
    firn_fields fields;
    assert_int_equal(firn_layout_parse(member(vector, "preset"), &layout, NULL), FIRN_OK);
    errno = 0;
    const uint64_t id = strtoull(member(vector, "id"), NULL, 10);
    assert_int_equal(errno, 0);
    assert_int_equal(firn_layout_decompose(&layout, id, &fields), FIRN_OK);

    char time[FIRN_TIME_TEXT_SIZE];
    assert_int_equal(firn_time_format(fields.time_us, 3, time, sizeof time), FIRN_OK);
    assert_string_equal(time, member(vector, "time"));

    struct json_object *expected = json_object_object_get(vector, "fields");
    assert_non_null(expected);
    json_object_object_foreach(expected, letter, value)
    {
        assert_int_equal(strlen(letter), 1);
        assert_true(field_value(&layout, &fields, letter[0]) == json_object_get_uint64(value));
    }
    uint64_t again;
    assert_int_equal(firn_layout_compose(&layout, &fields, &again), FIRN_OK);
    assert_true(again == id);
}

static void every_published_id_decodes_to_its_time_and_fields_and_composes_back(void **state)
{
    (void)state;
    struct json_object *ids = read_vectors("ids.json");
    for (size_t i = 0; i < json_object_array_length(ids); i++) {
        struct json_object *vector = json_object_array_get_idx(ids, i);
        print_message("%s %s\n", member(vector, "preset"), member(vector, "id"));
        check_id(vector);
    }
    json_object_put(ids);
}

static void every_published_id_lies_between_the_bounds_of_its_instant(void **state)
{
    (void)state;
    struct json_object *ids = read_vectors("ids.json");
    for (size_t i = 0; i < json_object_array_length(ids); i++) {
        struct json_object *vector = json_object_array_get_idx(ids, i);
        firn_layout layout;
        int64_t at_us;
        uint64_t smallest;
        uint64_t largest;
        const uint64_t id = strtoull(member(vector, "id"), NULL, 10);
        assert_int_equal(firn_layout_parse(member(vector, "preset"), &layout, NULL), FIRN_OK);
        assert_int_equal(firn_time_parse(member(vector, "time"), 0, &at_us, NULL), FIRN_OK);
        assert_int_equal(firn_layout_smallest(&layout, at_us, &smallest), FIRN_OK);
        assert_int_equal(firn_layout_largest(&layout, at_us, &largest), FIRN_OK);
        assert_in_range(id, smallest, largest);
    }
    json_object_put(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_preset_table_is_the_shared_one),
        cmocka_unit_test(a_preset_s_name_parses_as_its_layout),
        cmocka_unit_test(every_published_id_decodes_to_its_time_and_fields_and_composes_back),
        cmocka_unit_test(every_published_id_lies_between_the_bounds_of_its_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
