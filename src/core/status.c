/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The status list as tables, and the writer of firn_error. What each function may return is said in
 * its header block. */
#include "firn/status.h"

#include <stdarg.h>
#include <stdio.h>

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
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error_out->text, sizeof error_out->text, format, arguments);
    va_end(arguments);
    return status;
}
