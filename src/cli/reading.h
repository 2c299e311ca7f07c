/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* An id read back under a layout, for people and as JSON. */
#ifndef FIRN_CLI_READING_H
#define FIRN_CLI_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "firn/layout.h"

/* JavaScript's Number holds whole numbers up to here exactly: 2^53. */
#define JAVASCRIPT_MAX (UINT64_C(1) << 53)

struct reading {
    const firn_layout *layout;
    char layout_text[FIRN_LAYOUT_TEXT_SIZE];
    uint64_t id;
    firn_fields fields;
    bool counter; /* an early id of Twitter's: a plain counter, without a time */
};

/* Reads an id. FIRN_E_ID_RANGE when the layout cannot make it; *reading_out is untouched then. */
int reading_make(const firn_layout *layout, uint64_t id, struct reading *reading_out);

/* The worker number without its upper part, the datacenter. */
uint32_t reading_worker_part(const struct reading *reading);

/* The remarks that an id deserves, each a sentence; NULL past the last. */
const char *reading_remark(const struct reading *reading, int64_t now_us, unsigned index);

/* One object, on a line of its own; with the remarks when now_us is not NULL. */
void reading_json(const struct reading *reading, const int64_t *now_us);

#endif
