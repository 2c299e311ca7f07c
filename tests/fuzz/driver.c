/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * A main for a fuzzer where there is no libFuzzer: replays the files given, then runs mutations of
 * them. The same seed gives the same mutations, on every machine. When an input fails it is printed
 * in hexadecimal, to become a file of the corpus.
 *
 *     driver [-n MUTATIONS] [-s SEED] FILE_OR_FOLDER…
 */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_SIZE_MAX    4096
#define INPUT_COUNT_MAX   4096
#define MUTATIONS_DEFAULT 100000
#define STEPS_MAX         6

struct input {
    size_t size;
    uint8_t *data;
};

static struct input inputs[INPUT_COUNT_MAX];
static size_t input_count;

/* What runs now, for the signal handler. */
static uint8_t current[INPUT_SIZE_MAX];
static volatile sig_atomic_t current_size;

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 32) % limit;
}

static void fail(const char *what, const char *path)
{
    (void)fprintf(stderr, "driver: %s: %s\n", what, path);
    exit(2);
}

/* Only what is safe inside a signal handler. */
static void print_current(void)
{
    static const char digits[] = "0123456789abcdef";
    static const char head[] = "driver: the input that failed: ";
    ssize_t done = write(STDERR_FILENO, head, sizeof head - 1);
    for (sig_atomic_t i = 0; i < current_size; i++) {
        const char pair[] = {digits[current[i] >> 4], digits[current[i] & 15]};
        done += write(STDERR_FILENO, pair, sizeof pair);
    }
    done += write(STDERR_FILENO, "\n", 1);
    (void)done;
}

static void die(int signal_number)
{
    print_current();
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

/* Where a sanitizer is built in, it reports first; a handler of ours would take its place. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the sanitizers' own */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void print_on_failure(void)
{
    (void)signal(SIGABRT, die);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(print_current);
        return;
    }
    (void)signal(SIGSEGV, die);
}

static void run(const uint8_t *data, size_t size)
{
    if (data != current && size != 0) {
        memcpy(current, data, size);
    }
    current_size = (sig_atomic_t)size;
    (void)LLVMFuzzerTestOneInput(current, size);
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("cannot open", path);
        return;
    }
    if (input_count == INPUT_COUNT_MAX) {
        fail("more files than it takes", path);
    }
    const size_t size = fread(current, 1, sizeof current, file);
    if (ferror(file) || fgetc(file) != EOF) {
        fail("cannot read, or too large", path);
    }
    (void)fclose(file);
    uint8_t *data = malloc(size + 1);
    REQUIRE(data != NULL);
    memcpy(data, current, size);
    inputs[input_count++] = (struct input){.size = size, .data = data};
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* In the order of names, so that a seed means the same everywhere. */
static void read_path(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        fail("cannot find", path);
    }
    if (!S_ISDIR(about.st_mode)) {
        read_file(path);
        return;
    }
    struct dirent **entries;
    const int count = scandir(path, &entries, is_visible, alphasort);
    if (count < 0) {
        fail("cannot list", path);
    }
    for (int i = 0; i < count; i++) {
        char name[4096];
        REQUIRE((size_t)snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name) <
                sizeof name);
        read_file(name);
        free(entries[i]);
    }
    free(entries);
}

static size_t insert_byte(size_t size)
{
    if (size == INPUT_SIZE_MAX) {
        return size;
    }
    const size_t at = (size_t)random_below(size + 1);
    memmove(current + at + 1, current + at, size - at);
    current[at] = (uint8_t)random_below(256);
    return size + 1;
}

static size_t remove_byte(size_t size)
{
    if (size == 0) {
        return size;
    }
    const size_t at = (size_t)random_below(size);
    memmove(current + at, current + at + 1, size - at - 1);
    return size - 1;
}

static size_t replace_byte(size_t size)
{
    if (size != 0) {
        current[random_below(size)] = (uint8_t)random_below(256);
    }
    return size;
}

static size_t flip_bit(size_t size)
{
    if (size != 0) {
        current[random_below(size)] ^= (uint8_t)(1U << random_below(8));
    }
    return size;
}

/* Texts are made of digits for the most part: one for another keeps them well formed. */
static size_t replace_digit(size_t size)
{
    for (size_t tries = 0; size != 0 && tries < 8; tries++) {
        uint8_t *byte = &current[random_below(size)];
        if (*byte >= '0' && *byte <= '9') {
            *byte = (uint8_t)('0' + random_below(10));
            return size;
        }
    }
    return size;
}

/* The tail of another input in place of this one's. */
static size_t splice(size_t size)
{
    const struct input *other = &inputs[random_below(input_count)];
    const size_t from = (size_t)random_below(other->size + 1);
    const size_t at = (size_t)random_below(size + 1);
    const size_t room = INPUT_SIZE_MAX - at;
    const size_t tail = other->size - from < room ? other->size - from : room;
    memcpy(current + at, other->data + from, tail);
    return at + tail;
}

static void run_mutation(void)
{
    static size_t (*const mutators[])(size_t) = {insert_byte,   remove_byte, replace_byte,
                                                 replace_digit, flip_bit,    splice};
    const struct input *input = &inputs[random_below(input_count)];
    size_t size = input->size;
    memcpy(current, input->data, size);
    const uint64_t steps = 1 + random_below(STEPS_MAX);
    for (uint64_t i = 0; i < steps; i++) {
        size = mutators[random_below(sizeof mutators / sizeof mutators[0])](size);
    }
    run(current, size);
}

int main(int argc, char **argv)
{
    uint64_t mutations = MUTATIONS_DEFAULT;
    uint64_t seed = 1;
    int option;
    while ((option = getopt(argc, argv, "n:s:")) != -1) {
        if (option != 'n' && option != 's') {
            return 2;
        }
        *(option == 'n' ? &mutations : &seed) = strtoull(optarg, NULL, 10);
    }
    for (int i = optind; i < argc; i++) {
        read_path(argv[i]);
    }
    if (input_count == 0) {
        fail("no input", "give files, or a folder that has some");
    }
    print_on_failure();
    for (size_t i = 0; i < input_count; i++) {
        run(inputs[i].data, inputs[i].size);
    }
    random_state = seed;
    for (uint64_t i = 0; i < mutations; i++) {
        run_mutation();
    }
    (void)printf("%zu inputs and %" PRIu64 " mutations of them, seed %" PRIu64 "\n", input_count,
                 mutations, seed);
    for (size_t i = 0; i < input_count; i++) {
        free(inputs[i].data);
    }
    return 0;
}
