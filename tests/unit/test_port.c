/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* What the platform layer promises: which process this is, which file that is, when a wait ends, and
 * whether the machine was restored from a snapshot. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "firn/status.h"
#include "port/environment.h"
#include "port/file.h"
#include "port/vmclock.h"

#define MS            INT64_C(1000000)
#define IDENTITY_SIZE 128
#define PATH_SIZE     256

/* A folder of its own for each test. */
static int make_folder(void **state)
{
    static char folder[PATH_SIZE];
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/firn-port-XXXXXX", parent == NULL ? "/tmp" : parent);
    *state = mkdtemp(folder);
    return *state == NULL;
}

static int remove_entry(const char *path, const struct stat *file, int kind, struct FTW *place)
{
    (void)file;
    (void)kind;
    (void)place;
    return remove(path);
}

static int remove_folder(void **state)
{
    return nftw(*state, remove_entry, 4, FTW_DEPTH | FTW_PHYS);
}

static const char *path_in(void **state, const char *name)
{
    static char paths[4][PATH_SIZE * 2];
    static size_t next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", (const char *)*state, name);
    return path;
}

static void write_file(const char *path, const void *bytes, size_t bytes_size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, bytes_size, file), bytes_size);
    assert_int_equal(fclose(file), 0);
}

static int result_of(pid_t child)
{
    int result = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    return result;
}

static pid_t make_child(size_t way)
{
    switch (way) {
    case 0:
        return fork();
    case 1:
        return _Fork();
    default:
        return (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0UL, 0UL, 0UL, 0UL);
    }
}

static void every_kind_of_child_has_a_fork_mark_of_its_own(void **state)
{
    (void)state;
    const uint64_t mark = firn__memory_fork_mark();
    uint64_t *marks = firn__memory_share(sizeof *marks * 3);
    assert_true(mark != 0 && marks != NULL);
    for (size_t way = 0; way < 3; way++) {
        const pid_t child = make_child(way);
        assert_true(child >= 0);
        if (child == 0) {
            const uint64_t wiped = *firn__memory_fork_word;
            marks[way] = firn__memory_fork_mark();
            _exit(wiped == 0 && marks[way] == firn__memory_fork_mark() ? 0 : 1);
        }
        assert_int_equal(result_of(child), 0);
        assert_true(marks[way] != 0 && marks[way] != mark);
    }
    assert_true(marks[0] != marks[1] && marks[1] != marks[2] && marks[0] != marks[2]);
    assert_true(firn__memory_fork_mark() == mark);
    assert_true(*firn__memory_fork_word == mark);
    firn__memory_unshare(marks, sizeof *marks * 3);
}

static void shared_memory_is_zeroed_aligned_and_seen_by_children(void **state)
{
    (void)state;
    const size_t size = 100000;
    unsigned char *memory = firn__memory_share(size);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 4096, 0);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(memory[i], 0);
    }
    const pid_t child = fork();
    if (child == 0) {
        memory[size - 1] = 77;
        _exit(0);
    }
    assert_int_equal(result_of(child), 0);
    assert_int_equal(memory[size - 1], 77);
    firn__memory_unshare(memory, size);
    firn__memory_unshare(NULL, size);
    assert_null(firn__memory_share(SIZE_MAX - 8192));
}

static void random_bytes_fill_the_whole_buffer_and_differ(void **state)
{
    (void)state;
    enum { SIZE = 1000 };
    unsigned char bytes[2][SIZE] = {{0}};
    assert_int_equal(firn__random(bytes[0], SIZE), FIRN_OK);
    assert_int_equal(firn__random(bytes[1], SIZE), FIRN_OK);
    assert_memory_not_equal(bytes[0], bytes[1], SIZE);
    /* 32 zeros in a row come once in 2^256. */
    const unsigned char zeros[32] = {0};
    assert_memory_not_equal(bytes[0] + SIZE - sizeof zeros, zeros, sizeof zeros);
    assert_int_equal(firn__random(bytes[0], 0), FIRN_OK);
}

/* As its callers do: until the clock is there or the deadline has passed. */
static int wait_until(int64_t at_ns, int64_t deadline_ns)
{
    while (firn__clock_real_ns() < at_ns) {
        if (firn__clock_wait(at_ns, deadline_ns) < 0) {
            return -1;
        }
    }
    return 0;
}

static void a_wait_ends_when_the_clock_is_there_and_not_before(void **state)
{
    (void)state;
    const int64_t spans_ns[] = {0, 1, 50000, MS, 3 * MS, 45 * MS};
    for (size_t i = 0; i < sizeof spans_ns / sizeof spans_ns[0]; i++) {
        const int64_t at_ns = firn__clock_real_ns() + spans_ns[i];
        assert_int_equal(wait_until(at_ns, FIRN__FOREVER), 0);
        assert_true(firn__clock_real_ns() >= at_ns);
    }
}

static void a_wait_never_sleeps_past_its_deadline(void **state)
{
    (void)state;
    const int64_t hour_ns = 3600000 * MS;
    const int64_t start_ns = firn__clock_monotonic_ns();
    assert_int_equal(wait_until(firn__clock_real_ns() + hour_ns, start_ns + 30 * MS), -1);
    const int64_t took_ns = firn__clock_monotonic_ns() - start_ns;
    assert_true(took_ns >= 30 * MS && took_ns < 20000 * MS);
    assert_int_equal(firn__clock_wait(firn__clock_real_ns() + hour_ns, start_ns), -1);
}

static void one_part_of_a_long_wait_is_short_enough_to_notice_a_set_clock(void **state)
{
    (void)state;
    const int64_t start_ns = firn__clock_monotonic_ns();
    assert_int_equal(firn__clock_wait(INT64_MAX, FIRN__FOREVER), 0);
    assert_true(firn__clock_monotonic_ns() - start_ns < 10000 * MS);
}

static void a_deadline_saturates_and_negative_timeouts_have_none(void **state)
{
    (void)state;
    assert_true(firn__deadline_ns(NULL, -1) == FIRN__FOREVER);
    assert_true(firn__deadline_ns(NULL, INT64_MIN) == FIRN__FOREVER);
    assert_true(firn__deadline_ns(NULL, INT64_MAX) == FIRN__FOREVER);
    const int64_t before_ns = firn__clock_monotonic_ns();
    const int64_t deadline_ns = firn__deadline_ns(NULL, MS);
    assert_in_range(deadline_ns, before_ns + MS, firn__clock_monotonic_ns() + MS);
}

static void the_coarse_clock_lags_and_never_leads(void **state)
{
    (void)state;
    int64_t least_ns = INT64_MAX;
    for (size_t i = 0; i < 100000; i++) {
        const int64_t coarse_ns = firn__clock_coarse_ns();
        const int64_t lag_ns = firn__clock_real_ns() - coarse_ns;
        assert_true(lag_ns >= 0);
        least_ns = lag_ns < least_ns ? lag_ns : least_ns;
    }
    /* The slowest timer; a machine that was paused may lag more at times. */
    assert_true(least_ns <= 10 * MS);
}

static void a_file_keeps_its_identity_when_renamed_and_a_copy_has_another(void **state)
{
    char one[IDENTITY_SIZE];
    char renamed[IDENTITY_SIZE];
    char copy[IDENTITY_SIZE];
    write_file(path_in(state, "one"), "firn", 4);
    assert_int_equal(firn__file_identity(path_in(state, "one"), one, sizeof one), 0);
    assert_int_equal(rename(path_in(state, "one"), path_in(state, "two")), 0);
    write_file(path_in(state, "two"), "changed", 7);
    assert_int_equal(firn__file_identity(path_in(state, "two"), renamed, sizeof renamed), 0);
    assert_string_equal(renamed, one);
    write_file(path_in(state, "one"), "changed", 7);
    assert_int_equal(firn__file_identity(path_in(state, "one"), copy, sizeof copy), 0);
    assert_string_not_equal(copy, one);
    assert_non_null(strstr(one, "inode "));
}

static void what_is_wrong_with_a_path_is_an_errno_and_a_sentence(void **state)
{
    char identity[IDENTITY_SIZE] = "untouched";
    char reason[FIRN__REASON_SIZE];
    int64_t size;
    const char *missing = path_in(state, "missing");
    assert_int_equal(firn__file_identity(missing, identity, sizeof identity), ENOENT);
    assert_string_equal(identity, "untouched");
    assert_int_equal(firn__file_size(missing, &size), ENOENT);
    assert_int_equal(firn__file_size(*state, &size), 0);
    write_file(path_in(state, "file"), "", 0);
    assert_int_equal(firn__file_size(path_in(state, "file/below"), &size), ENOTDIR);
    assert_string_equal(firn__file_reason(ENOENT, reason), "No such file or directory");
    assert_string_equal(firn__file_reason(-5, reason), "unknown error");
    for (int number = 1; number < 134; number++) {
        assert_true(strlen(firn__file_reason(number, reason)) > 0);
    }
}

static void network_file_systems_are_known_by_name_and_local_ones_are_not(void **state)
{
    assert_string_equal(firn__file_network_name(0x6969), "NFS");
    assert_string_equal(firn__file_network_name(0xff534d42), "CIFS");
    assert_string_equal(firn__file_network_name(0xfe534d42), "SMB2");
    assert_string_equal(firn__file_network_name(0x01021997), "9P");
    assert_string_equal(firn__file_network_name(0x65735546), "FUSE");
    const uint64_t local[] = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0};
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) {
        assert_null(firn__file_network_name(local[i]));
    }
    assert_null(firn__file_network(path_in(state, "missing")));
    assert_null(firn__file_network("/proc/self/status"));
}

/* A page as the kernel lays it out: magic, size, flags and the generation counter. */
static void make_page(unsigned char page[4096], uint32_t magic, uint32_t size, uint64_t flags,
                      uint64_t generation)
{
    memset(page, 0, 4096);
    memcpy(page, &magic, sizeof magic);
    memcpy(page + 4, &size, sizeof size);
    memcpy(page + 0x18, &flags, sizeof flags);
    memcpy(page + 0x68, &generation, sizeof generation);
}

#define VMCLOCK_MAGIC      0x4b4c4356
#define VMCLOCK_GENERATION 0x100

static void a_restored_snapshot_is_seen_through_the_page(void **state)
{
    unsigned char page[4096];
    const char *path = path_in(state, "vmclock");
    make_page(page, VMCLOCK_MAGIC, 4096, VMCLOCK_GENERATION, 41);
    write_file(path, page, sizeof page);
    const uint64_t *generation = firn__vmclock_open(path);
    assert_int_equal(*generation, 41);
    const int file = open(path, O_WRONLY);
    const uint64_t next = 42;
    assert_int_equal(pwrite(file, &next, sizeof next, 0x68), sizeof next);
    assert_int_equal(close(file), 0);
    assert_int_equal(__atomic_load_n(generation, __ATOMIC_RELAXED), 42);
    firn__vmclock_close(generation);
}

static void a_page_without_a_generation_counter_never_changes(void **state)
{
    const struct {
        const char *name;
        uint32_t magic;
        uint32_t size;
        uint64_t flags;
    } rows[] = {
        {"no magic", 0, 4096, VMCLOCK_GENERATION},
        {"another magic", VMCLOCK_MAGIC + 1, 4096, VMCLOCK_GENERATION},
        {"an older kernel's size", VMCLOCK_MAGIC, 104, VMCLOCK_GENERATION},
        {"the counter is not in use", VMCLOCK_MAGIC, 4096, ~(uint64_t)VMCLOCK_GENERATION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("%s\n", rows[i].name);
        unsigned char page[4096];
        make_page(page, rows[i].magic, rows[i].size, rows[i].flags, 41);
        write_file(path_in(state, "vmclock"), page, sizeof page);
        const uint64_t *generation = firn__vmclock_open(path_in(state, "vmclock"));
        assert_int_equal(*generation, 0);
        firn__vmclock_close(generation);
    }
    firn__vmclock_close(NULL);
}

/* In a child: a page that is not all there would end this program with SIGBUS. */
static void assert_never_changes(const char *path)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGBUS, SIG_DFL); /* cmocka would go on with the next test, in the child */
        const uint64_t *generation = firn__vmclock_open(path);
        const bool good = *generation == 0;
        firn__vmclock_close(generation);
        _exit(good ? 0 : 1);
    }
    const int result = result_of(child);
    if (result != 0) {
        fail_msg("%s: signal %d, result %d", path == NULL ? "NULL" : path,
                 WIFSIGNALED(result) ? WTERMSIG(result) : 0, result);
    }
}

static void what_is_no_vmclock_is_left_alone(void **state)
{
    assert_never_changes(NULL);
    assert_never_changes("");
    assert_never_changes(path_in(state, "missing"));
    assert_never_changes(*state);
    assert_never_changes("/dev/null");
    write_file(path_in(state, "short"), "VCLK", 4);
    assert_never_changes(path_in(state, "short"));
}

static void an_empty_file_is_no_vmclock(void **state)
{
    write_file(path_in(state, "empty"), "", 0);
    assert_never_changes(path_in(state, "empty"));
}

#define test_in_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_child_has_a_fork_mark_of_its_own),
        cmocka_unit_test(shared_memory_is_zeroed_aligned_and_seen_by_children),
        cmocka_unit_test(random_bytes_fill_the_whole_buffer_and_differ),
        cmocka_unit_test(a_wait_ends_when_the_clock_is_there_and_not_before),
        cmocka_unit_test(a_wait_never_sleeps_past_its_deadline),
        cmocka_unit_test(one_part_of_a_long_wait_is_short_enough_to_notice_a_set_clock),
        cmocka_unit_test(a_deadline_saturates_and_negative_timeouts_have_none),
        cmocka_unit_test(the_coarse_clock_lags_and_never_leads),
        test_in_folder(a_file_keeps_its_identity_when_renamed_and_a_copy_has_another),
        test_in_folder(what_is_wrong_with_a_path_is_an_errno_and_a_sentence),
        test_in_folder(network_file_systems_are_known_by_name_and_local_ones_are_not),
        test_in_folder(a_restored_snapshot_is_seen_through_the_page),
        test_in_folder(a_page_without_a_generation_counter_never_changes),
        test_in_folder(what_is_no_vmclock_is_left_alone),
        test_in_folder(an_empty_file_is_no_vmclock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
