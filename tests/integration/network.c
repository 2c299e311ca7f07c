/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * A network file system, for LD_PRELOAD: statfs() says that every file lies on one of the type
 * NETWORK_TYPE (a number, as in linux/magic.h). The files themselves stay where they are.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

_Static_assert(sizeof(struct statfs) == sizeof(struct statfs64), "the kernel call has one form");

int statfs(const char *path, struct statfs *system)
{
    const char *type = getenv("NETWORK_TYPE");
    const long result = syscall(SYS_statfs, path, system);
    if (result == 0 && type != NULL) {
        system->f_type = (__fsword_t)strtoul(type, NULL, 0);
    }
    return (int)result;
}

int statfs64(const char *path, struct statfs64 *system)
{
    return statfs(path, (struct statfs *)system);
}
