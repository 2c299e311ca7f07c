/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Medians and other quantiles of what was measured. */
#include "cli/samples.h"

#include <math.h>
#include <stdlib.h>

void samples_add(struct samples *samples, double value)
{
    if (samples->count < SAMPLES_MAX) {
        samples->values[samples->count++] = value;
    }
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

double samples_quantile(struct samples *samples, double share)
{
    if (samples->count == 0) {
        return (double)NAN;
    }
    qsort(samples->values, samples->count, sizeof samples->values[0], compare);
    /* The two neighbours of the place asked for, weighted. */
    const double place = share * (double)(samples->count - 1);
    const size_t below = (size_t)place;
    const size_t above = below + 1 < samples->count ? below + 1 : below;
    const double weight = place - (double)below;
    return samples->values[below] * (1 - weight) + samples->values[above] * weight;
}
