/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The man page, in mdoc(7), from the same tables as the help. */
#include "cli/manual.h"

#include <string.h>

#include "cli/help.h"
#include "cli/options.h"
#include "cli/output.h"

/* The day of the release: a page must not change with the day on which it is made. */
#define MANUAL_DATE "November 30, 2026"

/* Text as roff reads it literally, on one line. */
static void escaped(const char *text)
{
    if (*text == '.' || *text == '\'') {
        print("\\&");
    }
    for (; *text != '\0'; text++) {
        if (*text == '\\') {
            print("\\e");
        } else if (*text == '-') {
            print("\\-");
        } else {
            print("%c", *text == '\n' ? ' ' : *text);
        }
    }
}

/* Paragraphs, a line a sentence, as mdoc likes it. */
static void prose(const char *text)
{
    char line[1024];
    while (*text != '\0') {
        const char *sentence = strstr(text, ". ");
        const char *paragraph = strstr(text, "\n\n");
        const char *end = text + strlen(text);
        const char *next = end;
        if (paragraph != NULL && (sentence == NULL || paragraph < sentence)) {
            end = paragraph;
            next = paragraph + 2;
        } else if (sentence != NULL) {
            end = sentence + 1;
            next = sentence + 2;
        }
        const size_t size = (size_t)(end - text);
        if (size < sizeof line) {
            memcpy(line, text, size);
            line[size] = '\0';
            escaped(line);
            print("%s", end == paragraph ? "\n.Pp\n" : "\n");
        }
        text = next;
    }
}

static void option_item(const struct option_spec *spec)
{
    print(".It ");
    if (spec->letter != '\0') {
        print("Fl %c , ", spec->letter);
    }
    print("Fl \\-%s", spec->name);
    print(spec->argument != NULL ? " Ar %s\n" : "\n%s",
          spec->argument != NULL ? spec->argument : "");
    prose(spec->help);
    if (spec->fallback != NULL) {
        print("The default is ");
        escaped(spec->fallback);
        print(".\n");
    }
}

static void synopsis_line(const struct command *command)
{
    print(".Nm Cm %s\n.Op Ar options\n", command->name);
    if (command->words == NULL) {
        return;
    }
    const char *more = command->words_max > 1 ? " ..." : "";
    print(command->words_min > 0 ? ".Ar %s%s\n" : ".Op Ar %s%s\n", command->words, more);
}

static void command_section(const struct command *command)
{
    print(".Ss firn %s\n", command->name);
    prose(command->description);
    if (command->options[0].name == NULL) {
        return;
    }
    print(".Bl -tag -width Ds\n");
    for (const struct option_spec *spec = command->options; spec->name != NULL; spec++) {
        option_item(spec);
    }
    print(".El\n");
}

static void rows(const char *macro, const struct help_row *row)
{
    print(".Bl -tag -width Ds\n");
    for (; row->name != NULL; row++) {
        print(".It %s %s\n", macro, row->name);
        prose(row->meaning);
    }
    print(".El\n");
}

static void exit_section(void)
{
    print(".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
    for (const struct exit_row *row = exit_rows; row->meaning != NULL; row++) {
        print(".It %d\n", row->code);
        prose(row->meaning);
    }
    print(".El\n");
}

static void examples_section(void)
{
    print(".Sh EXAMPLES\n");
    bool first = true;
    for (size_t i = 0; commands[i] != NULL; i++) {
        for (const struct example *example = commands[i]->examples; example->line != NULL;
             example++) {
            print("%s", first ? "" : ".Pp\n");
            first = false;
            prose(example->meaning);
            print(".Pp\n.Dl ");
            escaped(example->line);
            print("\n");
        }
    }
}

void manual_print(void)
{
    print(".\\\" SPDX-License-Identifier: Apache-2.0\n"
          ".\\\" SPDX-FileCopyrightText: The firn authors\n"
          ".Dd %s\n.Dt FIRN 1\n.Os\n.Sh NAME\n.Nm firn\n.Nd %s\n.Sh SYNOPSIS\n",
          MANUAL_DATE, HELP_PURPOSE);
    for (size_t i = 0; commands[i] != NULL; i++) {
        synopsis_line(commands[i]);
    }
    print(".Nm Fl \\-version\n.Sh DESCRIPTION\n");
    prose("firn makes 64-bit ids that sort by time and never clash: a registry hands out worker "
          "numbers, and reserves the time in which each may be used before the first id is made.");
    print(".Pp\n");
    prose("Every command takes --help, which shows its options and examples. Where there is "
          "output, --json gives one JSON object a line, with ids as strings. Without --registry "
          "and FIRN_REGISTRY, the registry is a file of the user, made at its first use.");
    for (size_t i = 0; commands[i] != NULL; i++) {
        command_section(commands[i]);
    }
    print(".Sh ENVIRONMENT\n");
    rows("Ev", help_environment);
    print(".Sh FILES\n");
    rows("Pa", help_files);
    exit_section();
    examples_section();
    print(".Sh SEE ALSO\n.Xr libfirn 3\n");
}
