/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * All text that the command writes, and what it exits with. Answers go to standard output through
 * print() or output_bytes(), everything else to standard error through complain() and note(). A
 * reader that closes the pipe ends the command quietly; any other write error is told and counts.
 */
#ifndef FIRN_CLI_OUTPUT_H
#define FIRN_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "firn/status.h"

/* X(name, number, meaning) */
#define EXIT_CODE_LIST(X)                                                                          \
    X(EXIT_GOOD, 0, "All went well.")                                                              \
    X(EXIT_FINDING, 1, "An id could not be read, or doctor found something bad.")                  \
    X(EXIT_USAGE, 2, "The command line is wrong: a command, an option, a value or a layout.")      \
    X(EXIT_REGISTRY, 3, "The registry cannot be used, or not as asked.")                           \
    X(EXIT_CLOCK, 4, "The clock is refused: it disagrees, went back, or left the layout's life.")  \
    X(EXIT_BUSY, 5, "No id could be made in time: every worker is held, or the registry is busy.") \
    X(EXIT_OUTPUT, 6, "Standard output could not be written.")                                     \
    X(EXIT_SYSTEM, 7, "The system failed: no memory, no random bytes, an input that broke off.")

enum exit_code {
#define EXIT_CODE_ENUM(name, number, meaning) name = (number),
    EXIT_CODE_LIST(EXIT_CODE_ENUM)
#undef EXIT_CODE_ENUM
};

struct exit_row {
    int code;
    const char *meaning;
};

/* The exit codes as a table; its last row has no meaning. */
extern const struct exit_row exit_rows[];

/* What the command exits with when the library returned this status. */
int exit_of_status(int status);

enum paint {
    PAINT_NONE,
    PAINT_BOLD,
    PAINT_DIM,
    PAINT_GOOD,
    PAINT_WARNING,
    PAINT_BAD,
    PAINT_TIME,
    PAINT_DATACENTER,
    PAINT_WORKER,
    PAINT_SEQUENCE
};

/* Decides on colour once: standard output is a terminal, TERM is not dumb, NO_COLOR is not set. */
void output_begin(void);

/* The escape sequence for a colour, or "" when there is none; PAINT_NONE ends the others. */
const char *paint(enum paint colour);

/* To standard output. */
__attribute__((format(printf, 1, 2))) void print(const char *format, ...);

/* Words, wrapped: the first line goes on at column, further ones begin at indent. "\n\n" divides
 * paragraphs. Ends the line. */
void print_wrapped(const char *text, int column, int indent);

/* Past stdio, for bulk. False when the output can take no more: stop then. */
bool output_bytes(const char *bytes, size_t size);

/* False when the output can take no more: whoever writes in a loop stops then. */
bool output_is_open(void);

/* Flush, and the final exit code: code, unless the output failed. Call it once, last. */
int output_end(int code);

/* One line on standard error, control bytes made harmless. Returns code, so that callers can
 * `return complain(EXIT_USAGE, …)`. */
__attribute__((format(printf, 2, 3))) int complain(int code, const char *format, ...);

/* complain() for what the library said. */
int complain_error(const firn_error *error);

/* As complain(), for what does no harm. */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);

#endif
