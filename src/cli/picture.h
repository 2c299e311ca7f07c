/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * The picture of the 64 bits: a line of labels, a line of bits, and a legend. It is 80 columns wide
 * at most and reads the same without colour.
 */
#ifndef FIRN_CLI_PICTURE_H
#define FIRN_CLI_PICTURE_H

#include <stdint.h>

#include "firn/layout.h"

/* The bits of an id, and what each field says. */
void picture_id(const firn_layout *layout, uint64_t id);

/* The fields' letters in place of bits, and what each field can hold. */
void picture_layout(const firn_layout *layout);

#endif
