/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn doctor: what could go wrong here, and what to do about it. It makes nothing: no registry, no
 * lease, no id. */
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/realm.h"
#include "cli/registry_url.h"
#include "cli/text.h"
#include "firn/firn.h"

#define NS_PER_S    1000000000
#define NS_PER_US   1000
#define US_PER_MS   1000
#define US_PER_YEAR (INT64_C(31556952) * 1000000)

/* The sample of the clock: long enough to meet a step that a bad source makes every tick. */
#define SAMPLE_NS (NS_PER_S / 10)
/* Two clocks read one after the other are compared when no more than this lies between. */
#define PAIR_MAX_NS 20000
/* A jump of one clock against the other that slewing (500 us a second at most) cannot explain. */
#define STEP_MIN_NS      200000
#define MAXERROR_WARN_US 100000
#define WORKERS_PAGE     256

enum { JSON, REGISTRY };

static const struct option_spec options[] = {
    [JSON] = OPTION_JSON,
    [REGISTRY] = OPTION_REGISTRY,
    OPTION_END,
};

static const struct example examples[] = {
    {"firn doctor", "Look at the clock, the registry and its disk."},
    {"firn doctor --json", "One object with all findings, for monitoring."},
    {NULL, NULL},
};

enum level { LEVEL_GOOD, LEVEL_WARNING, LEVEL_BAD };

struct doctor {
    struct registry_choice choice;
    struct json json;
    bool as_json;
    unsigned counts[LEVEL_BAD + 1];
};

/* A finding: the check, what was found, and what to do ("" when nothing is to be done). */
__attribute__((format(printf, 5, 6))) static void finding(struct doctor *doctor, enum level level,
                                                          const char *check, const char *advice,
                                                          const char *format, ...)
{
    static const char *const names[] = {"ok", "warn", "bad"};
    static const enum paint colours[] = {PAINT_GOOD, PAINT_WARNING, PAINT_BAD};
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    doctor->counts[level]++;
    if (doctor->as_json) {
        json_open(&doctor->json, NULL, '{');
        json_string(&doctor->json, "check", check);
        json_string(&doctor->json, "level", names[level]);
        json_string(&doctor->json, "text", text);
        json_string(&doctor->json, "advice", advice);
        json_close(&doctor->json, '}');
        return;
    }
    if (advice[0] != '\0' && used >= 0 && (size_t)used < sizeof text) {
        (void)snprintf(text + used, sizeof text - (size_t)used, "; %s", advice);
    }
    print("%s%-4s%s  %-11s  ", paint(colours[level]), names[level], paint(PAINT_NONE), check);
    print_wrapped(text, 19, 19);
}

static void error_finding(struct doctor *doctor, const char *check, const firn_error *error)
{
    /* The text says what to do already; programs get that apart. */
    finding(doctor, LEVEL_BAD, check, doctor->as_json ? firn_status_hint(error->status) : "", "%s",
            error->text);
}

static void check_version(struct doctor *doctor)
{
    char backends[128] = "";
    size_t used = 0;
    const char *name;
    for (size_t i = 0; (name = firn_backend_at(i)) != NULL && used < sizeof backends; i++) {
        used += (size_t)snprintf(backends + used, sizeof backends - used, "%s%s", i > 0 ? ", " : "",
                                 name);
    }
    if (strcmp(firn_version(), FIRN_VERSION) != 0) {
        finding(doctor, LEVEL_WARNING, "version", "install both from one release",
                "the command is %s, the library %s", FIRN_VERSION, firn_version());
        return;
    }
    finding(doctor, LEVEL_GOOD, "version", "", "firn %s; registries built in: %s", FIRN_VERSION,
            backends);
}

static void check_synchronised(struct doctor *doctor)
{
    struct timex clock = {.modes = 0};
    char bound[TEXT_SIZE];
    const int state = adjtimex(&clock);
    if (state < 0) {
        finding(doctor, LEVEL_WARNING, "clock", "ask 'chronyc tracking' or 'timedatectl'",
                "the kernel does not tell its error bound here: %s", strerror(errno));
        return;
    }
    (void)text_span(clock.maxerror, bound);
    if ((clock.status & STA_UNSYNC) != 0 || state == TIME_ERROR) {
        finding(doctor, LEVEL_WARNING, "clock",
                "run chrony or another NTP client; ids stay unique without one, but sort by this "
                "clock",
                "not synchronised, as far as the kernel knows (error bound %s)", bound);
    } else if (clock.maxerror > MAXERROR_WARN_US) {
        finding(doctor, LEVEL_WARNING, "clock", "look at the NTP client's sources",
                "synchronised, but only to within %s", bound);
    } else {
        char estimate[TEXT_SIZE];
        finding(doctor, LEVEL_GOOD, "clock", "", "synchronised to within %s (estimated error %s)",
                bound, text_span(clock.esterror, estimate));
    }
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

struct sample {
    uint64_t reads;
    uint64_t back_count;
    int64_t back_max_ns;
    uint64_t jump_count; /* of the offset between the two clocks */
    int64_t jump_max_ns;
};

/* Reads the clock for a while, each time between two reads of one that nobody can set. */
static void sample_clock(struct sample *sample)
{
    const int64_t end_ns = clock_ns(CLOCK_BOOTTIME) + SAMPLE_NS;
    int64_t last_ns = 0;
    int64_t offset_ns = 0;
    bool has_offset = false;
    for (int64_t before_ns = 0; before_ns < end_ns; sample->reads++) {
        before_ns = clock_ns(CLOCK_BOOTTIME);
        const int64_t now_ns = clock_ns(CLOCK_REALTIME);
        const int64_t after_ns = clock_ns(CLOCK_BOOTTIME);
        if (now_ns < last_ns) {
            sample->back_count++;
            const int64_t back_ns = last_ns - now_ns;
            sample->back_max_ns = back_ns > sample->back_max_ns ? back_ns : sample->back_max_ns;
        }
        last_ns = now_ns;
        if (after_ns - before_ns > PAIR_MAX_NS) {
            continue;
        }
        const int64_t jump_ns = has_offset ? now_ns - before_ns - offset_ns : 0;
        if (jump_ns > STEP_MIN_NS || jump_ns < -STEP_MIN_NS) {
            sample->jump_count++;
            const int64_t size_ns = jump_ns < 0 ? -jump_ns : jump_ns;
            sample->jump_max_ns = size_ns > sample->jump_max_ns ? size_ns : sample->jump_max_ns;
        }
        offset_ns = now_ns - before_ns;
        has_offset = true;
    }
}

static void check_steps(struct doctor *doctor)
{
    struct sample sample = {0};
    char size[TEXT_SIZE];
    sample_clock(&sample);
    if (sample.back_count > 0) {
        finding(doctor, LEVEL_WARNING, "steps",
                "find what sets the clock; ids wait or are refused meanwhile",
                "the clock went back %" PRIu64 " times in %" PRIu64 " reads, by up to %s",
                sample.back_count, sample.reads, text_span(sample.back_max_ns / NS_PER_US, size));
    } else if (sample.jump_count > 0) {
        finding(doctor, LEVEL_WARNING, "steps", "find what sets the clock",
                "the clock jumped %" PRIu64 " times against the time since boot, by up to %s",
                sample.jump_count, text_span(sample.jump_max_ns / NS_PER_US, size));
    } else {
        finding(doctor, LEVEL_GOOD, "steps", "",
                "no step in %" PRIu64 " reads of the clock against the time since boot",
                sample.reads);
    }
}

static void check_boot(struct doctor *doctor)
{
    char up[TEXT_SIZE];
    char asleep[TEXT_SIZE];
    const int64_t boot_ns = clock_ns(CLOCK_BOOTTIME);
    const int64_t asleep_ns = boot_ns - clock_ns(CLOCK_MONOTONIC);
    const int64_t now_ns = clock_ns(CLOCK_REALTIME);
    (void)text_span(boot_ns / NS_PER_US, up);
    if (now_ns < boot_ns) {
        finding(doctor, LEVEL_BAD, "boot", "set the clock",
                "the clock says fewer seconds since 1970 than have passed since boot (%s)", up);
        return;
    }
    finding(doctor, LEVEL_GOOD, "boot", "", "up for %s, %s of it suspended", up,
            asleep_ns > NS_PER_S ? text_span(asleep_ns / NS_PER_US, asleep) : "none");
}

static void check_vmclock(struct doctor *doctor)
{
    const char *path = firn_options_default().vmclock_path;
    if (path == NULL) {
        path = "/dev/vmclock0";
    }
    if (access(path, R_OK) == 0) {
        finding(doctor, LEVEL_GOOD, "snapshots", "", "%s: a restored VM snapshot is noticed", path);
    } else if (access(path, F_OK) == 0) {
        finding(doctor, LEVEL_WARNING, "snapshots", "let this user read it",
                "%s is there but cannot be read, so a restored VM snapshot is not noticed", path);
    } else {
        finding(doctor, LEVEL_GOOD, "snapshots", "",
                "no %s; in a VM, have programs call firn_quiesce() before a snapshot", path);
    }
}

struct file_system {
    unsigned long magic;
    const char *name;
    enum level level;
    const char *advice;
};

#define NETWORK_ADVICE                                                                             \
    "put the registry on a local disk: a network's locks and flushes are not safe"

/* Numbers without a name in linux/magic.h are the kernel's own, from each file system's source. */
static const struct file_system file_systems[] = {
    {EXT4_SUPER_MAGIC, "ext4", LEVEL_GOOD, ""},
    {XFS_SUPER_MAGIC, "xfs", LEVEL_GOOD, ""},
    {BTRFS_SUPER_MAGIC, "btrfs", LEVEL_GOOD, ""},
    {F2FS_SUPER_MAGIC, "f2fs", LEVEL_GOOD, ""},
    {0x2fc12fc1, "zfs", LEVEL_GOOD, ""},
    {0xca451a4e, "bcachefs", LEVEL_GOOD, ""},
    {OVERLAYFS_SUPER_MAGIC, "overlay", LEVEL_WARNING,
     "in a container, put the registry on a volume: this one ends with the container"},
    {TMPFS_MAGIC, "tmpfs", LEVEL_WARNING,
     "put the registry on a disk: what is in memory is lost at a reboot"},
    {RAMFS_MAGIC, "ramfs", LEVEL_WARNING,
     "put the registry on a disk: what is in memory is lost at a reboot"},
    {MSDOS_SUPER_MAGIC, "vfat", LEVEL_WARNING, "use a file system with a journal"},
    {NFS_SUPER_MAGIC, "nfs", LEVEL_BAD, NETWORK_ADVICE},
    {SMB_SUPER_MAGIC, "smb", LEVEL_BAD, NETWORK_ADVICE},
    {0xff534d42, "cifs", LEVEL_BAD, NETWORK_ADVICE},
    {0xfe534d42, "smb2", LEVEL_BAD, NETWORK_ADVICE},
    {AFS_SUPER_MAGIC, "afs", LEVEL_BAD, NETWORK_ADVICE},
    {CODA_SUPER_MAGIC, "coda", LEVEL_BAD, NETWORK_ADVICE},
    {0x00c36400, "ceph", LEVEL_BAD, NETWORK_ADVICE},
    {V9FS_MAGIC, "9p", LEVEL_BAD, NETWORK_ADVICE},
    {0x65735546, "fuse", LEVEL_WARNING,
     "make sure that what is behind it is a local disk, not a network"},
};

static void check_file_system(struct doctor *doctor)
{
    char path[PATH_MAX];
    struct statfs found;
    memcpy(path, doctor->choice.path, sizeof path);
    /* Before the first use neither the file nor its folders need exist. */
    while (path[0] != '\0' && statfs(path, &found) != 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || slash == NULL) {
            finding(doctor, LEVEL_WARNING, "disk", "", "%s: %s", path, strerror(errno));
            return;
        }
        slash[slash == path && path[1] != '\0' ? 1 : 0] = '\0';
    }
    if (path[0] == '\0') {
        return;
    }
    const uint64_t free_mib = (uint64_t)found.f_bavail * (uint64_t)found.f_bsize / 1048576;
    const unsigned long magic = (unsigned long)found.f_type & 0xffffffffUL;
    const struct file_system *system = NULL;
    for (size_t i = 0; i < sizeof file_systems / sizeof file_systems[0]; i++) {
        if (file_systems[i].magic == magic) {
            system = &file_systems[i];
        }
    }
    if (free_mib == 0) {
        finding(doctor, LEVEL_BAD, "disk", "make room", "%s: the disk is full", path);
    } else if (system == NULL) {
        finding(doctor, LEVEL_WARNING, "disk", "make sure that it is a local disk",
                "%s: a file system that firn does not know (0x%lx)", path, magic);
    } else {
        finding(doctor, system->level, "disk", system->advice, "%s: %s, %" PRIu64 " MiB free", path,
                system->name, free_mib);
    }
}

static void check_layout(struct doctor *doctor, const firn_realm *realm)
{
    firn_layout layout;
    firn_capacity capacity;
    firn_error error;
    char end[TEXT_SIZE];
    char left[TEXT_SIZE];
    const int64_t now_us = input_now_us();
    if (firn_layout_parse(realm->layout, &layout, &error) < 0 ||
        firn_layout_check(&layout, now_us, 0, &error) < 0) {
        error_finding(doctor, "layout", &error);
        return;
    }
    (void)firn_layout_capacity(&layout, &capacity);
    const bool soon = capacity.end_us - now_us < 5 * US_PER_YEAR;
    finding(doctor, soon ? LEVEL_WARNING : LEVEL_GOOD, "layout",
            soon ? "plan the move to a realm with a later epoch" : "", "%s ends %s, %s",
            realm->layout, text_relative(capacity.end_us, now_us, left),
            text_utc(capacity.end_us, 0, end));
}

struct tally {
    uint64_t taken; /* not free at the moment */
    uint64_t ahead; /* marks further ahead than a window and the skew allow */
    uint32_t furthest;
    int64_t furthest_ms;
};

static int tally_workers(firn_registry *registry, const firn_realm *realm, struct tally *tally,
                         firn_error *error)
{
    firn_worker page[WORKERS_PAGE];
    const int64_t now_ms = input_now_us() / US_PER_MS;
    uint32_t first = 0;
    size_t count = WORKERS_PAGE;
    while (count == WORKERS_PAGE) {
        const int status =
            firn_registry_workers(registry, first, page, WORKERS_PAGE, &count, error);
        if (status < 0) {
            return status;
        }
        for (size_t i = 0; i < count; i++) {
            const firn_worker *worker = &page[i];
            tally->taken += worker->free_ms >= now_ms ? 1 : 0;
            if (worker->mark_ms > now_ms + realm->window_ms + realm->skew_max_ms) {
                tally->ahead++;
            }
            if (worker->mark_ms - now_ms > tally->furthest_ms) {
                tally->furthest_ms = worker->mark_ms - now_ms;
                tally->furthest = worker->worker;
            }
        }
        first = count > 0 ? page[count - 1].worker + 1 : first;
    }
    return FIRN_OK;
}

static void check_workers(struct doctor *doctor, firn_registry *registry, const firn_realm *realm)
{
    struct tally tally = {0};
    firn_error error;
    char ahead[TEXT_SIZE];
    if (tally_workers(registry, realm, &tally, &error) < 0) {
        error_finding(doctor, "workers", &error);
        return;
    }
    const uint64_t all = (uint64_t)realm->worker_last - realm->worker_first + 1;
    const bool scarce = tally.taken * 5 > all * 4;
    finding(doctor,
            tally.taken >= all ? LEVEL_BAD
            : scarce           ? LEVEL_WARNING
                               : LEVEL_GOOD,
            "workers",
            scarce ? "see who holds them with 'firn workers'; a layout with more worker bits has "
                     "more"
                   : "",
            "%" PRIu64 " of %" PRIu64 " numbers are taken at the moment", tally.taken, all);
    if (tally.ahead > 0) {
        finding(doctor, LEVEL_WARNING, "marks",
                "either this clock is behind or another was ahead; those numbers rest until then",
                "%" PRIu64 " marks are far ahead of this clock, worker %" PRIu32 "'s by %s",
                tally.ahead, tally.furthest, text_span(tally.furthest_ms * US_PER_MS, ahead));
    } else {
        finding(doctor, LEVEL_GOOD, "marks", "", "no mark is further ahead than a window");
    }
}

static void check_realm(struct doctor *doctor, firn_registry *registry)
{
    firn_realm realm = firn_realm_default();
    firn_error error;
    char uuid[REALM_UUID_SIZE];
    char window[TEXT_SIZE];
    if (firn_registry_realm(registry, &realm, &error) < 0) {
        error_finding(doctor, "registry", &error);
        return;
    }
    finding(doctor, LEVEL_GOOD, "registry", "", "%s (%s)", doctor->choice.url,
            doctor->choice.source);
    finding(doctor, LEVEL_GOOD, "realm", "", "%s, window %s", realm_uuid(&realm, uuid),
            text_span(realm.window_ms * US_PER_MS, window));
    if (firn_registry_probe(registry, &error) < 0) {
        error_finding(doctor, "can say no", &error);
    } else {
        finding(doctor, LEVEL_GOOD, "can say no", "", "a write that must be refused was refused");
    }
    check_workers(doctor, registry, &realm);
    check_layout(doctor, &realm);
}

static void check_registry(struct doctor *doctor)
{
    const struct registry_choice *choice = &doctor->choice;
    if (choice->path[0] != '\0') {
        check_file_system(doctor);
    }
    if (!registry_exists(choice)) {
        finding(doctor, choice->own ? LEVEL_GOOD : LEVEL_BAD, "registry",
                choice->own ? "" : "make it with 'firn init', or correct the path",
                "none yet at %s (%s)%s", choice->path, choice->source,
                choice->own ? ": 'firn gen' makes it at its first use" : "");
        return;
    }
    firn_registry *registry = NULL;
    firn_error error;
    if (firn_registry_open(choice->url, 5000, &registry, &error) < 0) {
        error_finding(doctor, "registry", &error);
        return;
    }
    check_realm(doctor, registry);
    firn_registry_close(registry);
}

static int run(const struct arguments *arguments)
{
    struct doctor doctor = {.as_json = arguments->given[JSON]};
    if (!registry_choose(arguments->values[REGISTRY], &doctor.choice)) {
        return EXIT_USAGE;
    }
    if (doctor.as_json) {
        json_open(&doctor.json, NULL, '{');
        json_open(&doctor.json, "findings", '[');
    }
    check_version(&doctor);
    check_synchronised(&doctor);
    check_steps(&doctor);
    check_boot(&doctor);
    check_vmclock(&doctor);
    check_registry(&doctor);
    if (doctor.as_json) {
        json_close(&doctor.json, ']');
        json_integer(&doctor.json, "warnings", doctor.counts[LEVEL_WARNING]);
        json_integer(&doctor.json, "bad", doctor.counts[LEVEL_BAD]);
        json_close(&doctor.json, '}');
    }
    return doctor.counts[LEVEL_BAD] > 0 ? EXIT_FINDING : EXIT_GOOD;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "look for trouble: the clock, the registry, its disk",
    .description = "Checks what ids depend on, a line each: ok, warn or bad, with what to do. It "
                   "makes nothing. The exit code is 1 when something is bad.",
    .options = options,
    .examples = examples,
    .run = run,
};
