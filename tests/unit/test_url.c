/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The URLs of registries: a table of good ones with their parts, and one of bad ones with what the
 * message must name. Which schemes a build has is asked of the public functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "firn/firn.h"
#include "registry/url.h"

static const struct good {
    const char *name;
    const char *text;
    const char *scheme;
    const char *path;
    int64_t worker;
} goods[] = {
    {"an absolute path", "sqlite:/var/lib/firn/a.db", "sqlite", "/var/lib/firn/a.db", -1},
    {"a relative path", "sqlite:ids.db", "sqlite", "ids.db", -1},
    {"a blank in a path", "sqlite:/a b.db", "sqlite", "/a b.db", -1},
    {"an encoded blank", "sqlite:/a%20b.db", "sqlite", "/a b.db", -1},
    {"an encoded question mark", "sqlite:/why%3F.db", "sqlite", "/why?.db", -1},
    {"an encoded percent sign", "sqlite:/100%25.db", "sqlite", "/100%.db", -1},
    {"hex digits in either case", "sqlite:/%c3%A9.db", "sqlite", "/\xc3\xa9.db", -1},
    {"more colons", "sqlite:/a:b:c", "sqlite", "/a:b:c", -1},
    {"SQLite's own names are files", "sqlite::memory:", "sqlite", ":memory:", -1},
    {"a number sign", "sqlite:/a#b", "sqlite", "/a#b", -1},
    {"memory", "mem:name", "mem", "name", -1},
    {"a scheme that no build has", "etcd:host", "etcd", "host", -1},
    {"a worker by hand", "static:7?path=/a.db", "sqlite", "/a.db", 7},
    {"worker 0", "static:0?path=/a.db", "sqlite", "/a.db", 0},
    {"leading zeros", "static:007?path=/a.db", "sqlite", "/a.db", 7},
    {"the largest worker", "static:4294967295?path=a", "sqlite", "a", 4294967295},
    {"an encoded path for a worker", "static:1?path=/a%3Fb%26c", "sqlite", "/a?b&c", 1},
    {"a scheme of 31 letters", "abcdefghijklmnopqrstuvwxyzabcde:x",
     "abcdefghijklmnopqrstuvwxyzabcde", "x", -1},
};

static const struct bad {
    const char *name;
    const char *text;
    const char *says; /* a part of the message */
} bads[] = {
    {"empty", "", "no scheme"},
    {"no colon", "/var/lib/firn/a.db", "no scheme"},
    {"nothing before the colon", ":/a", "no scheme"},
    {"a scheme of 32 letters", "abcdefghijklmnopqrstuvwxyzabcdef:x", "no scheme"},
    {"nothing after the scheme", "sqlite:", "nothing after the scheme"},
    {"memory without a name", "mem:", "nothing after the scheme"},
    {"a query where there is none", "sqlite:/a?mode=ro", "?"},
    {"a bare question mark", "sqlite:/a?", "?"},
    {"a percent sign at the end", "sqlite:/a%", "%"},
    {"one digit after a percent sign", "sqlite:/a%4", "%"},
    {"no digits after a percent sign", "sqlite:/a%zz", "%"},
    {"a sign for a digit", "sqlite:/a%+4", "%"},
    {"an encoded NUL", "sqlite:/a%00b", "%"},
    {"a worker that is missing", "static:?path=/a", "worker number"},
    {"a worker that is a word", "static:seven?path=/a", "worker number"},
    {"a negative worker", "static:-1?path=/a", "worker number"},
    {"a signed worker", "static:+1?path=/a", "worker number"},
    {"a blank before a worker", "static: 1?path=/a", "worker number"},
    {"a hexadecimal worker", "static:0x7?path=/a", "worker number"},
    {"a worker above 32 bits", "static:4294967296?path=/a", "worker number"},
    {"a worker above 64 bits", "static:99999999999999999999?path=/a", "worker number"},
    {"a worker without a file", "static:7", "?path="},
    {"a worker with an empty file", "static:7?path=", "?path="},
    {"a worker with another word", "static:7?file=/a", "?path="},
    {"a bad percent sign in the file", "static:7?path=/a%g0", "?path="},
};

static void takes_a_good_url_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goods / sizeof goods[0]; i++) {
        firn__url url;
        print_message("%s: %s\n", goods[i].name, goods[i].text);
        assert_int_equal(firn__url_parse(goods[i].text, &url, NULL), FIRN_OK);
        assert_string_equal(url.scheme, goods[i].scheme);
        assert_string_equal(url.path, goods[i].path);
        assert_int_equal(url.worker, goods[i].worker);
    }
}

static void refuses_a_bad_url_and_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        firn__url url;
        firn__url before;
        firn_error error = {.status = FIRN_OK};
        memset(&url, 0x5a, sizeof url);
        before = url;
        print_message("%s: %s\n", bads[i].name, bads[i].text);
        assert_int_equal(firn__url_parse(bads[i].text, &url, &error), FIRN_E_URL);
        assert_memory_equal(&url, &before, sizeof url);
        assert_int_equal(error.status, FIRN_E_URL);
        assert_non_null(strstr(error.text, bads[i].says));
        assert_non_null(strstr(error.text, "sqlite:/path/to/file")); /* what would be right */
    }
}

static void bounds_a_path_by_its_buffer(void **state)
{
    static char text[FIRN__URL_SIZE + 16];
    firn__url url;
    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text, "sqlite:", 7);
    text[7 + FIRN__URL_SIZE - 1] = '\0';
    assert_int_equal(firn__url_parse(text, &url, NULL), FIRN_OK);
    assert_int_equal(strlen(url.path), FIRN__URL_SIZE - 1);
    text[7 + FIRN__URL_SIZE - 1] = 'a';
    text[7 + FIRN__URL_SIZE] = '\0';
    assert_int_equal(firn__url_parse(text, &url, NULL), FIRN_E_URL);
    /* Three characters are one byte: what counts is the path, not its text. */
    memcpy(text + 7, "%41", 3);
    assert_int_equal(firn__url_parse(text, &url, NULL), FIRN_OK);
    assert_int_equal(url.path[0], 'A');
}

static void refuses_null(void **state)
{
    firn__url url;
    (void)state;
    assert_int_equal(firn__url_parse(NULL, &url, NULL), FIRN_E_ARGUMENT);
    assert_int_equal(firn__url_parse("mem:a", NULL, NULL), FIRN_E_ARGUMENT);
}

static void a_handle_says_which_registry_is_missing_from_the_build(void **state)
{
    firn *ids = NULL;
    firn_registry *registry = NULL;
    firn_error error = {.status = FIRN_OK};
    firn_options options = firn_options_default();
    (void)state;
    options.error_out = &error;
    assert_int_equal(firn_open("etcd:host", &options, &ids), FIRN_E_BACKEND);
    assert_null(ids);
    assert_int_equal(error.status, FIRN_E_BACKEND);
    assert_non_null(strstr(error.text, "etcd"));
    assert_int_equal(firn_registry_open("etcd:host", 1000, &registry, &error), FIRN_E_BACKEND);
    assert_int_equal(firn_open("nonsense", &options, &ids), FIRN_E_URL);
    assert_int_equal(firn_registry_open("nonsense", 1000, &registry, &error), FIRN_E_URL);
    assert_null(registry);
}

static void lists_the_registries_of_the_build(void **state)
{
    size_t count = 0;
    bool has_mem = false;
    bool has_sqlite = false;
    (void)state;
    for (const char *scheme; (scheme = firn_backend_at(count)) != NULL; count++) {
        has_mem |= strcmp(scheme, "mem") == 0;
        has_sqlite |= strcmp(scheme, "sqlite") == 0;
    }
    assert_true(has_mem);
    assert_int_equal(has_sqlite, FIRN_WITH_SQLITE);
    assert_null(firn_backend_at(count + 1));
    assert_null(firn_backend_at(SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_good_url_apart),
        cmocka_unit_test(refuses_a_bad_url_and_says_why),
        cmocka_unit_test(bounds_a_path_by_its_buffer),
        cmocka_unit_test(refuses_null),
        cmocka_unit_test(a_handle_says_which_registry_is_missing_from_the_build),
        cmocka_unit_test(lists_the_registries_of_the_build),
    };
    return cmocka_run_group_tests_name("registry: urls", tests, NULL, NULL);
}
