/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Help for people, made from the tables of commands and options. */
#ifndef FIRN_CLI_HELP_H
#define FIRN_CLI_HELP_H

#include "cli/options.h"

/* What the command is, said once for help and man page. */
#define HELP_PURPOSE "unique 64-bit ids that sort by time"

struct help_row {
    const char *name; /* NULL ends the table */
    const char *meaning;
};

/* The environment variables and the files that count. */
extern const struct help_row help_environment[];
extern const struct help_row help_files[];

/* For firn alone: what there is, in a screenful. */
void help_short(void);

/* For firn COMMAND --help. */
void help_command(const struct command *command);

#endif
