/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The URLs of firn/firn.h, taken apart: scheme:path?name=value&…; percent signs are decoded in the
 * path and in values. Which schemes exist is registry.c's. */
#include "registry/url.h"

#include <string.h>

#include "core/error.h"

#define WORKER_MAX UINT32_MAX

static int url_error(firn_error *error_out, const char *text, const char *what)
{
    return firn__error(error_out, FIRN_E_URL, FIRN__NO_POSITION,
                       "registry '%.120s': %s: write sqlite:/path/to/file, "
                       "static:7?path=/path/to/file, or mem:name",
                       text, what);
}

static int hex_value(char digit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = digit == '\0' ? NULL : strchr(digits, digit);
    return at == NULL ? -1 : (int)((at - digits) % 16);
}

/* Decodes [from, end) into a buffer of FIRN__URL_SIZE. */
static int decode(const char *from, const char *end, char *out)
{
    size_t size = 0;
    while (from < end) {
        char byte = *from++;
        if (byte == '%') {
            const int high = end - from >= 2 ? hex_value(from[0]) : -1;
            const int low = high < 0 ? -1 : hex_value(from[1]);
            if (low < 0 || (high == 0 && low == 0)) {
                return -1;
            }
            byte = (char)(high * 16 + low);
            from += 2;
        }
        if (size == FIRN__URL_SIZE - 1) {
            return -1;
        }
        out[size++] = byte;
    }
    out[size] = '\0';
    return 0;
}

static int read_worker(const char *from, const char *end, int64_t *worker_out)
{
    int64_t number = 0;
    if (from == end) {
        return -1;
    }
    for (; from < end; from++) {
        if (*from < '0' || *from > '9') {
            return -1;
        }
        number = number * 10 + (*from - '0');
        if (number > (int64_t)WORKER_MAX) {
            return -1;
        }
    }
    *worker_out = number;
    return 0;
}

/* static:N?path=… is a SQLite file with the worker fixed. */
static int read_static(const char *text, const char *rest, const char *query, firn__url *url,
                       firn_error *error_out)
{
    if (read_worker(rest, query, &url->worker) < 0) {
        return url_error(error_out, text, "after static: comes a worker number");
    }
    if (strncmp(query, "?path=", 6) != 0 ||
        decode(query + 6, query + strlen(query), url->path) < 0 || url->path[0] == '\0') {
        return url_error(error_out, text,
                         "static needs the file that keeps its mark, as ?path=/path/to/file");
    }
    memcpy(url->scheme, "sqlite", sizeof "sqlite");
    return FIRN_OK;
}

int firn__url_parse(const char *text, firn__url *url_out, firn_error *error_out)
{
    if (text == NULL || url_out == NULL) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || colon - text >= FIRN__SCHEME_SIZE) {
        return url_error(error_out, text, "no scheme");
    }
    firn__url url = {.worker = FIRN__ANY_WORKER};
    memcpy(url.scheme, text, (size_t)(colon - text));
    const char *rest = colon + 1;
    const char *query = rest + strcspn(rest, "?");
    if (strcmp(url.scheme, "static") == 0) {
        const int status = read_static(text, rest, query, &url, error_out);
        if (status < 0) {
            return status;
        }
    } else if (*query != '\0') {
        return url_error(error_out, text, "it takes nothing after '?' (in a path, write %3F)");
    } else if (decode(rest, query, url.path) < 0) {
        return url_error(error_out, text, "a path that is too long, or a '%' without two digits");
    } else if (url.path[0] == '\0') {
        return url_error(error_out, text, "nothing after the scheme");
    }
    *url_out = url;
    return FIRN_OK;
}
