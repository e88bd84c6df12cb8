/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See file_stamps.h.
 */
#include "broker/api/file_stamps.h"

static bool has_changed(struct file_stamps *stamps, int i)
{
    struct stat status = { 0 };
    bool is_same;

    if (!stamps->paths[i] || stat(stamps->paths[i], &status) < 0)
        status = (struct stat){ 0 };
    is_same = stamps->seen[i].device == status.st_dev && stamps->seen[i].inode == status.st_ino &&
              stamps->seen[i].size == status.st_size &&
              stamps->seen[i].changed.tv_sec == status.st_ctim.tv_sec &&
              stamps->seen[i].changed.tv_nsec == status.st_ctim.tv_nsec;
    stamps->seen[i].device = status.st_dev;
    stamps->seen[i].inode = status.st_ino;
    stamps->seen[i].size = status.st_size;
    stamps->seen[i].changed = status.st_ctim;
    return !is_same;
}

bool file_stamps_changed(struct file_stamps *stamps)
{
    bool has = false;

    for (int i = 0; i < FILE_STAMPS_MOST; i++)
        has = has_changed(stamps, i) || has;
    return has;
}
