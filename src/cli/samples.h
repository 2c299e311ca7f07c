/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Samples of a measurement: a bounded list, sorted when it is asked. */
#ifndef FIRN_CLI_SAMPLES_H
#define FIRN_CLI_SAMPLES_H

#include <stddef.h>

#define SAMPLES_MAX 8192

struct samples {
    size_t count;
    double values[SAMPLES_MAX];
};

/* Adds a value; past SAMPLES_MAX it is dropped. */
void samples_add(struct samples *samples, double value);

/* The value below which this share (0 to 1) of the samples lies; 0.5 is the median. NAN when there
 * are none. Sorts them. */
double samples_quantile(struct samples *samples, double share);

#endif
