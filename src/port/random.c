/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Random bytes from the kernel, whole or not at all. */
#include "port/random.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

#include "firn/status.h"

int firn__random(void *bytes, size_t bytes_size)
{
    uint8_t *at = bytes;
    while (bytes_size > 0) {
        const ssize_t got = getrandom(at, bytes_size, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return FIRN_E_RANDOM;
        }
        at += got;
        bytes_size -= (size_t)got;
    }
    return FIRN_OK;
}
