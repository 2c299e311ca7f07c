/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Random bytes from the kernel. */
#ifndef FIRN_PORT_RANDOM_H
#define FIRN_PORT_RANDOM_H

#include <stddef.h>

/* Returns FIRN_OK, or FIRN_E_RANDOM; never buffered, so a fork or a snapshot cannot replay it. */
int firn__random(void *bytes, size_t bytes_size);

#endif
