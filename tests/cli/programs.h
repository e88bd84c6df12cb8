/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice-simulator and `sluice serve` as programs, in one folder of the test's.
 */
#pragma once

#include "base/file.h"
#include "tests/cli/said.h"
#include "tests/cli/small_world.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { START_MS = 120000, LOOK_MS = 50 };

static char *folder;

static inline int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_MS + now.tv_nsec / 1000000;
}

static inline void pause_a_little(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
}

/* Starts a program of this build with its output in `log`. */
static inline pid_t start(const char *log, const char *const *words)
{
    owned(chars) char *path = text_format("%s/%s", folder, log);
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

        dup2(fd, 1);
        dup2(fd, 2);
        execv(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static inline int await_port(void)
{
    owned(chars) char *path = text_format("%s/simulator.log", folder);
    int64_t end_ms = now_ms() + START_MS;

    while (now_ms() < end_ms) {
        owned(text) struct text *log = file_read(path, SAID_LIMIT, NULL);
        const char *found = log ? strstr(log->chars, "http://127.0.0.1:") : NULL;

        if (found && strchr(found, '\n'))
            return atoi(found + strlen("http://127.0.0.1:"));
        pause_a_little();
    }
    return 0;
}

/* Until the service answers and has seen all clusters. */
static inline bool await_service(void)
{
    int64_t end_ms = now_ms() + START_MS;

    while (now_ms() < end_ms) {
        owned(said) struct said said = say(folder, folder, "status -c @/sluice.yaml");

        if (said.code == EXIT_DONE && !strstr(said.out->chars, "STALE"))
            return true;
        pause_a_little();
    }
    return false;
}

/* The small world's, with the simulator's port and a journal that outlives the process. */
static inline void write_config(int port)
{
    owned(text) struct text *text = text_new(1 << 16);
    owned(chars) char *path = NULL;

    for (const char *at = small_config; *at; at++)
        if (strncmp(at, "127.0.0.1:1/", 12) == 0) {
            text_add(text, "127.0.0.1:%d", port);
            at += strlen("127.0.0.1:1") - 1;
        } else if (strncmp(at, "':memory:'", 10) == 0) {
            text_add(text, "sluice.db");
            at += strlen("':memory:'") - 1;
        } else {
            text_add(text, "%.1s", at);
        }
    path = test_folder_write(folder, "sluice.yaml", text->chars);
}

/* Schedules as files: so many production nodes in both windows. */
static inline void write_schedules(int nodes)
{
    static const char *const names[] = { "schedules/day.yaml", "schedules/night.yaml" };
    owned(text) struct text *text = text_new(4096);
    owned(chars) char *schedules = text_format("%s/schedules", folder);
    struct error err;

    assert_int_equal(file_make_folder(schedules, 0755, &err), 0);
    add_schedule(text, nodes);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *path = test_folder_write(folder, names[i], text->chars);
    }
}

/* sluice-simulator with the small world, in the new `folder`: sluice.yaml names its port. */
static inline pid_t start_simulator(void)
{
    static const char simulator[] = SLUICE_BUILD "/sluice-simulator";
    owned(chars) char *config = text_format("%s/sluice.yaml", folder);
    owned(chars) char *world = test_folder_write(folder, "world.yaml", small_machines);
    pid_t pid;

    write_config(1);
    write_schedules(6);
    pid = start("simulator.log", (const char *[]){ simulator, "-c", config, "-w", world,
                                                   "--write-kubeconfigs", folder, NULL });
    write_config(await_port());
    return pid;
}

static inline pid_t start_service(void)
{
    static const char service[] = SLUICE_BUILD "/sluice";
    owned(chars) char *config = text_format("%s/sluice.yaml", folder);

    return start("service.log", (const char *[]){ service, "serve", "-c", config, NULL });
}

/* Asks the program to end; its exit code, or -1.  Under the sanitizers 0 includes that nothing
   leaked.  pid 0: there is none, which is well. */
static inline int end_program(pid_t pid)
{
    int status = 0;

    if (pid <= 0)
        return 0;
    kill(pid, SIGTERM);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
