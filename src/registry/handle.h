/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Opening a handle in another world than the system's: for simulators and tests. */
#ifndef FIRN_REGISTRY_HANDLE_H
#define FIRN_REGISTRY_HANDLE_H

#include "firn/firn.h"
#include "port/environment.h"

/* As firn_open(). env is NULL for the system, and must outlive the handle. */
int firn__open(const char *url, const firn_options *options, const firn__environment *env,
               firn **firn_out);

#endif
