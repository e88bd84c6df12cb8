/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A service on the small world's configuration with its doors open, on a real loop.  Nothing
 * answers it, so it knows no node; but it takes what needs none, such as a freeze.
 */
#pragma once

#include "base/log.h"
#include "broker/api/doors.h"
#include "broker/journal/journal.h"
#include "tests/cli/small_world.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURN_MS = 20 };

struct scene {
    char *folder;
    struct loop *loop;
    struct http *http;
    struct random random;
    struct world world;
    struct config *config;
    struct service *service;
    struct doors *doors;
};

/* Every user may open the socket: what they may do there is the question. */
static inline void scene_open_doors(struct scene *scene)
{
    struct error err = { 0 };

    scene->doors = doors_new(scene->config);
    if (doors_open(scene->doors, &scene->world, scene->service, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(chmod(scene->config->socket, 0666), 0);
}

/* `prepare` (may be NULL) puts files into the folder that the settings name. */
static inline void scene_begin_with(struct scene *scene, const char *settings,
                                    void (*prepare)(const char *folder))
{
    owned(chars) char *path = NULL;
    owned(chars) char *text = text_format("%s%s", small_config, settings);
    struct error err = { 0 };

    *scene = (struct scene){ .folder = test_folder_new() };
    assert_int_equal(chmod(scene->folder, 0755), 0);
    if (prepare)
        prepare(scene->folder);
    path = test_folder_write(scene->folder, "sluice.yaml", text);
    scene->loop = loop_libevent_new(&err);
    scene->http = http_curl_new(scene->loop, NULL, &err);
    random_seed(&scene->random, 1);
    scene->config = config_read(path, &err);
    if (!scene->config)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < scene->config->cluster_count; i++) {
        owned(chars) char *name = text_format("%s.kubeconfig", scene->config->clusters[i].name);

        mem_free(
            test_folder_write(scene->folder, name,
                              "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                              "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                              "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
                              "users: [{name: u, user: {token: t}}]\n"));
    }
    scene->world = (struct world){ scene->loop, scene->http, &scene->random, journal_memory_new(),
                                   NULL };
    scene->service = service_open(&scene->world, scene->config, &err);
    if (!scene->service)
        fail_msg("%s", err.text);
    scene_open_doors(scene);
}

static inline void scene_begin(struct scene *scene, const char *settings)
{
    scene_begin_with(scene, settings, NULL);
}

static inline json_t *scene_events(struct scene *scene)
{
    struct error err = { 0 };
    json_t *events = journal_events(scene->world.journal, 100, &err);

    assert_non_null(events);
    return events;
}

static inline void scene_end(struct scene *scene)
{
    doors_close(scene->doors);
    service_close(scene->service);
    doors_free(scene->doors);
    journal_close(scene->world.journal);
    http_free(scene->http);
    loop_free(scene->loop);
    config_free(scene->config);
    test_folder_free(scene->folder);
}

/* What a line for the shell prints; the loop runs meanwhile. */
static inline char *run_beside(struct scene *scene, const char *line)
{
    struct text *said = text_new(TEXT_UNBOUNDED);
    char bytes[4096];
    int ends[2], status = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        execlp("sh", "sh", "-c", line, NULL);
        _exit(127);
    }
    close(ends[1]);
    while (waitpid(child, &status, WNOHANG) == 0)
        loop_run_until(scene->loop, loop_now(scene->loop) + TURN_MS);
    while ((got = read(ends[0], bytes, sizeof bytes)) > 0)
        text_add_bytes(said, bytes, (size_t)got);
    close(ends[0]);
    return text_take(said);
}
