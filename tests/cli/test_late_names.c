/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Users whose names a directory server knows that is late, or does not answer at all: who waits for
 * it, and what others get meanwhile.
 */
#include "broker/access/names.h"
#include "tests/cli/users.h"

#include <stdatomic.h>

static atomic_int names_asked;

static int find_user(uid_t uid, struct passwd *entry, char *buffer, size_t size,
                     struct passwd **found)
{
    (void)uid;
    names_asked++;
    text_copy(buffer, size, "ada");
    entry->pw_name = buffer;
    *found = entry;
    return 0;
}

static atomic_bool may_answer, was_stuck, is_asking;

/* As a directory server that does not answer, but not forever. */
static int find_user_late(uid_t uid, struct passwd *entry, char *buffer, size_t size,
                          struct passwd **found)
{
    is_asking = true;
    for (int ms = 0; !may_answer; ms++) {
        if (ms == 20 * SECOND_MS) {
            was_stuck = true;
            break;
        }
        usleep(1000);
    }
    is_asking = false;
    return find_user(uid, entry, buffer, size, found);
}

static void let_answer(void *context)
{
    (void)context;
    may_answer = true;
}

/* The loop turns while the name of a user is looked for: its timer lets the question be answered.
 */
static void a_directory_server_delays_who_needs_it_alone(void **state)
{
    static const struct names_source source = { find_user_late, getgrnam_r };
    static const struct user ada = { 61101, OPERATORS, 0 };
    struct scene scene;
    struct timer *timer;
    owned(chars) char *answer = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, access_settings);
    names_set_source(&source);
    may_answer = was_stuck = false;
    timer = timer_new(scene.loop, let_answer, NULL);
    timer_set(timer, SECOND_MS);
    answer = ask_as(&scene, &ada, "POST", "/v1/freeze", "{\"for_s\":60,\"reason\":\"r\"}");
    assert_int_equal(status_of(answer), 200);
    assert_non_null(strstr(answer, "\"by\":\"ada"));
    assert_false(was_stuck);
    timer_free(timer);
    scene_end(&scene);
    names_set_source(NULL);
}

/* A request that records no person is answered without a name. */
static void who_only_looks_waits_for_no_name(void **state)
{
    static const struct names_source source = { find_user_late, getgrnam_r };
    static const struct user ada = { 61101, OPERATORS, 0 };
    static const char *const paths[] = { "/v1/status", "/v1/events", "/v1/transfers",
                                         "/metrics",   "/healthz",   "/v1/changes" };
    struct scene scene;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, access_settings);
    names_set_source(&source);
    may_answer = was_stuck = is_asking = false;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        owned(chars) char *answer = ask_as(&scene, &ada, "GET", paths[i], "");

        if (status_of(answer) != 200)
            fail_msg("%s: %s", paths[i], answer);
    }
    owned(chars) char *plan = ask_as(&scene, &ada, "POST", "/v1/plan", "");

    assert_int_not_equal(status_of(plan), 0);
    assert_false(is_asking);
    assert_false(was_stuck);
    may_answer = true;
    scene_end(&scene);
    names_set_source(NULL);
}

static int pid_of_waiting; /* the child whose request waits for a name */

/* In a child: an act of a user whom the directory server is asked about. */
static void begin_to_wait(struct scene *scene, const struct user *user)
{
    owned(chars) char *request = text_format("POST /v1/unfreeze HTTP/1.1\r\nHost: localhost\r\n"
                                             "Connection: close\r\nContent-Length: 2\r\n\r\n{}");

    fflush(NULL);
    pid_of_waiting = fork();
    if (pid_of_waiting == 0) {
        become(user);
        send_request(scene->config->socket, request, open("/dev/null", O_WRONLY | O_CLOEXEC));
    }
    while (!is_asking)
        loop_run_until(scene->loop, loop_now(scene->loop) + TURN_MS);
}

/* While the directory server hangs, root and those who only look are served, the doors close, and
   who acts waits for some seconds and is recorded by the number. */
static void a_directory_server_that_hangs_holds_up_nobody(void **state)
{
    static const struct names_source source = { find_user_late, getgrnam_r };
    static const struct user ada = { 61101, OPERATORS, 0 }, ben = { 61102, OPERATORS, 0 };
    static const struct user root = { 0, 0, 0 };
    static const char body[] = "{\"for_s\":60,\"reason\":\"r\"}";
    struct scene scene;
    owned(chars) char *by_root = NULL;
    owned(chars) char *by_ben = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, access_settings);
    names_set_source(&source);
    may_answer = was_stuck = is_asking = false;
    begin_to_wait(&scene, &ada);
    loop_wall_move(scene.loop, 2 * HOUR_MS); /* names of before are too old */
    by_root = ask_as(&scene, &root, "POST", "/v1/freeze", body);
    assert_int_equal(status_of(by_root), 200);
    if (!strstr(by_root, "\"by\":\"root"))
        fail_msg("%s", by_root);
    by_ben = ask_as(&scene, &ben, "POST", "/v1/freeze", "{\"for_s\":90,\"reason\":\"r\"}");
    assert_int_equal(status_of(by_ben), 200);
    assert_non_null(strstr(by_ben, "\"by\":\"uid 61102\""));
    doors_close(scene.doors);
    assert_true(is_asking);
    assert_false(was_stuck);
    may_answer = true;
    while (is_asking)
        usleep(1000);
    assert_int_equal(waitpid(pid_of_waiting, NULL, 0), pid_of_waiting);
    scene_end(&scene);
    names_set_source(NULL);
}

/* A flood must not become a flood of questions to a directory server. */
static void a_request_over_its_rate_asks_for_no_name(void **state)
{
    enum { MOST = 1000 };
    static const struct names_source source = { find_user, getgrnam_r };
    static const struct user ada = { 61101, GUEST, 0 };
    struct scene scene;
    int status = 0;

    (void)state;
    if (geteuid() != 0)
        skip();
    names_set_source(&source);
    scene_begin(&scene, "");
    names_asked = 0;
    for (int i = 0; i < MOST && status != 429; i++) {
        owned(chars) char *answer = ask_as(&scene, &ada, "POST", "/v1/plan", "");

        status = status_of(answer);
        loop_wall_move(scene.loop, 2 * MINUTE_MS); /* what was kept of names is too old */
    }
    assert_int_equal(status, 429);
    names_asked = 0;
    for (int i = 0; i < 3; i++) {
        owned(chars) char *answer = ask_as(&scene, &ada, "POST", "/v1/plan", "");

        if (status_of(answer) == 429)
            assert_int_equal(names_asked, 0);
        names_asked = 0;
    }
    scene_end(&scene);
    names_set_source(NULL);
}

enum { FOLLOWED_EACH = 40 }; /* as many as the rate of reads allows at once */

/* What a child tells of its connections. */
struct followed {
    int streams, refused, others;
};

/* In the child: follows the changes on all connections at once, tells what came of it, and keeps
   them until `hold` is closed. */
static void follow_often(const char *path, int out, int hold)
{
    static const char request[] = "GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct followed followed = { 0 };
    int fds[FOLLOWED_EACH];
    char bytes[4096];

    for (size_t i = 0; i < FOLLOWED_EACH; i++)
        fds[i] = send_to_service(path, request);
    for (size_t i = 0; i < FOLLOWED_EACH; i++) {
        ssize_t got = read(fds[i], bytes, sizeof bytes - 1);

        bytes[got > 0 ? got : 0] = '\0';
        if (text_starts_with(bytes, "HTTP/1.1 200"))
            followed.streams++;
        else if (text_starts_with(bytes, "HTTP/1.1 429"))
            followed.refused++;
        else
            followed.others++;
    }
    if (write(out, &followed, sizeof followed) != sizeof followed)
        _exit(96);
    _exit(read(hold, bytes, 1) == 0 ? 0 : 95);
}

/* However many connections two people ask on at once, while no name is known. */
static void streams_are_bounded_whoever_asks(void **state)
{
    static const struct names_source source = { find_user_late, getgrnam_r };
    static const struct user users[] = { { 61101, GUEST, 0 }, { 61102, GUEST, 0 } };
    struct followed followed[COUNT_OF(users)];
    pid_t children[COUNT_OF(users)];
    int told[COUNT_OF(users)][2], hold[2];
    struct scene scene;
    struct timer *timer;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, "");
    names_set_source(&source);
    may_answer = was_stuck = false;
    timer = timer_new(scene.loop, let_answer, NULL);
    timer_set(timer, SECOND_MS);
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        assert_int_equal(pipe2(told[i], O_CLOEXEC | O_NONBLOCK), 0);
        fflush(NULL);
        children[i] = fork();
        if (children[i] == 0) {
            close(hold[1]);
            become(&users[i]);
            follow_often(scene.config->socket, told[i][1], hold[0]);
        }
    }
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        while (read(told[i][0], &followed[i], sizeof followed[i]) != sizeof followed[i])
            loop_run_until(scene.loop, loop_now(scene.loop) + TURN_MS);
        assert_int_equal(followed[i].streams, 8);
        assert_int_equal(followed[i].refused, FOLLOWED_EACH - 8);
        assert_int_equal(followed[i].others, 0);
    }
    assert_false(was_stuck);
    close(hold[1]);
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
        close(told[i][0]);
        close(told[i][1]);
    }
    close(hold[0]);
    timer_free(timer);
    scene_end(&scene);
    names_set_source(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_server_delays_who_needs_it_alone),
        cmocka_unit_test(who_only_looks_waits_for_no_name),
        cmocka_unit_test(a_directory_server_that_hangs_holds_up_nobody),
        cmocka_unit_test(streams_are_bounded_whoever_asks),
        cmocka_unit_test(a_request_over_its_rate_asks_for_no_name),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
