/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * A failing disk, for LD_PRELOAD: while the file FAULTS_CONTROL exists and holds "write N" or
 * "sync N", writes (or flushes) of files whose path contains FAULTS_PATH fail with the errno N.
 * "late N" lets the write or flush happen first: the reply is lost, not the data. "lost N" does so
 * for truncations alone, with which SQLite commits: all is durable, and its caller is told otherwise.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define PATH_SIZE 4096

static bool is_victim(int file)
{
    char link[64];
    char path[PATH_SIZE];
    const char *part = getenv("FAULTS_PATH");
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0 || part == NULL) {
        return false;
    }
    path[size] = '\0';
    return strstr(path, part) != NULL;
}

/* The errno that a kind of call is to fail with now, or 0. */
static int fault(const char *kind, int file)
{
    char text[64];
    char word[16];
    int number = 0;
    const char *control = getenv("FAULTS_CONTROL");
    const int source = control == NULL ? -1 : open(control, O_RDONLY | O_CLOEXEC);
    if (source < 0) {
        return 0;
    }
    const ssize_t size = read(source, text, sizeof text - 1);
    (void)close(source);
    text[size < 0 ? 0 : size] = '\0';
    const bool applies = sscanf(text, "%15s %d", word, &number) == 2 && strcmp(word, kind) == 0;
    return applies && is_victim(file) ? number : 0;
}

static long fail(int reason)
{
    errno = reason;
    return -1;
}

static ssize_t put(int file, const void *bytes, size_t size, off64_t at)
{
    const int reason = fault("write", file);
    return reason != 0 ? fail(reason) : syscall(SYS_pwrite64, file, bytes, size, at);
}

static int flush(int file, long call)
{
    int reason = fault("sync", file);
    if (reason == 0) {
        const long result = syscall(call, file);
        reason = result == 0 ? fault("late", file) : errno;
    }
    return reason != 0 ? (int)fail(reason) : 0;
}

/* SQLite commits by truncating its journal, so this is where a reply can be lost. */
static int cut(int file, off64_t size)
{
    int reason = fault("write", file);
    if (reason == 0) {
        const long result = syscall(SYS_ftruncate, file, size);
        reason = result == 0 ? fault("late", file) : errno;
        reason = reason == 0 ? fault("lost", file) : reason;
    }
    return reason != 0 ? (int)fail(reason) : 0;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    return put(file, bytes, size, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at)
{
    return put(file, bytes, size, at);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    const int reason = fault("write", file);
    return reason != 0 ? fail(reason) : syscall(SYS_write, file, bytes, size);
}

int fsync(int file)
{
    return flush(file, SYS_fsync);
}

int fdatasync(int file)
{
    return flush(file, SYS_fdatasync);
}

int ftruncate(int file, off_t size)
{
    return cut(file, size);
}

int ftruncate64(int file, off64_t size)
{
    return cut(file, size);
}
