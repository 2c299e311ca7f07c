/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The status list as tables, and the writer of firn_error. What each function may return is said in
 * its header block. */
#include "firn/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

struct status_row {
    int status;
    const char *name;
    const char *text;
    const char *hint;
};

static const struct status_row rows[] = {
#define STATUS_ROW(name, number, sentence, hint) {name, #name, sentence, hint},
    FIRN_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const size_t row_count = sizeof rows / sizeof rows[0];

static const struct status_row *row_find(int status)
{
    static const struct status_row unknown = {0, "FIRN_UNKNOWN", "unknown status", ""};
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].status == status) {
            return &rows[i];
        }
    }
    return &unknown;
}

const char *firn_status_name(int status)
{
    return row_find(status)->name;
}

const char *firn_status_text(int status)
{
    return row_find(status)->text;
}

const char *firn_status_hint(int status)
{
    return row_find(status)->hint;
}

int firn_status_at(size_t index, int *status_out)
{
    if (status_out == NULL || index >= row_count) {
        return FIRN_E_ARGUMENT;
    }
    *status_out = rows[index].status;
    return FIRN_OK;
}

const char *firn_version(void)
{
    return FIRN_VERSION;
}

/* The longest start of text, at most size_max bytes, that ends between two characters. */
static size_t whole_size(const char *text, size_t size_max)
{
    size_t size = strlen(text);
    if (size <= size_max) {
        return size;
    }
    size = size_max;
    while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80) {
        size--;
    }
    return size;
}

void firn__text_copy(char *buf, size_t buf_size, const char *text)
{
    const size_t size = whole_size(text, buf_size - 1);
    memcpy(buf, text, size);
    buf[size] = '\0';
}

int firn__error(firn_error *error_out, int status, int32_t position, const char *format, ...)
{
    if (error_out == NULL) {
        return status;
    }
    error_out->status = status;
    error_out->position = position;
    if (format == NULL) {
        const struct status_row *row = row_find(status);
        (void)snprintf(error_out->text, sizeof error_out->text, "%s: %s", row->text, row->hint);
        return status;
    }
    /* One more than fits, so that a cut is seen and can be made between two characters. */
    char text[sizeof error_out->text + 1];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    firn__text_copy(error_out->text, sizeof error_out->text, text);
    return status;
}
