/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The shortest useful program: open a registry, make ids, read one back. Usage: ids [REGISTRY] */
#include <inttypes.h>
#include <stdio.h>

#include <firn/firn.h>

#define SECOND_NS 1000000000

int main(int count, char **arguments)
{
    firn *ids;
    firn_error error;
    firn_options options = firn_options_default();
    options.create = 1;
    options.renewal = FIRN_RENEWAL_THREAD;
    options.error_out = &error;
    if (firn_open(count > 1 ? arguments[1] : "sqlite:example.db", &options, &ids) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    uint64_t id = 0;
    for (int i = 0; i < 3; i++) {
        const int status = firn_wait(ids, SECOND_NS, &id);
        if (status != FIRN_OK) {
            (void)fprintf(stderr, "%s: %s\n", firn_status_text(status), firn_status_hint(status));
            firn_close(ids);
            return 1;
        }
        (void)printf("%" PRIu64 "\n", id);
    }
    firn_layout layout;
    firn_fields fields;
    char time[FIRN_TIME_TEXT_SIZE];
    if (firn_layout_get(ids, &layout) == FIRN_OK &&
        firn_layout_decompose(&layout, id, &fields) == FIRN_OK &&
        firn_time_format(fields.time_us, 3, time, sizeof time) == FIRN_OK) {
        (void)printf("the last one: %s, worker %" PRIu32 ", sequence %" PRIu64 "\n", time,
                     fields.worker, fields.sequence);
    }
    firn_close(ids);
    return 0;
}
