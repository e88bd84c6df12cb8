/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For LD_PRELOAD: counts the commits of a process to its SQLite journal, and ends the process by
 * SIGKILL at the one that it was told.  A commit is one or more writes to the write-ahead log and
 * the sync that ends them.
 */
#include "tests/real/mortal_journal.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mortal_orders *orders; /* NULL: this process is to live */
static bool is_writing;              /* a commit is begun */
static int64_t serial;               /* of the orders under which it began */

__attribute__((constructor)) static void map_orders(void)
{
    const char *path = getenv(MORTAL_ORDERS);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *page;

    if (fd < 0)
        return;
    page = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        orders = page;
    close(fd);
}

static bool is_log(int fd)
{
    static const char end[] = "-wal";
    char link[64], path[4096];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path);
    return length > (ssize_t)strlen(end) &&
           memcmp(path + length - strlen(end), end, strlen(end)) == 0;
}

static void die_if_told(int64_t commit, enum mortal_moment moment)
{
    if (orders->kill_at != commit || orders->moment != moment)
        return;
    orders->kill_at = 0; /* the next process lives */
    kill(getpid(), SIGKILL);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    static ssize_t (*next)(int, const void *, size_t, off64_t);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pwrite64");
    if (orders && !is_writing && is_log(fd)) {
        serial = orders->serial;
        die_if_told(orders->commits + 1, MORTAL_BEFORE);
        is_writing = true;
    }
    return next(fd, bytes, size, at);
}

int fdatasync(int fd)
{
    static int (*next)(int);
    int result;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "fdatasync");
    result = next(fd);
    if (orders && is_writing && is_log(fd)) {
        is_writing = false;
        if (serial != orders->serial)
            return result;
        orders->commits++;
        die_if_told(orders->commits, MORTAL_AFTER);
    }
    return result;
}
