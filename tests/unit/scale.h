/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* How often a test does what it does often. FIRN_TEST_SCALE is a factor, such as 0.01 under
 * ThreadSanitizer or 100 over night. */
#ifndef FIRN_TESTS_UNIT_SCALE_H
#define FIRN_TESTS_UNIT_SCALE_H

#include <stddef.h>
#include <stdlib.h>

static inline size_t test_scaled(size_t count)
{
    const char *given = getenv("FIRN_TEST_SCALE");
    const double factor = given == NULL ? 1.0 : strtod(given, NULL);
    const double scaled = (double)count * factor;
    return scaled < 1.0 ? 1 : (size_t)scaled;
}

#endif
