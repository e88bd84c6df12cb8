/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For LD_PRELOAD: a disk whose syncs take as long as a test wants.
 */
#include "tests/real/held_disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct held_disk *disk; /* NULL: no test holds it */

__attribute__((constructor)) static void map_disk(void)
{
    const char *path = getenv(HELD_DISK);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *page;

    if (fd < 0)
        return;
    page = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        disk = page;
    close(fd);
}

static int64_t look(const int64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_SEQ_CST);
}

static void wait_for_leave(void)
{
    const struct timespec moment = { .tv_nsec = 1000000 };

    __atomic_store_n(&disk->waiting, 1, __ATOMIC_SEQ_CST);
    while (look(&disk->is_held) && look(&disk->allowed) == 0)
        nanosleep(&moment, NULL);
    if (look(&disk->is_held))
        __atomic_sub_fetch(&disk->allowed, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&disk->waiting, 0, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&disk->synced, 1, __ATOMIC_SEQ_CST);
}

static int sync_by(const char *name, int fd)
{
    int (*next)(int);

    *(void **)&next = dlsym(RTLD_NEXT, name);
    if (disk)
        wait_for_leave();
    if (disk && look(&disk->fails)) {
        errno = EIO;
        return -1;
    }
    return next(fd);
}

int fdatasync(int fd)
{
    return sync_by("fdatasync", fd);
}

int fsync(int fd)
{
    return sync_by("fsync", fd);
}
