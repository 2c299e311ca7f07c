/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* /dev/vmclock0 (Linux 6.13 and later; the generation counter since 7.0), read through one mapping.
 * The numbers are those of the kernel's header linux/vmclock-abi.h. */
#include "port/vmclock.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC           0x4b4c4356U /* "VCLK" */
#define FLAG_GENERATION (UINT64_C(1) << 8)
#define SIZE_MIN        112
#define PAGE_SIZE       4096

struct vmclock {
    uint32_t magic;
    uint32_t size;
    uint8_t unused1[16];
    uint64_t flags;
    uint8_t unused2[72];
    uint64_t generation;
};

_Static_assert(offsetof(struct vmclock, flags) == 0x18, "as in vmclock-abi.h");
_Static_assert(offsetof(struct vmclock, generation) == 0x68, "as in vmclock-abi.h");

static const uint64_t never_changes = 0;

const uint64_t *firn__vmclock_open(const char *path)
{
    const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return &never_changes;
    }
    struct stat about;
    void *page = MAP_FAILED;
    /* A regular file that is too short would fault when read; a device has no size. */
    if (fstat(file, &about) == 0 && (!S_ISREG(about.st_mode) || about.st_size >= SIZE_MIN)) {
        page = mmap(NULL, PAGE_SIZE, PROT_READ, MAP_SHARED, file, 0);
    }
    (void)close(file);
    if (page == MAP_FAILED) {
        return &never_changes;
    }
    const struct vmclock *clock = page;
    if (clock->magic != MAGIC || clock->size < SIZE_MIN || (clock->flags & FLAG_GENERATION) == 0) {
        (void)munmap(page, PAGE_SIZE);
        return &never_changes;
    }
    return &clock->generation;
}

void firn__vmclock_close(const uint64_t *generation)
{
    if (generation != NULL && generation != &never_changes) {
        const uintptr_t address = (uintptr_t)generation - offsetof(struct vmclock, generation);
        (void)munmap((void *)address, PAGE_SIZE);
    }
}
