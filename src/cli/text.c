/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Instants and spans as text for people. Machines get RFC 3339 from the library itself. */
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "firn/time.h"

#define US_PER_MS 1000
#define US_PER_S  1000000
#define NS_PER_US 1000
#define NS_PER_MS 1000000
#define NS_PER_S  1000000000

int text_decimals(int64_t tick_ns)
{
    if (tick_ns % NS_PER_S == 0) {
        return 0;
    }
    return tick_ns % NS_PER_MS == 0 ? 3 : 6;
}

char *text_utc(int64_t at_us, int decimals, char *buf)
{
    if (firn_time_format(at_us, decimals, buf, TEXT_SIZE) < 0) {
        (void)snprintf(buf, TEXT_SIZE, "%" PRId64 " us", at_us);
    }
    return buf;
}

char *text_local(int64_t at_us, int decimals, char *buf)
{
    const int64_t below_second_us = (at_us % US_PER_S + US_PER_S) % US_PER_S;
    const time_t second = (time_t)((at_us - below_second_us) / US_PER_S);
    struct tm local;
    if (localtime_r(&second, &local) == NULL) {
        return text_utc(at_us, decimals, buf);
    }
    char date[32];
    char zone[8];
    char fraction[10];
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &local);
    (void)strftime(zone, sizeof zone, "%z", &local);
    (void)snprintf(fraction, sizeof fraction, ".%06" PRId64, below_second_us);
    /* The point and the decimals wanted; strftime's zone lacks the colon that RFC 3339 asks for. */
    (void)snprintf(buf, TEXT_SIZE, "%s%.*s%.3s:%s", date, decimals > 0 ? decimals + 1 : 0, fraction,
                   zone, zone + 3);
    return buf;
}

struct unit {
    int64_t us;
    const char *name;
};

static const struct unit units[] = {
    {INT64_C(31556952) * US_PER_S, "y"}, /* the mean Gregorian year */
    {INT64_C(86400) * US_PER_S, "d"},
    {INT64_C(3600) * US_PER_S, "h"},
    {INT64_C(60) * US_PER_S, "min"},
    {US_PER_S, "s"},
    {US_PER_MS, "ms"},
    {1, "us"},
};

static const size_t unit_count = sizeof units / sizeof units[0];

char *text_span(int64_t span_us, char *buf)
{
    size_t i = span_us == 0 ? 4 : 0; /* nothing is "0 s" */
    while (i + 1 < unit_count && span_us < units[i].us) {
        i++;
    }
    const int64_t whole = span_us / units[i].us;
    int used = snprintf(buf, TEXT_SIZE, "%" PRId64 " %s", whole, units[i].name);
    if (i + 1 < unit_count) {
        const int64_t rest = span_us % units[i].us / units[i + 1].us;
        if (rest > 0) {
            (void)snprintf(buf + used, TEXT_SIZE - (size_t)used, " %" PRId64 " %s", rest,
                           units[i + 1].name);
        }
    }
    return buf;
}

char *text_relative(int64_t at_us, int64_t now_us, char *buf)
{
    char span[TEXT_SIZE];
    if (at_us == now_us) {
        (void)snprintf(buf, TEXT_SIZE, "now");
        return buf;
    }
    if (at_us < now_us) {
        (void)snprintf(buf, TEXT_SIZE, "%.50s ago", text_span(now_us - at_us, span));
    } else {
        (void)snprintf(buf, TEXT_SIZE, "in %.50s", text_span(at_us - now_us, span));
    }
    return buf;
}

char *text_tick(int64_t tick_ns, char *buf)
{
    return text_span(tick_ns / NS_PER_US, buf);
}
