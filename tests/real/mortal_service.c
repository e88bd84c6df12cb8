/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See mortal_service.h.
 */
#include "tests/real/mortal_service.h"

#include "base/text.h"
#include "tests/real/wrong_clock.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MS = 20 * SECOND_MS, END_MS = 20 * SECOND_MS, ANSWER_LIMIT = 16 << 20 };

struct mortal_service {
    struct loop *loop;
    struct http *http;
    char *folder;
    char *socket;
    char *orders_path;
    struct mortal_orders *orders;
    pid_t process; /* 0: none */
    int ahead_s;   /* its clock, of ours */
};

struct mortal_service *mortal_service_new(struct loop *loop, struct http *http, const char *folder)
{
    struct mortal_service *service = mem_new(sizeof *service);
    void *page;
    int fd;

    service->loop = loop;
    service->http = http;
    service->folder = mem_copy_chars(folder);
    service->socket = text_format("%s/sluice.sock", folder);
    service->orders_path = text_format("%s/orders", folder);
    fd = open(service->orders_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_return_code(fd, 0);
    assert_return_code(ftruncate(fd, sizeof *service->orders), 0);
    page = mmap(NULL, sizeof *service->orders, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    service->orders = page;
    close(fd);
    return service;
}

/* In the child. */
static _Noreturn void become_service(const struct mortal_service *service, pid_t parent)
{
    owned(chars) char *log_path = text_format("%s/serve.log", service->folder);
    owned(chars) char *config_path = text_format("%s/sluice.yaml", service->folder);
    owned(chars) char *ahead = text_format("%d", service->ahead_s);
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

    /* A child that dies between fork and here is not told: look. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || log < 0)
        _exit(127);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    setenv(MORTAL_ORDERS, service->orders_path, 1);
    setenv(WRONG_CLOCK_AHEAD, ahead, 1);
    setenv("LD_PRELOAD", SLUICE_BUILD "/mortal_journal.so:" SLUICE_BUILD "/wrong_clock.so", 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    execl(SLUICE_BUILD "/sluice", "sluice", "serve", "--log-level", "debug", "--config",
          config_path, NULL);
    _exit(127);
}

void mortal_service_start(struct mortal_service *service)
{
    pid_t parent = getpid();

    assert_int_equal(service->process, 0);
    service->process = fork();
    assert_true(service->process >= 0);
    if (service->process == 0)
        become_service(service, parent);
}

void mortal_service_set_clock(struct mortal_service *service, int ahead_s)
{
    owned(chars) char *pattern = text_format("%s/sluice.db*", service->folder);
    glob_t files;

    assert_int_equal(service->process, 0);
    service->ahead_s = ahead_s;
    if (glob(pattern, 0, NULL, &files) != 0)
        return;
    for (size_t i = 0; i < files.gl_pathc; i++)
        assert_return_code(unlink(files.gl_pathv[i]), errno);
    globfree(&files);
}

void mortal_service_order(struct mortal_service *service, int64_t commit, enum mortal_moment moment)
{
    struct mortal_orders *orders = service->orders;

    *orders = (struct mortal_orders){ 0, 0, moment, orders->serial + 1 };
    orders->kill_at = commit;
}

int64_t mortal_service_commits(const struct mortal_service *service)
{
    return service->orders->commits;
}

bool mortal_service_is_dead(struct mortal_service *service)
{
    int status;

    if (service->process == 0 || waitpid(service->process, &status, WNOHANG) == 0)
        return false;
    service->process = 0;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("the service ended by itself (status %#x): %s/serve.log", status, service->folder);
    return true;
}

struct waiting {
    struct loop *loop;
    bool is_done;
    json_t *answer;
};

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct waiting *waiting = context;

    (void)err;
    waiting->is_done = true;
    if (answer && answer->status == 200)
        waiting->answer = json_parse(answer->body, answer->body_size, "answer", NULL);
    loop_stop(waiting->loop);
}

json_t *mortal_service_ask(struct mortal_service *service, enum http_method method,
                           const char *path, json_t *body)
{
    owned(chars) char *url = text_format("http://localhost%s", path);
    owned(chars) char *text = body ? json_print(body) : NULL;
    struct waiting waiting = { .loop = service->loop };
    struct http_request request = {
        .method = method,
        .url = url,
        .unix_socket = service->socket,
        .body = text,
        .body_size = text ? strlen(text) : 0,
        .is_mutation = method != HTTP_GET,
        .timeout_ms = ANSWER_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    json_decref(body);
    http_send(service->http, &request, on_answer, &waiting);
    while (!waiting.is_done)
        loop_run_until(service->loop, loop_now(service->loop) + ANSWER_MS);
    return waiting.answer;
}

void mortal_service_stop(struct mortal_service *service)
{
    int64_t end_ms = loop_now(service->loop) + END_MS;
    int status = 0;

    kill(service->process, SIGTERM);
    while (waitpid(service->process, &status, WNOHANG) == 0) {
        if (loop_now(service->loop) >= end_ms)
            fail_msg("the service does not end when it is asked to");
        loop_run_until(service->loop, loop_now(service->loop) + 20);
    }
    service->process = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the service ended with %#x: %s/serve.log", status, service->folder);
}

void mortal_service_free(struct mortal_service *service)
{
    if (service->process > 0)
        mortal_service_stop(service);
    munmap(service->orders, sizeof *service->orders);
    mem_free(service->orders_path);
    mem_free(service->socket);
    mem_free(service->folder);
    mem_free(service);
}
