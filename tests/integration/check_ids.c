/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * The judge of the integration tests: reads files of native uint64 ids, sorts them all, and says
 * how many there are, which occur twice and in which files, which files do not strictly increase,
 * and how full the ticks are. It shares nothing with the library but the reading of a layout.
 *
 *     check_ids LAYOUT FILE…      exit 0: no id twice; 1: some; 2: it could not look
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firn/layout.h"

#define DIGIT_BITS      11
#define DIGITS          (1U << DIGIT_BITS)
#define PASSES          6 /* of 11 bits: 66, enough for 64 */
#define DUPLICATES_SAID 10
#define WORKERS_MAX     65536

struct pile {
    uint64_t *ids;
    size_t count;
    size_t capacity;
};

static size_t torn_count;
static size_t unsorted_count;

__attribute__((noreturn)) static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void *reserve(void *memory, size_t count)
{
    void *bigger = realloc(memory, count * sizeof(uint64_t));
    if (bigger == NULL && count > 0) {
        die("realloc");
    }
    return bigger;
}

static void say_order(const char *path, const uint64_t *ids, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (ids[i - 1] >= ids[i]) {
            unsorted_count++;
            printf("unsorted_file=%s at %zu: %" PRIu64 " before %" PRIu64 "\n", path, i, ids[i - 1],
                   ids[i]);
            return;
        }
    }
}

static void read_file(const char *path, struct pile *pile)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        die(path);
    }
    const long size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET) != 0) {
        die(path);
    }
    /* A process that was killed inside write() may leave a part of an id, which nobody could use. */
    const size_t count = (size_t)size / sizeof(uint64_t);
    torn_count += (size_t)size % sizeof(uint64_t) != 0;
    if (pile->count + count > pile->capacity) {
        pile->capacity = (pile->count + count) * 3 / 2;
        pile->ids = reserve(pile->ids, pile->capacity);
    }
    if (fread(pile->ids + pile->count, sizeof(uint64_t), count, file) != count) {
        die(path);
    }
    (void)fclose(file);
    say_order(path, pile->ids + pile->count, count);
    pile->count += count;
}

/* One pass of the radix sort. Returns false when all ids have the same digit. */
static bool sort_pass(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
    size_t starts[DIGITS] = {0};
    for (size_t i = 0; i < count; i++) {
        starts[from[i] >> shift & (DIGITS - 1)]++;
    }
    size_t start = 0;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        const size_t size = starts[digit];
        if (size == count) {
            return false;
        }
        starts[digit] = start;
        start += size;
    }
    for (size_t i = 0; i < count; i++) {
        to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    }
    return true;
}

static void sort_ids(struct pile *pile)
{
    uint64_t *other = reserve(NULL, pile->count);
    for (unsigned pass = 0; pass < PASSES; pass++) {
        if (sort_pass(pile->ids, other, pile->count, pass * DIGIT_BITS)) {
            uint64_t *swapped = pile->ids;
            pile->ids = other;
            other = swapped;
        }
    }
    free(other);
}

static void say_where(uint64_t id, char **paths, int path_count)
{
    printf("duplicate=%" PRIu64, id);
    for (int i = 0; i < path_count; i++) {
        struct pile pile = {0};
        read_file(paths[i], &pile);
        for (size_t at = 0; at < pile.count; at++) {
            if (pile.ids[at] == id) {
                printf(" %s[%zu]", paths[i], at);
            }
        }
        free(pile.ids);
    }
    printf("\n");
}

static size_t say_duplicates(const struct pile *pile, char **paths, int path_count)
{
    size_t duplicates = 0;
    for (size_t i = 1; i < pile->count; i++) {
        if (pile->ids[i - 1] == pile->ids[i]) {
            duplicates++;
            if (duplicates <= DUPLICATES_SAID) {
                say_where(pile->ids[i], paths, path_count);
            }
        }
    }
    printf("total=%zu\ndistinct=%zu\nduplicates=%zu\n", pile->count, pile->count - duplicates,
           duplicates);
    return duplicates;
}

static void say_workers(const bool *seen)
{
    const char *separator = "workers=";
    for (uint32_t worker = 0; worker < WORKERS_MAX; worker++) {
        if (seen[worker]) {
            printf("%s%u", separator, worker);
            separator = ",";
        }
    }
    printf("%s\n", *separator == ',' ? "" : separator);
}

/* With the sequence as the lowest field, the ids of one tick of one worker lie side by side. */
static void say_ticks(const struct pile *pile, const firn_layout *layout)
{
    static bool seen[WORKERS_MAX];
    firn_capacity capacity;
    firn_fields fields = {0};
    size_t ticks = 0;
    size_t full = 0;
    size_t most = 0;
    size_t count = 0;
    uint64_t tick = 0;
    (void)firn_layout_capacity(layout, &capacity);
    for (size_t i = 0; i < pile->count; i++) {
        if (firn_layout_decompose(layout, pile->ids[i], &fields) < 0 ||
            fields.worker >= WORKERS_MAX) {
            printf("foreign=%" PRIu64 "\n", pile->ids[i]);
            continue;
        }
        const uint64_t group = pile->ids[i] - fields.sequence;
        count = i > 0 && group == tick ? count + 1 : 1;
        ticks += count == 1;
        full += count == capacity.ids_per_tick;
        most = count > most ? count : most;
        tick = group;
        seen[fields.worker] = true;
    }
    say_workers(seen);
    printf("ticks=%zu\nfull_ticks=%zu\ntick_most=%zu\n", ticks, full, most);
}

int main(int count, char **arguments)
{
    firn_layout layout;
    struct pile pile = {0};
    if (count < 3 || firn_layout_parse(arguments[1], &layout, NULL) < 0) {
        fprintf(stderr, "usage: check_ids LAYOUT FILE...\n");
        return 2;
    }
    for (int i = 2; i < count; i++) {
        read_file(arguments[i], &pile);
    }
    printf("torn=%zu\nunsorted=%zu\n", torn_count, unsorted_count);
    sort_ids(&pile);
    const size_t duplicates = say_duplicates(&pile, arguments + 2, count - 2);
    say_ticks(&pile, &layout);
    free(pile.ids);
    return duplicates > 0 ? 1 : 0;
}
