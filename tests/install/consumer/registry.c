/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A user's program: ids from a registry. It is compiled as C99, as C11 and as C++11, and exits 0
 * only when the ids are what firn promises. */
#include <firn/firn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ID_COUNT = 100 };

static int ids_check(firn *ids)
{
    firn_layout layout;
    if (firn_layout_get(ids, &layout) != FIRN_OK) {
        return 1;
    }
    uint64_t before = 0;
    for (int i = 0; i < ID_COUNT; i++) {
        uint64_t id = 0;
        firn_fields fields;
        const int status = firn_wait(ids, INT64_C(1000000000), &id);
        if (status != FIRN_OK) {
            fprintf(stderr, "firn_wait: %s\n", firn_status_text(status));
            return 1;
        }
        if (id <= before || firn_layout_decompose(&layout, id, &fields) != FIRN_OK) {
            fprintf(stderr, "%" PRIu64 " after %" PRIu64 "\n", id, before);
            return 1;
        }
        before = id;
    }
    return 0;
}

int main(void)
{
    firn *ids = NULL;
    firn_error error;
    firn_options options = firn_options_default();
    options.create = 1;
    options.error_out = &error;
    if (strcmp(firn_version(), FIRN_VERSION) != 0) {
        fprintf(stderr, "header %s, library %s\n", FIRN_VERSION, firn_version());
        return 1;
    }
    if (firn_open("mem:consumer", &options, &ids) != FIRN_OK) {
        fprintf(stderr, "firn_open: %s\n", error.text);
        return 1;
    }
    const int result = ids_check(ids);
    firn_close(ids);
    return result;
}
