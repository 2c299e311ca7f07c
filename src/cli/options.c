/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The table of commands and the reading of a command line, by getopt_long. What the values mean is
 * left to each command. */
#include "cli/options.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "cli/output.h"

#define NAME_MAX_SIZE 32
#define CODE_HELP     1000
/* Long options are told apart by this and their place in the table. */
#define CODE_FIRST 1001

const struct command *const commands[] = {
    &cmd_gen,    &cmd_explain, &cmd_range, &cmd_layout,     &cmd_init, &cmd_workers,
    &cmd_doctor, &cmd_bench,   &cmd_help,  &cmd_completion, NULL,
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, one row at a time; texts too long to be a slip count as far. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t a_size = strlen(a);
    const size_t b_size = strlen(b);
    if (a_size >= NAME_MAX_SIZE || b_size >= NAME_MAX_SIZE) {
        return NAME_MAX_SIZE;
    }
    size_t row[NAME_MAX_SIZE];
    for (size_t j = 0; j <= b_size; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = smaller(replaced, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_size];
}

const struct command *command_nearest(const char *text)
{
    const struct command *nearest = NULL;
    /* More than half of the letters wrong is another word. */
    size_t best = smaller(strlen(text), 6) / 2 + 1;
    for (size_t i = 0; commands[i] != NULL; i++) {
        size_t distance = edit_distance(text, commands[i]->name);
        if (strncmp(text, commands[i]->name, strlen(text)) == 0) {
            distance = 0;
        }
        if (distance < best) {
            best = distance;
            nearest = commands[i];
        }
    }
    return nearest;
}

/* getopt's two tables, from ours. */
struct getopt_tables {
    struct option longs[OPTIONS_MAX + 2];
    char shorts[2 * OPTIONS_MAX + 8];
};

static void tables_fill(struct getopt_tables *tables, const struct option_spec *specs)
{
    /* '-': words are handed over in their place; ':': what is missing is told apart. */
    char *at = stpcpy(tables->shorts, "-:h");
    size_t count = 0;
    for (; specs[count].name != NULL; count++) {
        const struct option_spec *spec = &specs[count];
        tables->longs[count] = (struct option){
            .name = spec->name,
            .has_arg = spec->argument != NULL ? required_argument : no_argument,
            .val = CODE_FIRST + (int)count,
        };
        if (spec->letter != '\0') {
            *at++ = spec->letter;
            at = spec->argument != NULL ? stpcpy(at, ":") : at;
        }
    }
    *at = '\0';
    tables->longs[count] = (struct option){.name = "help", .val = CODE_HELP};
    tables->longs[count + 1] = (struct option){0};
}

static bool is_negative_number(const char *text)
{
    return text[0] == '-' && isdigit((unsigned char)text[1]) != 0;
}

static int place_of(const struct option_spec *specs, int code)
{
    if (code >= CODE_FIRST) {
        return code - CODE_FIRST;
    }
    for (int i = 0; specs[i].name != NULL; i++) {
        if (specs[i].letter != '\0' && specs[i].letter == code) {
            return i;
        }
    }
    return -1;
}

static enum options_result complain_option(const struct command *command, int code, char **argv)
{
    const char *text = argv[optind - 1];
    if (code == ':') {
        const int place = place_of(command->options, optopt);
        (void)complain(EXIT_USAGE, "%s: the option needs a value (%s); see 'firn %s --help'", text,
                       place >= 0 ? command->options[place].argument : "?", command->name);
    } else if (optopt >= CODE_HELP) {
        (void)complain(EXIT_USAGE, "%s: the option takes no value; see 'firn %s --help'", text,
                       command->name);
    } else if (optopt != 0) {
        (void)complain(EXIT_USAGE, "-%c: 'firn %s' has no such option; see 'firn %s --help'",
                       optopt, command->name, command->name);
    } else {
        (void)complain(EXIT_USAGE, "%s: 'firn %s' has no such option; see 'firn %s --help'", text,
                       command->name, command->name);
    }
    return OPTIONS_WRONG;
}

static enum options_result check_words(const struct command *command,
                                       const struct arguments *arguments)
{
    if (arguments->words_count > command->words_max) {
        (void)complain(EXIT_USAGE, "%s: one word too many for 'firn %s'; see 'firn %s --help'",
                       arguments->words[command->words_max], command->name, command->name);
        return OPTIONS_WRONG;
    }
    if (arguments->words_count < command->words_min) {
        (void)complain(EXIT_USAGE, "'firn %s' needs %s; see 'firn %s --help'", command->name,
                       command->words, command->name);
        return OPTIONS_WRONG;
    }
    return OPTIONS_RUN;
}

static void arguments_init(const struct option_spec *specs, const char **words,
                           struct arguments *arguments)
{
    *arguments = (struct arguments){.words = words};
    for (size_t i = 0; specs[i].name != NULL; i++) {
        arguments->values[i] = specs[i].fallback;
    }
}

enum options_result options_parse(const struct command *command, int argc, char **argv,
                                  const char **words, struct arguments *arguments_out)
{
    struct getopt_tables tables;
    tables_fill(&tables, command->options);
    arguments_init(command->options, words, arguments_out);
    opterr = 0;
    optind = 1;
    while (optind < argc) {
        if (is_negative_number(argv[optind])) {
            words[arguments_out->words_count++] = argv[optind++];
            continue;
        }
        const int code = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
        if (code == -1) {
            break;
        }
        if (code == 'h' || code == CODE_HELP) {
            return OPTIONS_HELP;
        }
        if (code == '?' || code == ':') {
            return complain_option(command, code, argv);
        }
        if (code == 1) {
            words[arguments_out->words_count++] = optarg;
            continue;
        }
        const int place = place_of(command->options, code);
        arguments_out->values[place] = optarg != NULL ? optarg : "";
        arguments_out->given[place] = true;
    }
    while (optind < argc) {
        words[arguments_out->words_count++] = argv[optind++];
    }
    return check_words(command, arguments_out);
}
