/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Drawing the 64 bits of an id, field by field from the highest. What the fields mean for time is
 * said elsewhere. */
#include "cli/picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/text.h"

#define ID_BITS    64
#define FIELDS_MAX 6
#define LABEL_SIZE 24

struct field {
    char letter;
    const char *name;
    unsigned bits;
    unsigned shift;
    enum paint colour;
};

static struct field field_of(const firn_layout *layout, char letter)
{
    switch (letter) {
    case 't':
        return (struct field){'t', "time", layout->time_bits, layout->time_shift, PAINT_TIME};
    case 'd':
        return (struct field){'d', "datacenter", layout->datacenter_bits, layout->datacenter_shift,
                              PAINT_DATACENTER};
    case 'w':
        return (struct field){'w', "worker", layout->worker_bits, layout->worker_shift,
                              PAINT_WORKER};
    case 's':
        return (struct field){'s', "sequence", layout->sequence_bits, layout->sequence_shift,
                              PAINT_SEQUENCE};
    default:
        return (struct field){'x', "unknown", layout->unknown_bits, layout->unknown_shift,
                              PAINT_DIM};
    }
}

/* The fields from the highest bit down; above time, what the layout leaves unused. */
static size_t fields_list(const firn_layout *layout, struct field *fields)
{
    size_t count = 0;
    const unsigned used = layout->time_shift + (unsigned)layout->time_bits;
    if (used < ID_BITS) {
        fields[count++] = (struct field){'-', "unused", ID_BITS - used, used, PAINT_DIM};
    }
    for (size_t i = 0; layout->order[i] != 0 && count < FIELDS_MAX; i++) {
        fields[count++] = field_of(layout, (char)layout->order[i]);
    }
    return count;
}

static uint64_t field_max(const struct field *field)
{
    return field->bits >= ID_BITS ? UINT64_MAX : ((uint64_t)1 << field->bits) - 1;
}

/* The longest label that fits above a field: "sequence 12", "s12" or "s". */
static void label_fit(const struct field *field, char *label)
{
    const int width = (int)field->bits;
    if (snprintf(label, LABEL_SIZE, "%s %u", field->name, field->bits) <= width) {
        return;
    }
    if (snprintf(label, LABEL_SIZE, "%c%u", field->letter, field->bits) <= width) {
        return;
    }
    (void)snprintf(label, LABEL_SIZE, "%c", field->letter);
}

static void draw_labels(const struct field *fields, size_t count)
{
    print(" ");
    for (size_t i = 0; i < count; i++) {
        char label[LABEL_SIZE];
        label_fit(&fields[i], label);
        const int room = (int)fields[i].bits - (int)strlen(label);
        /* Nothing stands behind the last label, so that no line ends in blanks. */
        const int right = i + 1 < count ? room - room / 2 : 0;
        print(" %*s%s%s%s%*s", room / 2, "", paint(fields[i].colour), label, paint(PAINT_NONE),
              right, "");
    }
    print("\n");
}

static void draw_bits(const struct field *fields, size_t count, const uint64_t *id)
{
    print(" ");
    for (size_t i = 0; i < count; i++) {
        char bits[ID_BITS + 1];
        for (unsigned bit = 0; bit < fields[i].bits; bit++) {
            const unsigned shift = fields[i].shift + fields[i].bits - 1 - bit;
            bits[bit] = fields[i].letter;
            if (id != NULL) {
                bits[bit] = (*id >> shift & 1) != 0 ? '1' : '0';
            }
        }
        bits[fields[i].bits] = '\0';
        print(" %s%s%s", paint(fields[i].colour), bits, paint(PAINT_NONE));
    }
    print("\n");
}

static void draw_legend(const firn_layout *layout, const struct field *fields, size_t count,
                        const uint64_t *id)
{
    char tick[TEXT_SIZE];
    for (size_t i = 0; i < count; i++) {
        const struct field *field = &fields[i];
        print("  %s%c  %-10s%s  %2u bit%s", paint(field->colour), field->letter, field->name,
              paint(PAINT_NONE), field->bits, field->bits == 1 ? "" : "s");
        const char *pad = field->bits == 1 ? "   " : "  ";
        if (field->letter == '-') {
            print("%salways 0\n", pad);
        } else if (id != NULL) {
            print("%s%" PRIu64, pad, *id >> field->shift & field_max(field));
        } else {
            print("%s0 to %" PRIu64, pad, field_max(field));
        }
        if (field->letter == 't') {
            print(" ticks of %s\n", text_tick(layout->tick_ns, tick));
        } else if (field->letter != '-') {
            print("\n");
        }
    }
}

static void draw(const firn_layout *layout, const uint64_t *id)
{
    struct field fields[FIELDS_MAX + 1];
    const size_t count = fields_list(layout, fields);
    draw_labels(fields, count);
    draw_bits(fields, count, id);
    print("\n");
    draw_legend(layout, fields, count, id);
}

void picture_id(const firn_layout *layout, uint64_t id)
{
    draw(layout, &id);
}

void picture_layout(const firn_layout *layout)
{
    draw(layout, NULL);
}
