/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Shared and wiped memory by mmap(). A page that the kernel wipes at fork is the one witness that
 * sees _Fork() and raw clone() too; pthread_atfork() does not, and getpid() is a system call.
 *
 * firn__memory_fork_word is written once, by mark_once; the word behind it by compare-and-swap. */
#include "port/memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include "core/atomic.h"
#include "firn/status.h"
#include "port/random.h"

const uint64_t *firn__memory_fork_word;

static uint64_t *mark_word;
static pthread_once_t mark_once = PTHREAD_ONCE_INIT;

void *firn__memory_share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void firn__memory_unshare(void *memory, size_t size)
{
    if (memory != NULL) {
        (void)munmap(memory, size);
    }
}

static void make_mark_word(void)
{
    const size_t size = 4096;
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return;
    }
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, size);
        return;
    }
    mark_word = page;
    firn__memory_fork_word = page;
}

uint64_t firn__memory_fork_mark(void)
{
    (void)pthread_once(&mark_once, make_mark_word);
    if (mark_word == NULL) {
        return 0;
    }
    uint64_t mark = firn__load(mark_word);
    if (mark == 0) {
        uint64_t fresh;
        if (firn__random(&fresh, sizeof fresh) < 0) {
            return 0;
        }
        fresh |= 1; /* never 0, which means wiped */
        if (firn__compare_swap(mark_word, &mark, fresh)) {
            mark = fresh;
        }
    }
    return mark;
}
