/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Users whose names a directory server knows that is late, or does not answer at all: who waits for
 * it, and what others get meanwhile.
 */
#include "broker/access/names.h"
#include "tests/cli/users.h"

#include <stdatomic.h>

static int names_asked;

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

static atomic_bool may_answer, was_stuck;

/* As a directory server that does not answer, but not forever. */
static int find_user_late(uid_t uid, struct passwd *entry, char *buffer, size_t size,
                          struct passwd **found)
{
    for (int ms = 0; !may_answer; ms++) {
        if (ms == 20 * SECOND_MS) {
            was_stuck = true;
            break;
        }
        usleep(1000);
    }
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

static atomic_bool may_write;

/* As a disk that does not sync, but not forever. */
static int hold_write(void *context)
{
    (void)context;
    for (int ms = 0; !may_write; ms++) {
        if (ms == 20 * SECOND_MS) {
            was_stuck = true;
            break;
        }
        usleep(1000);
    }
    return 0;
}

/* The name comes while a commit is being written that began after the question. */
static void begin_write(void *context)
{
    struct scene *scene = context;
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{si ss}", "for_s", 60, "reason", "r");
    owned(json) json_t *answer = NULL;

    journal_set_gate(scene->world.journal, hold_write, NULL);
    answer = service_freeze(scene->service, request, "ben", &err);
    assert_non_null(answer);
    may_answer = true;
}

static void let_write(void *context)
{
    (void)context;
    may_write = true;
}

/* Who asks for events waits for the disk again after the wait for a name; the loop never does. */
static void a_name_that_comes_late_leaves_no_one_to_wait_for_the_disk(void **state)
{
    static const struct names_source source = { find_user_late, getgrnam_r };
    static const struct user ada = { 61101, OPERATORS, 0 };
    struct scene scene;
    struct timer *timers[2];
    struct error err = { 0 };
    owned(chars) char *answer = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, access_settings);
    assert_int_equal(journal_write_by_thread(scene.world.journal, scene.loop, &err), 0);
    names_set_source(&source);
    may_answer = was_stuck = may_write = false;
    timers[0] = timer_new(scene.loop, begin_write, &scene);
    timers[1] = timer_new(scene.loop, let_write, NULL);
    timer_set(timers[0], SECOND_MS);
    timer_set(timers[1], 2 * SECOND_MS);
    answer = ask_as(&scene, &ada, "GET", "/v1/events", "");
    assert_int_equal(status_of(answer), 200);
    assert_non_null(strstr(answer, "\"freeze\""));
    assert_false(was_stuck);
    timer_free(timers[0]);
    timer_free(timers[1]);
    journal_set_gate(scene.world.journal, NULL, NULL);
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

/* All that two people ask was counted before the first name came. */
static void streams_that_waited_for_a_name_are_counted_again(void **state)
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
        cmocka_unit_test(a_name_that_comes_late_leaves_no_one_to_wait_for_the_disk),
        cmocka_unit_test(streams_that_waited_for_a_name_are_counted_again),
        cmocka_unit_test(a_request_over_its_rate_asks_for_no_name),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
