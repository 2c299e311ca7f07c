/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The in-memory registry's seams for tests: faults to inject, records to damage. */
#ifndef FIRN_REGISTRY_MEM_H
#define FIRN_REGISTRY_MEM_H

#include <stdbool.h>

#include "registry/backend.h"

/* What the next calls of a store suffer; all zero is a good store. */
typedef struct firn__mem_faults {
    int swap_status;   /* this failure instead of an answer … */
    bool swap_applies; /* … though the write was done: a lost reply */
    int read_status;   /* this failure from read, list, identify */
    bool accepts_all;  /* a store that cannot say no */
    bool has_clock;    /* a clock of its own, which stands at clock_ms */
    int64_t clock_ms;
    const char *identity; /* instead of the process's */
} firn__mem_faults;

/* The faults of a named store, which is made if need be; it lives as long as the process. NULL
 * when out of memory. Not safe against threads that use the store. */
firn__mem_faults *firn__mem_faults_of(const char *name);

/* The stored record of a worker, or NULL; and its removal without a trace. */
firn_worker *firn__mem_record(const char *name, uint32_t worker);
void firn__mem_forget(const char *name, uint32_t worker);

/* The stored realm, or NULL. */
firn_realm *firn__mem_realm(const char *name);

#endif
