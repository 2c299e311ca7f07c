/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Layouts: how the 64 bits of an id are divided, and what an id says when it is read back.
 *
 *     firn_layout layout;
 *     firn_fields fields;
 *     if (firn_layout_parse("t41w10s12@2025-01-01", &layout, NULL) == FIRN_OK &&
 *         firn_layout_decompose(&layout, 236065495965528067u, &fields) == FIRN_OK) {
 *         printf("worker %u, sequence %llu\n", fields.worker, (unsigned long long)fields.sequence);
 *     }
 *
 * The text is fields, highest bits first, then the tick, then the epoch:
 *
 *     t41w10s12@2025-01-01        time 41, worker 10, sequence 12 bits; 1 ms ticks
 *     t39s8w16/10ms@2014-09-01    sequence above worker, 10 ms ticks
 *     t41d5w5s12@1288834974657    d, the datacenter, is the upper part of the worker number;
 *                                 an epoch in digits alone is Unix milliseconds
 *     t41x22@0                    x: bits of unknown meaning; such a layout reads, but never makes
 *     twitter                     a preset by name
 *
 * Time comes first; each letter stands once; at most 64 bits in all, 32 for the worker number; the
 * tick is 1 ms and the epoch 2025-01-01 when not said. Instants are Unix microseconds
 * (firn/time.h). Nothing here reads a clock.
 */
#ifndef FIRN_LAYOUT_H
#define FIRN_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "firn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIRN_LAYOUT_DEFAULT "t41w10s12@2025-01-01"

/* Room for any text of firn_layout_format(), with its final NUL. */
#define FIRN_LAYOUT_TEXT_SIZE 64

/* A checked layout. Make it with firn_layout_parse(); read its members freely. */
typedef struct firn_layout {
    int64_t epoch_ms; /* Unix milliseconds of tick 0 */
    int64_t tick_ns;  /* length of a tick, in nanoseconds */
    uint8_t time_bits;
    uint8_t datacenter_bits; /* the upper part of the worker number */
    uint8_t worker_bits;     /* the lower part, or all of it */
    uint8_t sequence_bits;
    uint8_t unknown_bits;
    uint8_t time_shift; /* how far left each field stands in the id */
    uint8_t datacenter_shift;
    uint8_t worker_shift;
    uint8_t sequence_shift;
    uint8_t unknown_shift;
    uint8_t order[6]; /* the letters in the order of the bits, then NUL */
} firn_layout;

/* What an id is made of. */
typedef struct firn_fields {
    int64_t time_us;     /* start of its tick, Unix microseconds */
    uint64_t tick;       /* ticks since the epoch */
    uint64_t sequence;   /* counter inside the tick */
    uint64_t unknown;    /* the x bits */
    uint32_t worker;     /* the whole worker number, datacenter included */
    uint32_t datacenter; /* its upper part; 0 when the layout has none */
} firn_fields;

/* What a layout can do. */
typedef struct firn_capacity {
    uint64_t workers;        /* how many worker numbers there are */
    uint64_t ids_per_tick;   /* for each worker */
    int64_t first_us;        /* start of tick 0 */
    int64_t end_us;          /* end of the last tick: the first instant that has no id */
    int64_t negative_us;     /* from here on ids are negative in a signed BIGINT; end_us if never */
    int64_t javascript_us;   /* from here on ids may pass 2^53; end_us if never */
    uint64_t ids_per_second; /* for each worker; UINT64_MAX when it would not fit */
} firn_capacity;

/* A known service's layout. */
typedef struct firn_preset {
    const char *name;
    const char *layout; /* text for firn_layout_parse() */
    const char *note;
    const char *source;
} firn_preset;

/* What firn_layout_check() may let pass. */
#define FIRN_ALLOW_SHORT_LIFE 1u /* a life that ends within a year */
#define FIRN_ALLOW_UNKNOWN    2u /* x bits: for reading ids only */

/*
 * Read a layout's text, or a preset's name.
 *
 * text       see the top of this file.
 * layout_out [1] the layout.
 * error_out  [1] or NULL; what is wrong, where, and what is allowed.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        text or layout_out is NULL
 *            FIRN_E_LAYOUT_SYNTAX   not of the grammar, and no preset's name
 *            FIRN_E_LAYOUT_BITS     a field, the worker number or the sum is too wide
 *            FIRN_E_LAYOUT_TICK     a tick that is not 1 us to 1 s or does not divide a second
 *            FIRN_E_LAYOUT_EPOCH    an epoch that is no date, or outside 1970 to 2200
 *            FIRN_E_LAYOUT_LIFE     its last tick is beyond the year 294246
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_layout_parse(const char *text, firn_layout *layout_out, firn_error *error_out);

/*
 * Write a layout in its one canonical text, such as "t39s8w16/10ms@2014-09-01".
 *
 * buf        [buf_size]; FIRN_LAYOUT_TEXT_SIZE is always enough.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        layout or buf is NULL
 *            FIRN_E_BUFFER          buf is too small
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_layout_format(const firn_layout *layout, char *buf, size_t buf_size);

/*
 * Whether ids may be made with a layout now: asked once, when a generator or a realm is made.
 *
 * now_us     the instant to check for.
 * allow      FIRN_ALLOW_… bits, or 0.
 * error_out  [1] or NULL.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        layout is NULL
 *            FIRN_E_LAYOUT_DECODE   it has unknown bits
 *            FIRN_E_LAYOUT_EPOCH    its epoch is after now_us
 *            FIRN_E_LAYOUT_LIFE     its life is over, or ends within a year
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_layout_check(const firn_layout *layout, int64_t now_us, unsigned allow,
                               firn_error *error_out);

/*
 * What a layout can do.
 *
 * capacity_out [1] the figures.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        layout or capacity_out is NULL
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_layout_capacity(const firn_layout *layout, firn_capacity *capacity_out);

/*
 * Make an id from its fields.
 *
 * fields     tick, worker, sequence and unknown are used; time_us and datacenter are not.
 * id_out     [1] the id.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL
 *            FIRN_E_FIELD_RANGE     a field does not fit; nothing is cut
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_layout_compose(const firn_layout *layout, const firn_fields *fields,
                                 uint64_t *id_out);

/*
 * Read an id back.
 *
 * id         any number.
 * fields_out [1] the fields.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL
 *            FIRN_E_ID_RANGE        it has bits above the layout's
 * Threads    safe.
 * Cost       shifts and masks; no allocation.
 * Since      0.1
 */
FIRN_API int firn_layout_decompose(const firn_layout *layout, uint64_t id, firn_fields *fields_out);

/*
 * The smallest id of the tick that holds an instant. With firn_layout_largest(), the bounds for
 * WHERE id BETWEEN: every id made from one instant to another lies between them.
 *
 * at_us      the instant.
 * id_out     [1] the id: all fields below time are 0.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL
 *            FIRN_E_TIME_RANGE      before the epoch, or at or after the layout's end
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_layout_smallest(const firn_layout *layout, int64_t at_us, uint64_t *id_out);

/*
 * The largest id of the tick that holds an instant.
 *
 * at_us      the instant.
 * id_out     [1] the id: all bits below time are 1.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        a pointer is NULL
 *            FIRN_E_TIME_RANGE      before the epoch, or at or after the layout's end
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_layout_largest(const firn_layout *layout, int64_t at_us, uint64_t *id_out);

/*
 * The presets by index.
 *
 * index      from 0.
 *
 * Returns    a constant preset; NULL past the last.
 * Threads    safe.
 * Source     each preset's own source member.
 * Since      0.1
 */
FIRN_API const firn_preset *firn_preset_at(size_t index);

/*
 * The preset with a name.
 *
 * Returns    a constant preset; NULL when there is none, or name is NULL.
 * Threads    safe.
 * Since      0.1
 */
FIRN_API const firn_preset *firn_preset_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
