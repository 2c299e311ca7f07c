/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* File identity by statx(2), file system kind by statfs(2). */
#include "port/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

int firn__file_identity(const char *path, char *buf, size_t buf_size)
{
    struct statx file;
    if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &file) != 0) {
        return errno;
    }
    /* No device number: it differs between containers that share a volume, and after a reboot. */
    if ((file.stx_mask & STATX_BTIME) != 0) {
        (void)snprintf(buf, buf_size, "inode %" PRIu64 " born %" PRId64 ".%09" PRIu32,
                       (uint64_t)file.stx_ino, (int64_t)file.stx_btime.tv_sec,
                       (uint32_t)file.stx_btime.tv_nsec);
    } else {
        (void)snprintf(buf, buf_size, "inode %" PRIu64, (uint64_t)file.stx_ino);
    }
    return 0;
}

static const struct network_type {
    uint64_t type;
    const char *name;
} network_types[] = {
    {0x6969, "NFS"},       {0x517b, "SMB"},        {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},
    {0x01021997, "9P"},    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},    {0x73757245, "Coda"},
    {0x564c, "NCP"},       {0x00c36400, "Ceph"},   {0x0bd00bd0, "Lustre"}, {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"},  {0x47504653, "GPFS"},   {0x65735546, "FUSE"},   {0x786f4256, "vboxsf"},
    {0xaad7aaea, "PanFS"}, {0x19830326, "BeeGFS"},
};

const char *firn__file_network_name(uint64_t type)
{
    for (size_t i = 0; i < sizeof network_types / sizeof network_types[0]; i++) {
        if (network_types[i].type == type) {
            return network_types[i].name;
        }
    }
    return NULL;
}

const char *firn__file_network(const char *path)
{
    struct statfs system;
    if (statfs(path, &system) != 0) {
        return NULL;
    }
    /* f_type is signed and of varying width. */
    return firn__file_network_name((uint64_t)system.f_type & UINT32_MAX);
}

int firn__file_size(const char *path, int64_t *size_out)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return errno;
    }
    *size_out = file.st_size;
    return 0;
}

const char *firn__file_reason(int reason, char buf[FIRN__REASON_SIZE])
{
    const char *text = strerrordesc_np(reason); /* unlike strerror(), safe among threads */
    (void)snprintf(buf, FIRN__REASON_SIZE, "%s", text == NULL ? "unknown error" : text);
    return buf;
}
