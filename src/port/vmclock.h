/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The kernel's page that tells a virtual machine that it was restored from a snapshot. */
#ifndef FIRN_PORT_VMCLOCK_H
#define FIRN_PORT_VMCLOCK_H

#include <stdint.h>

/* The generation counter in the page at path; or, when there is none or it is not in use, a word
 * that never changes. */
const uint64_t *firn__vmclock_open(const char *path);
void firn__vmclock_close(const uint64_t *generation);

#endif
