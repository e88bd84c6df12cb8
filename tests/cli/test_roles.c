/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each role against each route, on a real unix socket: a child process becomes a user with some
 * groups, as the kernel sees it, and asks every route.  What is refused leaves no commit; what is
 * done carries the person's name.
 */
#include "broker/access/access.h"
#include "broker/access/groups.h"
#include "broker/api/routes.h"
#include "tests/cli/users.h"
#include "tests/support/golden.h"

static bool is_refused(const char *answer)
{
    return status_of(answer) == 403 && strstr(answer, "\"cause\":\"permission\"");
}

static const struct {
    const char *title;
    struct user user;
} columns[] = {
    { "guest", { 61101, GUEST, 0 } },        { "another group", { 61102, 61005, 0 } },
    { "operator", { 61103, OPERATORS, 0 } }, { "dispatcher", { 61104, DISPATCHERS, 0 } },
    { "admin", { 61105, ADMINS, 0 } },       { "root", { 0, 0, 0 } },
};

/* What members of these groups get of each route with an empty request.  Many are wrong requests
   (400), but only 403 with the cause is about the person. */
static void each_role_meets_each_route(void **state)
{
    owned(text) struct text *have = text_new(TEXT_UNBOUNDED);
    const struct route *route;
    struct scene scene;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can be another user */
    scene_begin(&scene, access_settings);
    text_add(have, "route | least role");
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        text_add(have, " | %s", columns[i].title);
    for (size_t at = 0; (route = route_next(&at));) {
        const char *method = http_method_name(route->method);

        text_add(have, "\n%s %s | %s", method, route->path, access_role_name(route->role));
        for (size_t i = 0; i < COUNT_OF(columns); i++) {
            owned(chars) char *answer = ask_as(&scene, &columns[i].user, method, route->path, "");

            text_add(have, " | %s", is_refused(answer) ? "-" : "may");
        }
    }
    text_add(have, "\n");
    golden_check("golden/access/roles.txt", have->chars);
    scene_end(&scene);
}

/* A good request of each act; `who`: the least groups that may. */
static const struct {
    const char *path, *body;
    gid_t who;
} acts[] = {
    { "/v1/freeze", "{\"for_s\":3600,\"reason\":\"r\"}", OPERATORS },
    { "/v1/unfreeze", "{}", OPERATORS },
    { "/v1/freeze", "{\"for_s\":60,\"reason\":\"r\",\"cluster\":\"prod-a\"}", DISPATCHERS },
};

static void a_refused_act_changes_nothing_and_a_done_one_names_the_person(void **state)
{
    static const struct user guest = { GUEST, GUEST, 0 };
    struct scene scene;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, access_settings);
    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        struct user user = { GUEST, acts[i].who, 1 }; /* daemon's login */
        owned(json) json_t *before = scene_events(&scene);
        owned(chars) char *no = ask_as(&scene, &guest, "POST", acts[i].path, acts[i].body);
        owned(json) json_t *between = scene_events(&scene);
        owned(chars) char *done = ask_as(&scene, &user, "POST", acts[i].path, acts[i].body);
        owned(json) json_t *after = scene_events(&scene);
        const json_t *last = json_array_get(after, json_array_size(after) - 1);

        assert_true(is_refused(no));
        assert_int_equal(json_array_size(between), json_array_size(before));
        if (status_of(done) != 200)
            fail_msg("%s: %s", acts[i].path, done);
        assert_int_equal(json_array_size(after), json_array_size(between) + 1);
        assert_string_equal(json_text_or(last, "event/by", ""), "nobody (login daemon)");
    }
    scene_end(&scene);
}

static void a_refusal_says_who_which_role_and_how(void **state)
{
    static const struct {
        const char *settings;
        const char *method, *path;
        const char *says;
    } cases[] = {
        { "", "POST", "/v1/freeze",
          "you are nobody, with the role viewer; this needs the role operator: only root and the "
          "service's user root have it, until access.operator.groups in the configuration names a "
          "unix group" },
        { access_settings, "POST", "/v1/apply",
          "this needs the role dispatcher: members of these groups have the role dispatcher: "
          "61009, 61002 (usermod -aG GROUP nobody, then log in again)" },
        { "access: {admin: {groups: '61003'}}\n", "POST", "/v1/hold",
          "members of these groups have the role admin: 61003" },
        { "access: {viewer: {groups: '61004'}}\n", "GET", "/v1/status",
          "you are nobody, with the role none; this needs the role viewer: members" },
    };
    static const struct user guest = { GUEST, GUEST, 0 };

    (void)state;
    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct scene scene;
        owned(chars) char *answer = NULL;

        scene_begin(&scene, cases[i].settings);
        answer = ask_as(&scene, &guest, cases[i].method, cases[i].path, "");
        if (!is_refused(answer) || !strstr(answer, cases[i].says))
            fail_msg("%s: %s", cases[i].says, answer);
        scene_end(&scene);
    }
}

static void a_viewer_group_closes_the_socket_to_others(void **state)
{
    static const struct user member = { GUEST, VIEWERS, 0 };
    struct scene scene;
    owned(chars) char *answer = NULL;
    owned(chars) char *metrics = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, "access: {viewer: {groups: '61004'}}\n");
    answer = ask_as(&scene, &member, "GET", "/v1/status", "");
    assert_int_equal(status_of(answer), 200);
    metrics = ask_as(&scene, &columns[0].user, "GET", "/metrics", "");
    assert_true(is_refused(metrics));
    scene_end(&scene);
}

static void the_highest_role_counts(void **state)
{
    static const struct user member = { GUEST, DISPATCHERS, 0 };
    struct scene scene;
    owned(chars) char *answer = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, "access: {dispatcher: {groups: '61002'}, operator: {groups: '61002'}}\n");
    answer = ask_as(&scene, &member, "POST", "/v1/apply", "");
    assert_false(is_refused(answer));
    scene_end(&scene);
}

/* One person's flood is refused before it costs anything; another person is served. */
static void a_person_who_asks_too_often_is_told_to_wait(void **state)
{
    enum { MOST = 1000 };
    static const struct user ada = { 61101, GUEST, 0 }, ben = { 61102, GUEST, 0 };
    struct scene scene;
    int asked = 0;
    owned(chars) char *other = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, "");
    for (;; asked++) {
        owned(chars) char *answer = ask_as(&scene, &ada, "POST", "/v1/plan", "");

        assert_true(asked < MOST);
        if (status_of(answer) != 429)
            continue; /* no plan is possible here, but it was tried */
        if (!strstr(answer, "Retry-After: 1\r\n") ||
            !strstr(answer, "too many requests of uid 61101: 10 at once, then 2 a second") ||
            !strstr(answer, "\"retry_after_ms\":"))
            fail_msg("%s", answer);
        break;
    }
    assert_true(asked >= 10);
    other = ask_as(&scene, &ben, "POST", "/v1/plan", "");
    assert_int_not_equal(status_of(other), 429);
    scene_end(&scene);
}

/* An answer may be half a second old, but not older than what a person has done. */
static void who_acts_sees_what_was_done(void **state)
{
    static const struct user ada = { 61101, OPERATORS, 0 };
    struct scene scene;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, access_settings);
    for (int i = 0; i < 3; i++) {
        owned(chars) char *reason = text_format("look %d", i);
        owned(chars) char *body = text_format("{\"for_s\":60,\"reason\":\"%s\"}", reason);
        owned(chars) char *before = ask_as(&scene, &ada, "GET", "/v1/status", "");
        owned(chars) char *done = ask_as(&scene, &ada, "POST", "/v1/freeze", body);
        owned(chars) char *after = ask_as(&scene, &ada, "GET", "/v1/status", "");

        assert_int_equal(status_of(done), 200);
        assert_null(strstr(before, reason));
        assert_non_null(strstr(after, reason));
    }
    scene_end(&scene);
}

/* The command says whose freeze holds, until when, why, and what ends it. */
static void a_longer_freeze_of_another_person_is_told(void **state)
{
    static const struct user ada = { 61101, OPERATORS, 0 };
    static const char body[] = "{\"cluster\":\"prod-a\",\"until\":\"2999-01-04T00:00:00Z\","
                               "\"reason\":\"fibre work\"}";
    static const char want[] =
        "prod-a: frozen until 2999-01-04 00:00 UTC by uid 61101: fibre work\n"
        "That is longer than you asked for, so nothing has changed. "
        "`sluice unfreeze --cluster prod-a` ends it.\n";
    struct scene scene;
    owned(chars) char *frozen = NULL;
    owned(chars) char *line = NULL;
    owned(chars) char *said = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, access_settings);
    frozen = ask_as(&scene, &ada, "POST", "/v1/freeze", body);
    assert_int_equal(status_of(frozen), 200);
    line = text_format(SLUICE_BUILD "/sluice freeze -c '%s/sluice.yaml' --cluster prod-a --for 1h "
                                    "--reason 'a look' 2>&1",
                       scene.folder);
    said = run_beside(&scene, line);
    assert_string_equal(said, want);
    scene_end(&scene);
}

/* sudo changes the user, not the login. */
static void root_is_named_with_its_login(void **state)
{
    static const struct user root = { 0, 0, 1 };
    static const char body[] = "{\"for_s\":3600,\"reason\":\"r\"}";
    struct scene scene;
    owned(chars) char *answer = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    scene_begin(&scene, "");
    answer = ask_as(&scene, &root, "POST", "/v1/freeze", body);
    if (status_of(answer) != 200 || !strstr(answer, "\"by\":\"root (login daemon)\""))
        fail_msg("%s", answer);
    scene_end(&scene);
}

/* Its members have no role by it. */
static void an_unknown_group_is_told(void **state)
{
    struct access_rule rule = { .name = (char[]){ "operator" },
                                .groups = (char[]){ "no-such-group" } };
    const struct access_rules rules = { .items = &rule, .count = 1 };
    struct error err = { 0 };
    owned(groups) struct groups *groups = groups_new();
    owned(access) struct access *access = access_new(&rules, groups);

    (void)state;
    assert_int_equal(access_check_groups(access, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text,
                        "access.operator.groups: this machine has no group no-such-group");
}

static void what_gives_no_clear_right_is_refused(void **state)
{
    static const struct {
        const char *access, *says;
    } rows[] = {
        { "king: {groups: '1'}",
          "access.king: unknown role \"king\"; known roles: viewer, operator" },
        { "admin: {certificates: 'ops team'}",
          "access.admin.certificates: expected names with commas between them: \"ops team\" has" },
        { "admin: {groups: 'a, b c'}", "access.admin.groups: expected names with commas" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *text = text_format("%saccess: {%s}\n", small_config, rows[i].access);
        owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
        struct error err = { 0 };

        assert_null(config_read(path, &err));
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_meets_each_route),
        cmocka_unit_test(a_refused_act_changes_nothing_and_a_done_one_names_the_person),
        cmocka_unit_test(a_refusal_says_who_which_role_and_how),
        cmocka_unit_test(a_viewer_group_closes_the_socket_to_others),
        cmocka_unit_test(the_highest_role_counts),
        cmocka_unit_test(who_acts_sees_what_was_done),
        cmocka_unit_test(a_person_who_asks_too_often_is_told_to_wait),
        cmocka_unit_test(a_longer_freeze_of_another_person_is_told),
        cmocka_unit_test(root_is_named_with_its_login),
        cmocka_unit_test(what_gives_no_clear_right_is_refused),
        cmocka_unit_test(an_unknown_group_is_told),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
