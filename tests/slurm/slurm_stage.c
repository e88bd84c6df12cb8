/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The stage.  On a real server commands go through the client's own door for SSH, behind which they
 * are run on this machine.
 */
#include "tests/slurm/slurm_stage.h"

#include "clusters/slurm/slurm_errors.h"
#include "tests/support/folder.h"
#include "tools/simulator/model/simulator.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define GONE (SLURM_NODE_DOWN | SLURM_NODE_SILENT)

static const char config[] =
    "clusters:\n"
    "  lab: {kind: slurm, role: research, ssh_address: login}\n"
    "reservations:\n"
    "  main: {machine: a3-megagpu-8g, region: r, zone: r-a, gpus_per_node: 8, nodes: 4}\n"
    "providers:\n"
    "  google: {kind: gcp}\n"
    "pools:\n"
    "  lab-main: {cluster: lab, reservation: main, provider: google, project: p, group: g-lab}\n"
    "queues: {}\n"
    "workloads: {}\n";

/* ---- opening ---- */

/* Runs `FOLDER/run LINE`, and waits for it. */
static int run_here(const struct stage *stage, const char *line, struct text *out,
                    struct text *errors)
{
    owned(chars) char *program = text_format("%s/run", stage->choice.folder);
    owned(chars) char *path = text_format("%s/errors", stage->folder);
    int ends[2];
    char bytes[4096];
    ssize_t size;
    int status = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (!freopen(path, "w", stderr) || !freopen("/dev/null", "r", stdin))
            _exit(126);
        execl(program, program, line, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while ((size = read(ends[0], bytes, sizeof bytes)) > 0)
        text_add_bytes(out, bytes, (size_t)size);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);

    owned(text) struct text *said = test_file_read(path);

    text_add(errors, "%s", said->chars);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void play_here(void *context, const struct ssh_host *host, const struct ssh_request *request,
                      struct ssh_play *play)
{
    (void)host;
    play->exit_status = run_here(context, request->command, play->output, play->errors);
}

static void open_simulator(struct stage *stage)
{
    owned(chars) char *world = text_format(
        "seed: 5\npools: {lab-main: {nodes: 4}}\n"
        "slurm: {lab: {release: '%s', nodes: fixed, sockets: {tokens: '%s/rest/tokens',"
        " local: '%s/rest/local'}, sliced: {s1: {a100: 1, a100_1g.5gb: 7, 3g.20gb: 1}}}}\n"
        "latency: {api: 1ms..5ms, delete: 1s, create: 1s, join: 1s, gpus: 1s, pod_start: 1s,"
        " pod_stop: 1s}\n",
        stage->choice.release, stage->folder, stage->folder);
    owned(chars) char *config_path = test_folder_write(stage->folder, "sluice.yaml", config);
    owned(chars) char *world_path = test_folder_write(stage->folder, "world.yaml", world);

    stage->loop = loop_virtual_new((struct wall_time){ 1795600800000 });
    stage->simulator = simulator_new(stage->loop, config_path, world_path, &stage->err);
    if (!stage->simulator)
        fail_msg("%s", stage->err.text);
    stage->world.http = simulator_http(stage->simulator);
    stage->world.ssh = simulator_ssh(stage->simulator);
    stage->access.rest = mem_copy_chars("http://127.0.0.1:1/slurm/lab");
    stage->access.token = test_folder_write(stage->folder, "token", "slurm-lab");
}

static void open_real(struct stage *stage)
{
    owned(chars) char *url_path = text_format("%s/url", stage->choice.folder);
    owned(text) struct text *url = test_file_read(url_path);

    stage->loop = loop_libevent_new(&stage->err);
    stage->world.http = stage->loop ? http_curl_new(stage->loop, NULL, &stage->err) : NULL;
    if (!stage->world.http)
        fail_msg("%s", stage->err.text);
    stage->world.ssh = ssh_virtual_new(stage->loop, play_here, stage);
    stage->access.rest = text_format("%.*s", (int)strcspn(url->chars, "\n"), url->chars);
    stage->access.token = text_format("%s/token", stage->choice.folder);
}

/* A real server outlives the case: what it did is undone, also before the next one, as a case may
 * fail. */
static void clean(struct stage *stage)
{
    stage_run(stage, "scancel --user=root");
    if (!stage_ask(stage, SLURM_LIST_RESERVATIONS, NULL))
        fail_msg("%s", stage->err.text);
    owned(json) json_t *reservations = json_incref(stage->list);
    size_t i;
    json_t *item;

    json_array_foreach(reservations, i, item) {
        struct slurm_reservation one;

        if (slurm_read_reservation(item, &one, &stage->err) == 0)
            stage_run(stage, "scontrol delete ReservationName=%s", one.name);
    }
    for (int n = 1; n <= 4; n++) {
        char name[8];

        text_print(name, sizeof name, "n%d", n);
        if ((stage_node(stage, name).states & GONE) == GONE)
            stage_start_slurmd(stage, name);
        if (stage_node(stage, name).states & SLURM_NODE_DRAIN)
            stage_run(stage, "scontrol update NodeName=%s State=UNDRAIN", name);
        if (stage_node(stage, name).comment[0] != '\0')
            stage_run(stage, "scontrol update NodeName=%s Comment='' Extra=''", name);
        stage_await_node(stage, name, SLURM_NODE_IDLE,
                         SLURM_NODE_DRAIN | SLURM_NODE_SILENT | SLURM_NODE_COMPLETING);
    }
}

static void open_client(struct stage *stage)
{
    stage->client = slurm_client_new(&stage->world, "lab", &stage->access, &stage->err);
    if (!stage->client)
        fail_msg("%s", stage->err.text);
}

struct stage *stage_open(const struct stage_choice *choice)
{
    struct stage *stage = mem_new(sizeof *stage);

    stage->choice = *choice;
    stage->release = text_equal(choice->release, "22.05") ? 2205 : 2411;
    stage->folder = test_folder_new();
    stage->out = text_new(16 << 20);
    if (choice->folder)
        open_real(stage);
    else
        open_simulator(stage);
    stage->world.loop = stage->loop;
    stage->world.random = &stage->random;
    random_seed(&stage->random, 7);
    stage->access.rest_user = mem_copy_chars("root");
    stage->access.place.address = mem_copy_chars("login");
    stage->access.place.host_key = mem_copy_chars(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHeY7hxwNvzLpEw5s4yQGf0Gm3sQh5eQxW6cCkqv0m1r");
    stage->access.ssh.user = mem_copy_chars("root");
    stage->access.ssh.key = test_folder_write(stage->folder, "key", "none");
    open_client(stage);
    stage_pass(stage, SECOND_MS);
    if (choice->folder)
        clean(stage);
    return stage;
}

void stage_close(struct stage *stage)
{
    if (stage->choice.folder)
        clean(stage);
    slurm_client_free(stage->client);
    if (stage->simulator) {
        simulator_free(stage->simulator);
    } else {
        ssh_free(stage->world.ssh);
        http_free(stage->world.http);
    }
    loop_free(stage->loop);
    mem_free(stage->access.rest);
    mem_free(stage->access.rest_user);
    mem_free(stage->access.token);
    mem_free(stage->access.place.address);
    mem_free(stage->access.place.host_key);
    mem_free(stage->access.ssh.user);
    mem_free(stage->access.ssh.key);
    json_decref(stage->list);
    json_decref(stage->body);
    text_free(stage->out);
    test_folder_free(stage->folder);
    mem_free(stage);
}

static void forget(char **value)
{
    mem_free(*value);
    *value = NULL;
}

void stage_use_socket(struct stage *stage, const char *socket)
{
    slurm_client_free(stage->client);
    forget(&stage->access.rest);
    forget(&stage->access.place.address);
    stage->access.rest = text_format("unix:%s/%s", stage->choice.folder ?: stage->folder, socket);
    if (text_equal(socket, "rest/local")) {
        forget(&stage->access.rest_user);
        forget(&stage->access.token);
    }
    open_client(stage);
}

/* ---- time ---- */

void stage_pass(struct stage *stage, int64_t ms)
{
    loop_run_until(stage->loop, loop_now(stage->loop) + ms);
}

/* ---- commands ---- */

static void run_list(struct stage *stage, const char *format, va_list arguments)
{
    owned(text) struct text *line = text_new(64 << 10);
    owned(text) struct text *errors = text_new(64 << 10);

    text_add_arguments(line, format, arguments);
    text_reset(stage->out);
    if (stage->simulator) {
        stage->status = simulator_slurm_run(stage->simulator, "lab", line->chars, stage->out);
        return;
    }
    stage->status = run_here(stage, line->chars, stage->out, errors);
    text_add(stage->out, "%s", errors->chars);
}

int stage_run(struct stage *stage, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    run_list(stage, format, arguments);
    va_end(arguments);
    return stage->status;
}

void stage_must(struct stage *stage, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    run_list(stage, format, arguments);
    va_end(arguments);
    if (stage->status != 0)
        fail_msg("%s: %s", format, stage->out->chars);
}

bool stage_said(const struct stage *stage, const char *words)
{
    return strstr(stage->out->chars, words) != NULL;
}

/* ---- requests ---- */

struct question {
    struct stage *stage;
    bool is_over, is_good;
};

static void on_raw(void *context, const struct http_answer *answer, const struct error *err)
{
    struct question *question = context;
    struct stage *stage = question->stage;

    question->is_over = true;
    if (err) {
        stage->err = *err;
        return;
    }
    stage->status = answer->status;
    text_reset(stage->out);
    text_add(stage->out, "%s", answer->body);
    json_decref(stage->body);
    stage->body = json_loadb(answer->body, answer->body_size, 0, NULL);
    question->is_good = true;
}

static int send_raw(struct stage *stage, enum http_method method, const char *path,
                    const struct http_header *headers, const char *body)
{
    bool is_socket = text_starts_with(stage->access.rest, "unix:");
    const char *start = is_socket ? "http://localhost" : stage->access.rest;
    owned(chars) char *url = text_equal(path, "/openapi/v3")
                                 ? text_format("%s%s", start, path)
                                 : text_format("%s/slurm/v0.0.%d%s", start,
                                               stage->release >= 2411 ? 42 : 38, path);
    struct question question = { .stage = stage };
    const struct http_request request = {
        .method = method,
        .url = url,
        .unix_socket = is_socket ? stage->access.rest + strlen("unix:") : NULL,
        .headers = headers,
        .header_count = headers[2].value ? 3 : 2,
        .body = body,
        .body_size = body ? strlen(body) : 0,
        .is_mutation = method != HTTP_GET,
        .timeout_ms = 30 * SECOND_MS,
        .answer_limit = 16 << 20,
    };

    http_send(stage->world.http, &request, on_raw, &question);
    while (!question.is_over)
        stage_pass(stage, 10);
    if (!question.is_good)
        fail_msg("%s: %s", path, stage->err.text);
    return stage->status;
}

int stage_rest(struct stage *stage, enum http_method method, const char *path, const char *body)
{
    owned(text) struct text *token = test_file_read(stage->access.token);
    owned(chars) char *word = text_format("%.*s", (int)strcspn(token->chars, "\n"), token->chars);
    const struct http_header headers[] = { { "Content-Type", "application/json" },
                                           { "X-SLURM-USER-NAME", "root" },
                                           { "X-SLURM-USER-TOKEN", word } };

    return send_raw(stage, method, path, headers, body);
}

int stage_rest_as(struct stage *stage, const char *token, const char *path)
{
    const struct http_header headers[] = { { "Content-Type", "application/json" },
                                           { "X-SLURM-USER-NAME", "root" },
                                           { "X-SLURM-USER-TOKEN", token } };

    return send_raw(stage, HTTP_GET, path, headers, NULL);
}

static void on_answer(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct question *question = context;
    struct stage *stage = question->stage;

    question->is_over = true;
    question->is_good = answer != NULL;
    if (err)
        stage->err = *err;
    json_decref(stage->list);
    stage->list = NULL;
    if (answer && answer->body)
        stage->list = json_deep_copy(answer->body);
    else if (answer && answer->text) {
        text_reset(stage->out);
        text_add(stage->out, "%s", answer->text);
    }
}

static bool await(struct stage *stage, struct question *question)
{
    while (!question->is_over)
        stage_pass(stage, 10);
    return question->is_good;
}

/* The list itself, not what is around it. */
static bool take_list(struct stage *stage, enum slurm_action action)
{
    const char *name = slurm_actions[action].list;
    json_t *list = name && stage->list ? json_incref(json_object_get(stage->list, name)) : NULL;

    if (name && !stage->list)
        list = slurm_read_lines(
            stage->out->chars,
            action == SLURM_LIST_PARTITIONS ? "PartitionName" : "ReservationName",
            action == SLURM_LIST_PARTITIONS ? "No partitions" : "No reservations", &stage->err);
    json_decref(stage->list);
    stage->list = list;
    return !name || list;
}

bool stage_ask(struct stage *stage, enum slurm_action action, const struct slurm_blanks *blanks)
{
    const struct slurm_blanks none = { 0 };
    struct question question = { .stage = stage };

    stage->err = (struct error){ 0 };
    if (!slurm_client_is_known(stage->client)) {
        slurm_client_discover(stage->client, on_answer, &question);
        if (!await(stage, &question))
            return false;
        question = (struct question){ .stage = stage };
    }
    slurm_ask(stage->client, action, blanks ?: &none, on_answer, &question);
    return await(stage, &question) && take_list(stage, action);
}

bool stage_ask_command(struct stage *stage, enum slurm_action action,
                       const struct slurm_blanks *blanks)
{
    const struct slurm_command *command = slurm_command_for(action, stage->release);
    owned(chars) char *line = NULL;

    stage->err = (struct error){ 0 };
    assert_non_null(command);
    line = slurm_command_line(command, blanks, &stage->err);
    assert_non_null(line);
    return stage_run(stage, "%s", line) == 0 ||
           slurm_check_command(stage->status, stage->out->chars, &stage->err) == 0;
}
