/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Which registry a command uses: --registry, else FIRN_REGISTRY, else a SQLite file in the state
 * folder. Only the last is made without being asked.
 */
#ifndef FIRN_CLI_REGISTRY_URL_H
#define FIRN_CLI_REGISTRY_URL_H

#include <limits.h>
#include <stdbool.h>

#include "firn/firn.h"

/* Every byte of a path may take three, and a few more for the rest of the URL. */
#define REGISTRY_URL_SIZE (3 * PATH_MAX + 64)

struct registry_choice {
    char url[REGISTRY_URL_SIZE];
    char path[PATH_MAX]; /* its file; "" when it has none */
    bool own;            /* the file in the state folder: made, with its folder, when missing */
    const char *source;  /* where the choice comes from, for a person */
};

/* option: the value of --registry, or NULL. False when it has complained. */
bool registry_choose(const char *option, struct registry_choice *choice_out);

/* Makes the folder of an own registry. False when it has complained. */
bool registry_folder_make(const struct registry_choice *choice);

/* Whether there is a file to open; true also for registries that have none. */
bool registry_exists(const struct registry_choice *choice);

/* Opens it to look at, making nothing. The exit code: EXIT_GOOD, or it has complained. */
int registry_look(const struct registry_choice *choice, firn_registry **registry_out);

#endif
