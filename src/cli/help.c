/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Help on the terminal, and the command 'help'. The man page says the same in roff; see manual.c.
 */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/manual.h"
#include "cli/output.h"

#define WIDTH  79
#define INDENT 2

const struct help_row help_environment[] = {
    {"FIRN_REGISTRY", "The registry's URL when --registry is not given."},
    {"XDG_STATE_HOME", "The state folder, in which the default registry lies."},
    {"NO_COLOR", "When it is set and not empty, nothing is coloured."},
    {"TZ", "The time zone of what is shown as local time."},
    {NULL, NULL},
};

const struct help_row help_files[] = {
    {"/var/lib/firn/registry.db", "The default registry of root."},
    {"~/.local/state/firn/registry.db", "The default registry of everybody else."},
    {NULL, NULL},
};

static void heading(const char *text)
{
    print("\n%s%s%s\n", paint(PAINT_BOLD), text, paint(PAINT_NONE));
}

/* A name in a column of its own, and what it means. */
static void row(const char *name, const char *meaning, int column)
{
    const int size = (int)strlen(name);
    if (INDENT + size + 2 > column) {
        print("%*s%s\n%*s", INDENT, "", name, column, "");
    } else {
        print("%*s%s%*s", INDENT, "", name, column - INDENT - size, "");
    }
    print_wrapped(meaning, column, column);
}

static void list_commands(void)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        row(commands[i]->name, commands[i]->summary, 14);
    }
}

void help_short(void)
{
    print("firn %s: %s\n\nusage: firn COMMAND [options]\n", firn_version(), HELP_PURPOSE);
    heading("commands");
    list_commands();
    print(
        "\nTry 'firn gen', then 'firn explain' with the id. 'firn COMMAND --help' has examples.\n");
}

static void help_long(void)
{
    help_short();
    heading("environment");
    for (const struct help_row *at = help_environment; at->name != NULL; at++) {
        row(at->name, at->meaning, 20);
    }
    heading("files");
    for (const struct help_row *at = help_files; at->name != NULL; at++) {
        row(at->name, at->meaning, 36);
    }
    heading("exit codes");
    for (const struct exit_row *at = exit_rows; at->meaning != NULL; at++) {
        char number[8];
        (void)snprintf(number, sizeof number, "%d", at->code);
        row(number, at->meaning, 6);
    }
}

static void option_row(const struct option_spec *spec)
{
    char name[64];
    char meaning[512];
    (void)snprintf(name, sizeof name, "%s%c%s--%s%s%s", spec->letter != '\0' ? "-" : " ",
                   spec->letter != '\0' ? spec->letter : ' ', spec->letter != '\0' ? ", " : "  ",
                   spec->name, spec->argument != NULL ? " " : "",
                   spec->argument != NULL ? spec->argument : "");
    if (spec->fallback != NULL) {
        (void)snprintf(meaning, sizeof meaning, "%s Default: %s.", spec->help, spec->fallback);
    } else {
        (void)snprintf(meaning, sizeof meaning, "%s", spec->help);
    }
    row(name, meaning, 26);
}

void help_command(const struct command *command)
{
    print("usage: firn %s [options]", command->name);
    if (command->words != NULL) {
        print(command->words_min > 0 ? " %s" : " [%s]", command->words);
        print("%s", command->words_max > 1 ? "..." : "");
    }
    print("\n\n");
    print_wrapped(command->description, 0, 0);
    heading("options");
    for (const struct option_spec *spec = command->options; spec->name != NULL; spec++) {
        option_row(spec);
    }
    row("-h, --help", "Show this.", 26);
    heading("examples");
    for (const struct example *example = command->examples; example->line != NULL; example++) {
        print("%*s%s\n%*s", INDENT, "", example->line, 3 * INDENT, "");
        print_wrapped(example->meaning, 3 * INDENT, 3 * INDENT);
    }
}

enum { MAN };

static const struct option_spec options[] = {
    [MAN] = {0, "man", NULL, NULL, "Print the whole manual, in roff: the source of firn(1).",
             COMPLETE_NOTHING},
    OPTION_END,
};

static const struct example examples[] = {
    {"firn help", "What there is, with environment, files and exit codes."},
    {"firn help gen", "On one command; the same as 'firn gen --help'."},
    {"firn help --man | mandoc -a", "The manual, as a page."},
    {NULL, NULL},
};

static int run(const struct arguments *arguments)
{
    if (arguments->given[MAN]) {
        manual_print();
        return EXIT_GOOD;
    }
    if (arguments->words_count == 0) {
        help_long();
        return EXIT_GOOD;
    }
    const struct command *command = command_find(arguments->words[0]);
    if (command == NULL) {
        return complain(EXIT_USAGE, "'%s': there is no such command; 'firn' lists them",
                        arguments->words[0]);
    }
    help_command(command);
    return EXIT_GOOD;
}

const struct command cmd_help = {
    .name = "help",
    .summary = "help on a command, or the whole manual",
    .words = "COMMAND",
    .words_max = 1,
    .description = "Shows what there is to know: in general, on one command, or all of it.",
    .options = options,
    .examples = examples,
    .run = run,
};
