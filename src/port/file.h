/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* What a registry in a file must know of it: which file it is, and on what file system. */
#ifndef FIRN_PORT_FILE_H
#define FIRN_PORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tells a file from every copy of it: its inode and its birth. Moving or renaming it inside a file
 * system changes neither. Returns 0, or an errno. */
int firn__file_identity(const char *path, char *buf, size_t buf_size);

/* The name of the network file system that a path lies on, or NULL when it is local or unknown. */
const char *firn__file_network(const char *path);

/* The same, of a statfs(2) f_type. */
const char *firn__file_network_name(uint64_t type);

#define FIRN__REASON_SIZE 64

/* An errno as a sentence, for messages. Returns buf. */
const char *firn__file_reason(int reason, char buf[FIRN__REASON_SIZE]);

/* The size of what is at path. Returns 0, or an errno. */
int firn__file_size(const char *path, int64_t *size_out);

#endif
