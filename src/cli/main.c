/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The firn command: finds the command that was named and runs it. The table of commands is in
 * options.c, each command in a file of its own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help.h"
#include "cli/options.h"
#include "cli/output.h"
#include "firn/status.h"

static int complain_unknown(const char *name)
{
    const struct command *nearest = command_nearest(name);
    if (nearest != NULL) {
        return complain(EXIT_USAGE, "'%s': there is no such command; did you mean 'firn %s'?", name,
                        nearest->name);
    }
    return complain(EXIT_USAGE, "'%s': there is no such command; 'firn' lists them", name);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct arguments arguments;
    const char **words = calloc((size_t)argc, sizeof *words);
    if (words == NULL) {
        return complain(EXIT_SYSTEM, "out of memory: the command line has %d words", argc);
    }
    int code = EXIT_USAGE;
    switch (options_parse(command, argc, argv, words, &arguments)) {
    case OPTIONS_RUN:
        code = command->run(&arguments);
        break;
    case OPTIONS_HELP:
        help_command(command);
        code = EXIT_GOOD;
        break;
    case OPTIONS_WRONG:
        break;
    }
    free(words);
    return code;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help_short();
        return EXIT_GOOD;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        print("firn %s\n", firn_version());
        return EXIT_GOOD;
    }
    if (name[0] == '-') {
        return complain(EXIT_USAGE, "%s: options come after a command; 'firn' lists the commands",
                        name);
    }
    const struct command *command = command_find(name);
    if (command == NULL) {
        return complain_unknown(name);
    }
    return run_command(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    /* A closed pipe is then an error of write(), so that a lease is still given back. */
    (void)signal(SIGPIPE, SIG_IGN);
    output_begin();
    return output_end(dispatch(argc, argv));
}
