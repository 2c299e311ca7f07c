/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Choosing a registry, and the folder of the default one. What lies in it is the library's. */
#include "cli/registry_url.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"

#define LOOK_TIMEOUT_MS 5000

/* What a URL's path may not hold as it is. */
static void percent_encode(const char *path, char *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *path != '\0'; path++) {
        const unsigned char byte = (unsigned char)*path;
        if (strchr("?%#&", byte) != NULL || byte <= ' ' || byte == 0x7f) {
            *out++ = '%';
            *out++ = digits[byte >> 4];
            *out++ = digits[byte & 15];
        } else {
            *out++ = (char)byte;
        }
    }
    *out = '\0';
}

static int hex_digit(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = digit != '\0' ? strchr(digits, digit | 0x20) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static void percent_decode(const char *text, size_t size, char *out, size_t out_size)
{
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < out_size; i++) {
        char byte = text[i];
        if (byte == '%' && i + 2 < size && hex_digit(text[i + 1]) >= 0 &&
            hex_digit(text[i + 2]) >= 0) {
            byte = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        }
        out[used++] = byte;
    }
    out[used] = '\0';
}

/* The file that a URL names, or "": sqlite:PATH?… and static:N?path=PATH. */
static void path_of(const char *url, char *path_out)
{
    const char *start = NULL;
    path_out[0] = '\0';
    if (strncmp(url, "sqlite:", 7) == 0) {
        start = url + 7;
    } else if (strncmp(url, "static:", 7) == 0) {
        start = strstr(url, "?path=");
        start = start != NULL ? start + 6 : NULL;
    }
    if (start != NULL) {
        percent_decode(start, strcspn(start, "?&#"), path_out, PATH_MAX);
    }
}

static const char *home_folder(void)
{
    const char *home = getenv("HOME");
    if (home != NULL && home[0] == '/') {
        return home;
    }
    const struct passwd *entry = getpwuid(geteuid());
    return entry != NULL && entry->pw_dir != NULL && entry->pw_dir[0] == '/' ? entry->pw_dir : NULL;
}

static bool default_path(char *path_out)
{
    const char *state = getenv("XDG_STATE_HOME");
    int size;
    if (state != NULL && state[0] == '/') {
        size = snprintf(path_out, PATH_MAX, "%s/firn/registry.db", state);
    } else if (geteuid() == 0) {
        size = snprintf(path_out, PATH_MAX, "/var/lib/firn/registry.db");
    } else {
        const char *home = home_folder();
        if (home == NULL) {
            (void)complain(EXIT_REGISTRY, "there is no home folder for the registry; set HOME or "
                                          "XDG_STATE_HOME, or choose one with --registry");
            return false;
        }
        size = snprintf(path_out, PATH_MAX, "%s/.local/state/firn/registry.db", home);
    }
    if (size >= PATH_MAX) {
        (void)complain(EXIT_REGISTRY,
                       "the path of the state folder is longer than %d bytes; "
                       "choose another with XDG_STATE_HOME",
                       PATH_MAX);
        return false;
    }
    return true;
}

static bool choose_own(const char *prefix, struct registry_choice *choice)
{
    if (!default_path(choice->path)) {
        return false;
    }
    percent_encode(choice->path, stpcpy(choice->url, prefix));
    choice->own = true;
    return true;
}

bool registry_choose(const char *option, struct registry_choice *choice_out)
{
    *choice_out = (struct registry_choice){.source = "the default"};
    const char *url = option;
    if (url != NULL) {
        choice_out->source = "--registry";
    } else {
        url = getenv("FIRN_REGISTRY");
        if (url == NULL || url[0] == '\0') {
            return choose_own("sqlite:", choice_out);
        }
        choice_out->source = "FIRN_REGISTRY";
    }
    if (strlen(url) >= sizeof choice_out->url - PATH_MAX) {
        (void)complain(EXIT_USAGE, "%s: the URL is longer than %zu bytes", choice_out->source,
                       sizeof choice_out->url - PATH_MAX);
        return false;
    }
    if (strncmp(url, "static:", 7) == 0 && strchr(url, '?') == NULL) {
        char prefix[64];
        if (snprintf(prefix, sizeof prefix, "%s?path=", url) < (int)sizeof prefix) {
            return choose_own(prefix, choice_out);
        }
    }
    memcpy(choice_out->url, url, strlen(url) + 1);
    path_of(url, choice_out->path);
    return true;
}

/* mkdir -p, with this mode for what is made. */
static int folders_make(char *path, mode_t mode)
{
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        const char end = *at;
        *at = '\0';
        const int made = mkdir(path, mode);
        const int error = errno;
        *at = end;
        if (made != 0 && error != EEXIST) {
            return error;
        }
        if (end == '\0') {
            return 0;
        }
    }
}

bool registry_folder_make(const struct registry_choice *choice)
{
    char folder[PATH_MAX];
    if (!choice->own) {
        return true;
    }
    memcpy(folder, choice->path, sizeof folder);
    *strrchr(folder, '/') = '\0';
    const int error = folders_make(folder, geteuid() == 0 ? 0755 : 0700);
    if (error != 0) {
        (void)complain(EXIT_REGISTRY,
                       "the folder %s for the registry cannot be made: %s; make it, "
                       "or choose another registry with --registry",
                       folder, strerror(error));
        return false;
    }
    return true;
}

bool registry_exists(const struct registry_choice *choice)
{
    return choice->path[0] == '\0' || access(choice->path, F_OK) == 0 || errno != ENOENT;
}

int registry_look(const struct registry_choice *choice, firn_registry **registry_out)
{
    if (!registry_exists(choice)) {
        return complain(EXIT_REGISTRY, "there is no registry at %s yet; %s", choice->path,
                        choice->own ? "'firn gen' makes it at its first use"
                                    : "make it with 'firn init', or correct the path");
    }
    firn_error error;
    if (firn_registry_open(choice->url, LOOK_TIMEOUT_MS, registry_out, &error) < 0) {
        return complain_error(&error);
    }
    return EXIT_GOOD;
}
