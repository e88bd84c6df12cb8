/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice-simulator and `sluice serve` as programs, in one folder of the test's.
 */
#pragma once

#include "base/file.h"
#include "tests/cli/said.h"
#include "tests/cli/small_world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
