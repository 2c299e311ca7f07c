/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * What a command is, and how its command line is read. A command describes itself in tables; the
 * parser, the help, the man page and the completions are all made from them.
 */
#ifndef FIRN_CLI_OPTIONS_H
#define FIRN_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* What the shell offers for an option's value. */
enum completion { COMPLETE_NOTHING = 0, COMPLETE_FORM, COMPLETE_LAYOUT, COMPLETE_REGISTRY };

struct option_spec {
    char letter;          /* 0: the option has a long name only */
    const char *name;     /* NULL ends the table */
    const char *argument; /* NULL: a switch */
    const char *fallback; /* the value when it is not given; NULL: none */
    const char *help;
    enum completion completion;
};

struct example {
    const char *line; /* what a person types; NULL ends the table */
    const char *meaning;
};

#define OPTIONS_MAX 12

/* A command line, read. */
struct arguments {
    const char *values[OPTIONS_MAX]; /* by place in the option table; a switch given is "" */
    bool given[OPTIONS_MAX];
    const char **words; /* what is no option */
    size_t words_count;
};

struct command {
    const char *name;
    const char *summary; /* one line, for the list of commands */
    const char *words;   /* how the words are called; NULL: there are none */
    size_t words_min;
    size_t words_max;
    enum completion words_completion;
    const char *description; /* paragraphs, divided by "\n\n"; wrapped when they are shown */
    const struct option_spec *options;
    const struct example *examples;
    int (*run)(const struct arguments *arguments);
};

/* In the order in which they are listed; ends with NULL. */
extern const struct command *const commands[];

extern const struct command cmd_gen;
extern const struct command cmd_explain;
extern const struct command cmd_range;
extern const struct command cmd_layout;
extern const struct command cmd_init;
extern const struct command cmd_workers;
extern const struct command cmd_doctor;
extern const struct command cmd_bench;
extern const struct command cmd_help;
extern const struct command cmd_completion;

/* Rows that several commands share. */
#define OPTION_JSON                                                                                \
    {                                                                                              \
        0, "json", NULL, NULL, "Print JSON, one object a line, with ids as strings.",              \
            COMPLETE_NOTHING                                                                       \
    }
#define OPTION_REGISTRY                                                                            \
    {                                                                                              \
        0, "registry", "URL", NULL,                                                                \
            "The registry, such as sqlite:/path/to/file or static:7. Default: FIRN_REGISTRY, "     \
            "else a file in your state folder.",                                                   \
            COMPLETE_REGISTRY                                                                      \
    }
#define OPTION_END                                                                                 \
    {                                                                                              \
        0, NULL, NULL, NULL, NULL, COMPLETE_NOTHING                                                \
    }

/* The command with this name, or NULL. */
const struct command *command_find(const char *name);

/* The command whose name is most like this text, or NULL when none is alike. */
const struct command *command_nearest(const char *text);

/* What a command line turned out to be. */
enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/* Reads argv[1…]; argv[0] is the command's name. When it is wrong, that has been said already.
 * Words such as -5 are numbers, not options. words_out has room for argc. */
enum options_result options_parse(const struct command *command, int argc, char **argv,
                                  const char **words, struct arguments *arguments_out);

#endif
