/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Writing to standard output and standard error, with one memory of whether the output still takes
 * anything. It does not know what is written; JSON, pictures and tables are made elsewhere. */
#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 2048
#define WIDTH     79

const struct exit_row exit_rows[] = {
#define EXIT_CODE_ROW(name, number, meaning) {number, meaning},
    EXIT_CODE_LIST(EXIT_CODE_ROW)
#undef EXIT_CODE_ROW
        {0, NULL},
};

/* The first write error, as errno; 0 while all is well. */
static int output_error;
static bool colours;

int exit_of_status(int status)
{
    switch (status) {
    case FIRN_OK:
    case FIRN_R_NO_LEASE:
        return EXIT_GOOD;
    case FIRN_E_MEMORY:
    case FIRN_E_RANDOM:
    case FIRN_E_UNSUPPORTED:
        return EXIT_SYSTEM;
    case FIRN_E_CLOCK_WAIT:
    case FIRN_E_CLOCK_BACK:
    case FIRN_E_CLOCK_EPOCH:
    case FIRN_E_CLOCK_SKEW:
    case FIRN_E_LAYOUT_END:
    case FIRN_E_AHEAD:
        return EXIT_CLOCK;
    case FIRN_E_SEQUENCE_FULL:
    case FIRN_E_WINDOW:
    case FIRN_E_DEADLINE:
    case FIRN_E_REGISTRY_BUSY:
    case FIRN_E_WORKERS_BUSY:
    case FIRN_E_WORKER_HELD:
        return EXIT_BUSY;
    case FIRN_E_URL:
    case FIRN_E_BACKEND:
        return EXIT_USAGE;
    default:
        return status <= FIRN_E_RETIRED ? EXIT_REGISTRY : EXIT_USAGE;
    }
}

void output_begin(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    colours = isatty(STDOUT_FILENO) == 1 && (no_color == NULL || no_color[0] == '\0') &&
              terminal != NULL && strcmp(terminal, "dumb") != 0;
}

const char *paint(enum paint colour)
{
    static const char *const sequences[] = {
        [PAINT_NONE] = "\033[0m",      [PAINT_BOLD] = "\033[1m",        [PAINT_DIM] = "\033[2m",
        [PAINT_GOOD] = "\033[32m",     [PAINT_WARNING] = "\033[33m",    [PAINT_BAD] = "\033[31m",
        [PAINT_TIME] = "\033[36m",     [PAINT_DATACENTER] = "\033[35m", [PAINT_WORKER] = "\033[33m",
        [PAINT_SEQUENCE] = "\033[32m",
    };
    return colours ? sequences[colour] : "";
}

static void output_failed(int error)
{
    if (output_error == 0) {
        output_error = error;
    }
}

void print(const char *format, ...)
{
    if (!output_is_open()) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    errno = 0;
    if (vprintf(format, arguments) < 0) {
        output_failed(errno);
    }
    va_end(arguments);
}

void print_wrapped(const char *text, int column, int indent)
{
    bool fresh = true;
    while (*text != '\0') {
        if (text[0] == '\n' && text[1] == '\n') {
            print("\n\n%*s", indent, "");
            column = indent;
            fresh = true;
            text += 2;
            continue;
        }
        const int size = (int)strcspn(text, " \n");
        if (!fresh && column + 1 + size > WIDTH) {
            print("\n%*s", indent, "");
            column = indent;
            fresh = true;
        }
        print("%s%.*s", fresh ? "" : " ", size, text);
        column += size + (fresh ? 0 : 1);
        fresh = false;
        text += size;
        text += *text == ' ' ? 1 : 0;
    }
    print("\n");
}

bool output_bytes(const char *bytes, size_t size)
{
    while (size > 0 && output_is_open()) {
        const ssize_t written = write(STDOUT_FILENO, bytes, size);
        if (written >= 0) {
            bytes += written;
            size -= (size_t)written;
        } else if (errno == EAGAIN) {
            /* Somebody made our end non-blocking; wait as a blocking write would. */
            (void)poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            output_failed(errno);
        }
    }
    return output_is_open();
}

bool output_is_open(void)
{
    return output_error == 0;
}

int output_end(int code)
{
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        output_failed(errno != 0 ? errno : EIO);
    }
    /* Some file systems say only now that the disk is full. */
    if (output_error == 0 && close(STDOUT_FILENO) != 0 && errno != EBADF) {
        output_failed(errno);
    }
    if (output_error == 0 || output_error == EPIPE) {
        return code;
    }
    return complain(EXIT_OUTPUT, "standard output: %s; not everything was written",
                    strerror(output_error));
}

__attribute__((format(printf, 2, 0))) static void error_line(const char *prefix, const char *format,
                                                             va_list arguments)
{
    char line[LINE_SIZE];
    (void)vsnprintf(line, sizeof line, format, arguments);
    for (char *at = line; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7f) {
            *at = '?';
        }
    }
    (void)fprintf(stderr, "firn: %s%s\n", prefix, line);
}

int complain(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_line("", format, arguments);
    va_end(arguments);
    return code;
}

int complain_error(const firn_error *error)
{
    return complain(exit_of_status(error->status), "%s", error->text);
}

void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_line("note: ", format, arguments);
    va_end(arguments);
}
