/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A registry's URL in parts. */
#ifndef FIRN_REGISTRY_URL_H
#define FIRN_REGISTRY_URL_H

#include <stdint.h>

#include "firn/status.h"

#define FIRN__URL_SIZE    4096
#define FIRN__SCHEME_SIZE 32
#define FIRN__ANY_WORKER  (-1)

typedef struct firn__url {
    char scheme[FIRN__SCHEME_SIZE]; /* of the backend: "static" has become "sqlite" */
    char path[FIRN__URL_SIZE];      /* a file, or a name; percent signs decoded */
    int64_t worker;                 /* the worker that the URL asks for, or FIRN__ANY_WORKER */
} firn__url;

/* Returns FIRN_OK, FIRN_E_URL or FIRN_E_ARGUMENT. */
int firn__url_parse(const char *text, firn__url *url_out, firn_error *error_out);

#endif
