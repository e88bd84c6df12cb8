/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The client against a scripted slurmrestd and a played login node: which way an action goes, and
 * what each answer means.
 */
#include "base/input/json.h"
#include "clusters/slurm/slurm_client.h"
#include "clusters/slurm/slurm_scripts.h"
#include "tests/clusters/scripted_http.h"
#include "tests/support/unit.h"

static const char host_key[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390";

#define URL "http://127.0.0.1:1"
#define NEW_PATHS                                                                                  \
    "{\"paths\":{\"/slurm/v0.0.40/nodes/\":{\"get\":{}},\"/slurm/v0.0.42/nodes/\":{\"get\":{}},"   \
    "\"/slurm/v0.0.42/node/{node_name}\":{\"post\":{},\"delete\":{}},"                             \
    "\"/slurm/v0.0.42/job/{job_id}\":{\"delete\":{}}}}"
#define LISTS                                                                                      \
    "{\"paths\":{\"/slurm/v0.0.42/nodes/\":{\"get\":{}},\"/slurm/v0.0.42/jobs/\":{\"get\":{}}}}"
#define OLD_PATHS                                                                                  \
    "{\"paths\":{\"/slurm/v0.0.38/nodes\":{\"get\":{}},\"/slurm/v0.0.37/nodes\":{\"get\":{}},"     \
    "\"/slurm/v0.0.38/job/{job_id}\":{\"delete\":{}}}}"

/* A login node: what it answers to the last command, and that command. */
struct login {
    const char *release; /* NULL: it cannot be reached */
    int status;
    const char *output;
    const char *errors;
    enum error_kind fails;
    bool was_killed;
    char line[512];
};

struct scene {
    struct loop *loop;
    struct scripted_http *http;
    struct login login;
    struct world world;
    struct slurm_access access;
    struct slurm_client *client;
    int answers;
    struct error err; /* of the last answer */
    char text[512];   /* its body or text */
};

static void play(void *context, const struct ssh_host *host, const struct ssh_request *request,
                 struct ssh_play *answer)
{
    struct login *login = context;

    (void)host;
    text_copy(login->line, sizeof login->line, request->command);
    if (!login->release) {
        (void)error_set(&answer->failure, login->fails ?: ERROR_TRANSIENT, "no route");
        return;
    }
    if (strstr(request->command, "scontrol --version")) {
        text_add(answer->output, "%s", login->release);
        return;
    }
    if (login->fails != ERROR_NONE)
        (void)error_set(&answer->failure, login->fails, "cut");
    answer->exit_status = login->was_killed ? -1 : login->status;
    answer->signal = login->was_killed ? "KILL" : NULL;
    text_add(answer->output, "%s", login->output ?: "");
    text_add(answer->errors, "%s", login->errors ?: "");
}

static void open_scene(struct scene *scene, const struct script_step *steps, size_t count,
                       const char *release)
{
    struct error err = { 0 };

    *scene = (struct scene){ .loop = loop_virtual_new((struct wall_time){ 1 }),
                             .login = { .release = release } };
    scene->http = scripted_http_new(scene->loop, steps, count);
    scene->world = (struct world){ .loop = scene->loop,
                                   .http = &scene->http->http,
                                   .ssh = ssh_virtual_new(scene->loop, play, &scene->login) };
    scene->access = (struct slurm_access){
        .rest = count > 0 ? (char *)(uintptr_t)URL : NULL,
        .place = { .address = (char *)(uintptr_t) "login",
                   .host_key = (char *)(uintptr_t)host_key },
        .ssh = { .port = 22, .user = (char *)(uintptr_t) "root", .key = (char *)(uintptr_t) "k" },
        .conf = (char *)(uintptr_t) "/etc/s.conf",
    };
    scene->client = slurm_client_new(&scene->world, "lab", &scene->access, &err);
    if (!scene->client)
        fail_msg("%s", err.text);
}

static void close_scene(struct scene *scene)
{
    assert_true(script_is_played(scene->http));
    slurm_client_free(scene->client);
    ssh_free(scene->world.ssh);
    http_free(&scene->http->http);
    loop_free(scene->loop);
}

static void answered(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct scene *scene = context;
    owned(chars) char *body = answer && answer->body ? json_print(answer->body) : NULL;

    assert_true(!answer == !!err);
    scene->answers++;
    scene->err = err ? *err : (struct error){ 0 };
    text_copy(scene->text, sizeof scene->text, answer ? body ?: answer->text ?: "" : err->text);
}

static void discover(struct scene *scene)
{
    slurm_client_discover(scene->client, answered, scene);
    loop_run_until(scene->loop, loop_now(scene->loop) + MINUTE_MS);
}

static void ask(struct scene *scene, enum slurm_action action)
{
    const struct slurm_blanks blanks = { .node = "n1",
                                         .state = "DRAIN",
                                         .reason = "r",
                                         .job = "7",
                                         .reservation = "s",
                                         .signal = "USR1" };
    int before = scene->answers;

    slurm_ask(scene->client, action, &blanks, answered, scene);
    assert_int_equal(scene->answers, before); /* in a later turn */
    loop_run_until(scene->loop, loop_now(scene->loop) + MINUTE_MS);
    assert_int_equal(scene->answers, before + 1);
}

/* The newest version that has the action goes first; what REST lacks goes as a command. */
static void ways(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, URL "/openapi/v3", 200, .answer = NEW_PATHS },
        { HTTP_GET, URL "/slurm/v0.0.42/nodes", 200, .answer = "{\"nodes\":[],\"errors\":[]}" },
        { HTTP_POST, URL "/slurm/v0.0.42/node/n1", 200, .answer = "{\"errors\":[]}" },
    };
    struct scene scene;

    (void)state;
    open_scene(&scene, steps, COUNT_OF(steps), "slurm 24.11.5\n");
    ask(&scene, SLURM_LIST_NODES);
    assert_int_equal(scene.err.kind, ERROR_TRANSIENT); /* nothing is known yet */
    discover(&scene);
    assert_true(slurm_client_is_known(scene.client));
    assert_int_equal(slurm_client_version(scene.client, SLURM_LIST_NODES), 42);
    assert_int_equal(slurm_client_version(scene.client, SLURM_SIGNAL_JOB), 0);
    assert_int_equal(slurm_client_release(scene.client), 2411);
    ask(&scene, SLURM_LIST_NODES);
    assert_string_equal(scene.text, "{\"nodes\":[],\"errors\":[]}");
    ask(&scene, SLURM_CHANGE_NODE);
    assert_string_equal(scene.http->body, "{\"state\":[\"DRAIN\"],\"reason\":\"r\"}");
    assert_true(scene.http->is_mutation);
    ask(&scene, SLURM_REQUEUE_JOB);
    assert_string_equal(scene.login.line, "SLURM_CONF=/etc/s.conf scontrol requeue 7");
    assert_int_equal(scene.err.kind, ERROR_NONE);
    close_scene(&scene);
}

/* slurmrestd of 22.05 alone: it reads, and refuses what it cannot do before anything is sent. */
static void rest_alone(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, URL "/openapi/v3", 200, .answer = OLD_PATHS },
        { HTTP_GET, URL "/slurm/v0.0.38/nodes", 500,
          .answer = "{\"errors\":[{\"error\":\"Unspecified error\",\"errno\":-1}],\"nodes\":[]}" },
    };
    struct scene scene;

    (void)state;
    open_scene(&scene, steps, COUNT_OF(steps), NULL);
    scene.access.place.address = NULL;
    discover(&scene);
    assert_true(slurm_client_is_known(scene.client));
    ask(&scene, SLURM_LIST_NODES);
    assert_int_equal(scene.err.kind, ERROR_TRANSIENT);
    ask(&scene, SLURM_CHANGE_NODE);
    assert_int_equal(scene.err.kind, ERROR_INVALID);
    ask(&scene, SLURM_CANCEL_JOB); /* before v0.0.40 a number may mean a whole array */
    assert_int_equal(scene.err.kind, ERROR_INVALID);
    close_scene(&scene);
}

/* A request that did not arrive goes as a command; one that may have arrived does not. */
static void rest_fails(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, URL "/openapi/v3", 200, .answer = NEW_PATHS },
        { HTTP_POST, URL "/slurm/v0.0.42/node/n1", 0, .fails = ERROR_TRANSIENT },
        { HTTP_POST, URL "/slurm/v0.0.42/node/n1", 0, .fails = ERROR_UNKNOWN_OUTCOME },
        { HTTP_POST, URL "/slurm/v0.0.42/node/n1", 200, .answer = "half of" },
        { HTTP_DELETE, URL "/slurm/v0.0.42/node/n1", 404, .answer = "Unable find requested URL" },
    };
    struct scene scene;

    (void)state;
    open_scene(&scene, steps, COUNT_OF(steps), "slurm 24.11.5\n");
    discover(&scene);
    ask(&scene, SLURM_CHANGE_NODE);
    assert_int_equal(scene.err.kind, ERROR_NONE);
    assert_string_equal(scene.login.line, "SLURM_CONF=/etc/s.conf scontrol update NodeName=n1 "
                                          "State=DRAIN Reason=r");
    scene.login.line[0] = '\0';
    ask(&scene, SLURM_CHANGE_NODE);
    assert_int_equal(scene.err.kind, ERROR_UNKNOWN_OUTCOME);
    ask(&scene, SLURM_CHANGE_NODE);
    assert_int_equal(scene.err.kind, ERROR_UNKNOWN_OUTCOME); /* an answer that makes no sense */
    assert_string_equal(scene.login.line, "");
    ask(&scene, SLURM_DELETE_NODE); /* another slurmrestd than before */
    assert_int_equal(scene.err.kind, ERROR_TRANSIENT);
    assert_false(slurm_client_is_known(scene.client));
    close_scene(&scene);
}

static void pass(struct scene *scene, int64_t ms)
{
    loop_run_until(scene->loop, loop_now(scene->loop) + ms);
}

static void discover_at_once(struct scene *scene)
{
    slurm_client_discover(scene->client, answered, scene);
    pass(scene, SECOND_MS);
    assert_true(slurm_client_is_known(scene->client));
}

/* The login node does not answer now: that says nothing of what the cluster can do, and is soon
   asked again; at once if an action needs it. */
static void commands_are_away(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, URL "/openapi/v3", 200, .answer = OLD_PATHS },
        { HTTP_GET, URL "/openapi/v3", 200, .answer = OLD_PATHS },
        { HTTP_GET, URL "/openapi/v3", 200, .answer = OLD_PATHS },
    };
    struct scene scene;

    (void)state;
    open_scene(&scene, steps, COUNT_OF(steps), NULL);
    discover_at_once(&scene);
    assert_true(slurm_client_command_trouble(scene.client)[0] != '\0');
    pass(&scene, 20 * SECOND_MS);
    assert_true(slurm_client_is_known(scene.client));
    pass(&scene, 10 * SECOND_MS);
    assert_false(slurm_client_is_known(scene.client));
    discover_at_once(&scene);
    slurm_ask(scene.client, SLURM_REQUEUE_JOB, &(struct slurm_blanks){ .job = "7" }, answered,
              &scene);
    pass(&scene, SECOND_MS);
    assert_int_equal(scene.err.kind, ERROR_TRANSIENT);
    assert_non_null(strstr(scene.text, "no route"));
    assert_false(slurm_client_is_known(scene.client));
    scene.login.release = "slurm 22.05.8\n";
    discover_at_once(&scene);
    pass(&scene, 9 * MINUTE_MS);
    assert_true(slurm_client_is_known(scene.client));
    ask(&scene, SLURM_REQUEUE_JOB);
    assert_int_equal(scene.err.kind, ERROR_NONE);
    close_scene(&scene);
}

/* A key that is refused stays so until a person corrects it: many tries could lock it out. */
static void a_refusal_is_believed(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, URL "/openapi/v3", 200, .answer = OLD_PATHS },
    };
    struct scene scene;

    (void)state;
    open_scene(&scene, steps, COUNT_OF(steps), NULL);
    scene.login.fails = ERROR_DENIED;
    discover_at_once(&scene);
    ask(&scene, SLURM_REQUEUE_JOB);
    assert_int_equal(scene.err.kind, ERROR_TRANSIENT);
    assert_true(slurm_client_is_known(scene.client));
    close_scene(&scene);
}

static void commands_fail(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene, NULL, 0, "slurm-wlm 22.05.8\n");
    discover(&scene);
    scene.login.status = 1;
    scene.login.errors = "Job is pending execution for job 7";
    ask(&scene, SLURM_REQUEUE_JOB);
    assert_int_equal(scene.err.kind, ERROR_NOT_FOUND);
    scene.login.was_killed = true;
    ask(&scene, SLURM_REQUEUE_JOB);
    assert_int_equal(scene.err.kind, ERROR_UNKNOWN_OUTCOME);
    ask(&scene, SLURM_LIST_JOBS);
    assert_int_equal(scene.err.kind, ERROR_TRANSIENT);
    scene.login = (struct login){ .release = "x", .output = "{\"jobs\":[" };
    ask(&scene, SLURM_LIST_JOBS);
    assert_int_equal(scene.err.kind, ERROR_CORRUPT);
    scene.login = (struct login){ .release = "x", .fails = ERROR_UNKNOWN_OUTCOME };
    ask(&scene, SLURM_REQUEUE_JOB);
    assert_int_equal(scene.err.kind, ERROR_UNKNOWN_OUTCOME);
    assert_non_null(strstr(scene.text, "cluster lab: requeue a job: "));
    close_scene(&scene);
}

/* A list that is longer than sluice reads by REST may be shorter by the command: from then on it is
   asked for there. */
static void a_list_is_too_long(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, URL "/openapi/v3", 200, .answer = LISTS },
        { HTTP_GET, URL "/slurm/v0.0.42/jobs", 0, .fails = ERROR_CORRUPT },
    };
    struct scene scene;

    (void)state;
    open_scene(&scene, steps, COUNT_OF(steps), "slurm 24.11.5\n");
    scene.login.output = "{\"jobs\":[]}";
    discover_at_once(&scene);
    for (int i = 0; i < 2; i++) {
        ask(&scene, SLURM_LIST_JOBS);
        assert_int_equal(scene.err.kind, ERROR_NONE);
        assert_string_equal(scene.text, "{\"jobs\":[]}");
    }
    scene.login.fails = ERROR_UNKNOWN_OUTCOME; /* it printed too much, or for too long */
    ask(&scene, SLURM_LIST_JOBS);
    assert_non_null(strstr(scene.text, "\"Many jobs\" in docs/slurm.md"));
    close_scene(&scene);
    open_scene(&scene, steps, COUNT_OF(steps), NULL);
    scene.access.place.address = NULL;
    discover_at_once(&scene);
    ask(&scene, SLURM_LIST_JOBS);
    assert_int_equal(scene.err.kind, ERROR_CORRUPT);
    assert_non_null(strstr(scene.text, "\"Many jobs\" in docs/slurm.md"));
    close_scene(&scene);
}

static void nothing_answers(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene, NULL, 0, NULL);
    discover(&scene);
    assert_int_equal(scene.err.kind, ERROR_TRANSIENT);
    assert_false(slurm_client_is_known(scene.client));
    scene.login.release = "Welcome!\n";
    discover(&scene);
    assert_int_equal(scene.err.kind, ERROR_CORRUPT);
    slurm_client_discover(scene.client, answered, &scene); /* closed meanwhile: nothing leaks */
    close_scene(&scene);
}

static void settings(void **state)
{
    static const struct {
        struct slurm_access access;
        const char *key; /* NULL: accepted */
    } rows[] = {
        { { 0 }, "rest" },
        { { .rest = (char *)(uintptr_t) "unix:/run/slurmrestd" }, NULL },
        { { .rest = (char *)(uintptr_t) "unix:slurmrestd" }, "rest" },
        { { .rest = (char *)(uintptr_t) "http://slurm.example.com" }, "rest" },
        { { .rest = (char *)(uintptr_t) "https://slurm.example.com:6820" }, NULL },
        { { .rest = (char *)(uintptr_t) "unix:/s", .path = (char *)(uintptr_t) "bin" }, "path" },
        { { .rest = (char *)(uintptr_t) "unix:/s", .conf = (char *)(uintptr_t) "/a;reboot" },
          "conf" },
        { { .place = { .address = (char *)(uintptr_t) "login" },
            .ssh = { .port = 22,
                     .user = (char *)(uintptr_t) "root",
                     .key = (char *)(uintptr_t) "k" } },
          "ssh_host_key" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *key = NULL;
        struct error err = { 0 };
        int result = slurm_access_check(&rows[i].access, &key, &err);

        assert_int_equal(result, rows[i].key ? -1 : 0);
        if (rows[i].key)
            assert_string_equal(key, rows[i].key);
    }
}

static void count(void *context)
{
    ++*(int *)context;
}

/* What is known of the script of job 12, asked for again; whether a command was sent. */
static const struct slurm_script *read_again(struct scene *scene, struct slurm_scripts *scripts,
                                             bool is_sent)
{
    scene->login.line[0] = '\0';
    slurm_scripts_ask(scripts, "12", "12.0");
    loop_run_until(scene->loop, loop_now(scene->loop) + MINUTE_MS);
    assert_string_equal(scene->login.line,
                        is_sent ? "SLURM_CONF=/etc/s.conf scontrol write batch_script 12 -" : "");
    return map_get(slurm_scripts_read(scripts), "12.0");
}

/* A script is read once; after a question without an answer again, but not for ever. */
static void scripts_are_read_once(void **state)
{
    owned(map) struct map *none = map_new(NULL);
    struct slurm_scripts *scripts;
    struct scene scene;
    int news = 0;

    (void)state;
    open_scene(&scene, NULL, 0, "slurm 24.11.5\n");
    scripts = slurm_scripts_new(scene.client, count, &news);
    assert_null(slurm_scripts_read(scripts)); /* it is not known that there is a command */
    discover(&scene);
    scene.login.fails = ERROR_TRANSIENT;
    assert_false(read_again(&scene, scripts, true)->is_known);
    scene.login.fails = ERROR_NONE;
    scene.login.output = "#!/bin/sh\n#SBATCH --signal=B:USR2\n";
    assert_string_equal(read_again(&scene, scripts, true)->signal.name, "USR2");
    assert_null(read_again(&scene, scripts, false)->why);
    assert_int_equal(news, 1);

    slurm_scripts_keep(scripts, none);
    scene.login.output = ""; /* the exit status is 0 */
    assert_string_equal(read_again(&scene, scripts, true)->why, "scontrol printed no script");

    slurm_scripts_keep(scripts, none);
    scene.login.fails = ERROR_TRANSIENT;
    for (int i = 0; i < 3; i++)
        assert_int_equal(read_again(&scene, scripts, true)->is_known, i == 2);
    assert_non_null(strstr(read_again(&scene, scripts, false)->why, "cut"));

    slurm_scripts_keep(scripts, none); /* while it is being read */
    slurm_scripts_ask(scripts, "12", "12.0");
    slurm_scripts_keep(scripts, none);
    loop_run_until(scene.loop, loop_now(scene.loop) + MINUTE_MS);
    assert_int_equal(map_count(slurm_scripts_read(scripts)), 0);
    close_scene(&scene);
    slurm_scripts_free(scripts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways),
        cmocka_unit_test(rest_alone),
        cmocka_unit_test(rest_fails),
        cmocka_unit_test(commands_are_away),
        cmocka_unit_test(commands_fail),
        cmocka_unit_test(nothing_answers),
        cmocka_unit_test(a_refusal_is_believed),
        cmocka_unit_test(a_list_is_too_long),
        cmocka_unit_test(settings),
        cmocka_unit_test(scripts_are_read_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
