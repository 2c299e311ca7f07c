/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Memory with a say in forks: shared with children, or wiped in them. */
#ifndef FIRN_PORT_MEMORY_H
#define FIRN_PORT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory that forked children share, or NULL. Aligned to a page. */
void *firn__memory_share(size_t size);
void firn__memory_unshare(void *memory, size_t size);

/*
 * A number that stands for this process image: fork(), _Fork() and clone() without CLONE_VM each
 * give the child another one. It changes only there.
 *
 * Returns    the number; 0 when the kernel cannot wipe memory at fork, or gave no random bytes.
 */
uint64_t firn__memory_fork_mark(void);

/* The word that firn__memory_fork_mark() returned from: reads as 0 in a child until it is asked
 * again. NULL before the first mark. One load, for hot paths. */
extern const uint64_t *firn__memory_fork_word;

#endif
