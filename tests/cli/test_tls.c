/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service over TLS, asked by curl with certificates that openssl made: who gets in, as whom,
 * and what a browser that was led here cannot do.
 */
#include "broker/api/routes.h"
#include "tests/cli/tls_scene.h"
#include "tests/support/issuer.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char settings[] =
    "listen: {address: '127.0.0.1:0', certificate: server.pem, key: server.key,"
    " client_ca: people.pem}\n"
    "access:\n"
    "  viewer: {certificates: carol}\n"
    "  operator: {certificates: 'ada@example.com, https://example.com/oncall'}\n";

static const struct {
    const char *words;
    int status; /* 0: no answer */
    const char *says;
} cases[] = {
    { AS("ada") "@/v1/version", 200, "\"version\"" },
    { AS("ada") FREEZE, 200, "\"by\":\"ada@example.com\"" },
    { AS("ada") JSON "-d '{}' @/v1/unfreeze", 200, "\"by\":\"ada@example.com\"" },
    { AS("ben") LONGER_FREEZE, 200, "\"by\":\"https://example.com/oncall\"" },
    { AS("ada") JSON "-d '{}' @/v1/apply", 403,
      "you are ada@example.com, with the role operator; this needs the role dispatcher: "
      "access.dispatcher.certificates" },
    { AS("carol") "@/v1/version", 200, "\"version\"" },
    { AS("carol") FREEZE, 403, "you are carol, with the role viewer" },
    { AS("dave") "@/v1/version", 403, "you are dave, with the role none" },
    { AS("dave") "@/metrics", 403, "you are dave, with the role none" },
    { AS("robot") "@/v1/version", 403,
      "you are somebody whose certificate has no email, URI or DNS name in its subjectAltName" },
    { AS("ada") "--tls-max 1.2 @/v1/version", 200, "\"version\"" },
    { AS("ada") "https://127.0.0.1:${port}/healthz", 200, "is_healthy" },
    /* in the handshake */
    { "@/v1/version", 0, "" },
    { AS("mallory") "@/v1/version", 0, "" },
    { AS("trudy") "@/v1/version", 0, "" },
    { AS("server-only") "@/v1/version", 0, "" },
    { AS("ada") "--tls-max 1.1 @/v1/version", 0, "" },
    { AS("ada") "-k https://sluice.test:${port}0/", 0, "" },
    { "http://sluice.test:${port}/v1/version", 0, "" },
    /* what a page in ada's browser could send */
    { AS("ada") "-H 'Host: evil.example' @/v1/version", 403, "not for the host" },
    { AS("ada") "-H 'Host: laptop.example.com' @/v1/version", 403, "not for the host" },
    { AS("ada") "-H 'Sec-Fetch-Site: cross-site' @/v1/version", 403, "a page of another site" },
    { AS("ada") "-d '{\"for_s\":60,\"reason\":\"r\"}' @/v1/freeze", 400, "application/json" },
    { AS("ada") "-X OPTIONS @/v1/freeze", 501, "" },
    { AS("ada") "-X DELETE @/v1/freeze", 400, "application/json" },
};

static void each_client_gets_what_is_its_own(void **state)
{
    struct scene scene;
    owned(chars) char *port = NULL;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_certificates);
    port = text_format("%d", doors_tls_port(scene.doors));
    assert_int_equal(setenv("port", port, 1), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *before = scene_events(&scene);
        owned(chars) char *said = ask(&scene, cases[i].words);
        owned(json) json_t *after = scene_events(&scene);
        const char *status = strrchr(said, '\n');
        bool is_act = strstr(cases[i].words, "-d ") && cases[i].status == 200;

        assert_non_null(status);
        if (atoi(status + 1) != cases[i].status || !strstr(said, cases[i].says))
            fail_msg("curl %s: %s", cases[i].words, said);
        assert_int_equal(json_array_size(after), json_array_size(before) + is_act);
    }
    scene_end(&scene);
}

/* The command in a child, because the loop of the service runs here. */
static char *say_remotely(struct scene *scene, const char *words)
{
    owned(chars) char *line = text_format("cd '%s'; " SLUICE_BUILD
                                          "/sluice %s -c sluice.yaml 2>&1; printf '\n%%d' $?",
                                          scene->folder, words);

    return run_beside(scene, line);
}

#define WITH(name) " --ca machines.pem --client-certificate " name ".pem --client-key " name ".key"

static const struct {
    const char *words;
    int code;
    const char *says;
} commands[] = {
    { "events" WITH("carol"), 0, "" },
    { "freeze --for 1h --reason r -o json" WITH("ada"), 0, "\"by\": \"ada@example.com\"" },
    { "unfreeze" WITH("ben"), 0, "all clusters: the freeze is over" },
    { "freeze --for 1h --reason r" WITH("carol"), 77, "you are carol, with the role viewer" },
    { "leads" WITH("dave"), 77, "you are dave, with the role none" },
    { "leads --ca people.pem --client-certificate ada.pem --client-key ada.key", 1,
      "no service answers at http" },
    { "leads --ca machines.pem", 1, "does not accept your certificate" },
    { "leads --ca machines.pem --client-certificate ada.pem", 1, "belong together" },
    { "leads --ca none.pem", 1, "none.pem" },
    { "leads --server http://127.0.0.1:1", 1, "expected https://HOST:PORT" },
};

static void commands_ask_a_service_on_another_machine(void **state)
{
    struct scene scene;
    owned(chars) char *port = NULL;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_certificates);
    port = text_format("%d", doors_tls_port(scene.doors));
    assert_int_equal(setenv("port", port, 1), 0);
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        bool is_elsewhere = strstr(commands[i].words, "--server");
        owned(chars) char *words = text_format(
            "%s%s", commands[i].words, is_elsewhere ? "" : " --server https://127.0.0.1:$port");
        owned(chars) char *said = say_remotely(&scene, words);

        if (atoi(strrchr(said, '\n') + 1) != commands[i].code || !strstr(said, commands[i].says))
            fail_msg("sluice %s: %s", commands[i].words, said);
    }
    scene_end(&scene);
}

/* From a folder without a sluice.yaml, and with none in the home. */
static const struct {
    const char *words;
    int code;
    const char *says;
} bare[] = {
    { "events", 0, "" },
    { "freeze --for 1h --reason r", 0, "" },
    { "unfreeze", 0, "all clusters: the freeze is over" },
    { "departures", 0, "" },
    { "reclaim --to prod-a --gpus 8 --reason r", 64, "--gpus needs a sluice.yaml" },
    { "plan", 1, "give --schedules" },
    { "wait --for nowhere=1", 1, "the service has no cluster nowhere" },
    { "events --config none.yaml", 1, "none.yaml" },
};

static void a_command_with_a_server_needs_no_configuration(void **state)
{
    struct scene scene;

    (void)state;
    if (!has_programs() || access("/etc/sluice/config.yaml", F_OK) == 0)
        skip();
    scene_begin_with(&scene, settings, make_certificates);
    for (size_t i = 0; i < COUNT_OF(bare); i++) {
        owned(chars) char *line = text_format(
            "mkdir -p '%s/bare'; cd '%s/bare'; export HOME=$PWD; "
            "unset SLUICE_CONFIG XDG_CONFIG_HOME; " SLUICE_BUILD
            "/sluice %s --server https://127.0.0.1:%d --ca ../machines.pem "
            "--client-certificate ../ada.pem --client-key ../ada.key 2>&1; printf '\n%%d' $?",
            scene.folder, scene.folder, bare[i].words, doors_tls_port(scene.doors));
        owned(chars) char *said = run_beside(&scene, line);

        if (atoi(strrchr(said, '\n') + 1) != bare[i].code || !strstr(said, bare[i].says))
            fail_msg("sluice %s: %s", bare[i].words, said);
    }
    scene_end(&scene);
}

static const char token_settings[] =
    "listen: {address: '127.0.0.1:0', certificate: server.pem, key: server.key,"
    " client_ca: people.pem}\n"
    "tokens: {issuer: https://login.example.com, audience: sluice, keys: keys.json,"
    " person: email}\n"
    "access:\n"
    "  viewer: {claims: groups=staff}\n"
    "  operator: {claims: 'groups=oncall', certificates: ada@example.com}\n";

static struct issuer issuer;

static void write_token(const char *folder, const char *name, const char *claims)
{
    owned(chars) char *whole = text_format(
        "{\"iss\":\"https://login.example.com\",\"aud\":\"sluice\",\"exp\":4102444800,%s}", claims);
    owned(chars) char *token = issuer_token(issuer.ec, "{\"alg\":\"ES256\"}", whole);

    mem_free(test_folder_write(folder, name, token));
}

static void write_token_until(struct scene *scene, const char *name, int64_t end_s)
{
    owned(chars) char *claims = text_format(
        "{\"iss\":\"https://login.example.com\",\"aud\":\"sluice\",\"exp\":%lld,"
        "\"email\":\"judy@example.com\",\"groups\":\"staff\"}",
        (long long)end_s);
    owned(chars) char *token = issuer_token(issuer.ec, "{\"alg\":\"ES256\"}", claims);

    mem_free(test_folder_write(scene->folder, name, token));
}

static void make_tokens(const char *folder)
{
    owned(text) struct text *keys = issuer_keys(&issuer);

    make_certificates(folder);
    mem_free(test_folder_write(folder, "keys.json", keys->chars));
    write_token(folder, "eve", "\"email\":\"eve@example.com\",\"groups\":[\"staff\",\"oncall\"]");
    write_token(folder, "fred", "\"email\":\"fred@example.com\",\"groups\":\"staff\"");
    write_token(folder, "gina", "\"email\":\"gina@example.com\",\"groups\":[\"oncalls\"]");
    write_token(folder, "hugo", "\"groups\":[\"oncall\"]");
    write_token(folder, "ivan", "\"email\":\"ivan@example.com\",\"exp\":1,\"groups\":\"oncall\"");
}

#define SHOW(name) "-H \"Authorization: Bearer $(cat " name ")\" "

static const struct {
    const char *words;
    int status;
    const char *says;
} shown[] = {
    { SHOW("fred") "-i @/v1/departures.ics", 200, "Cache-Control: no-store" },
    { SHOW("fred") "-i @/metrics", 200, "Cache-Control: no-store" },
    { SHOW("fred") "-i -m 1 @/v1/changes", 200, "Cache-Control: no-store" },
    { SHOW("eve") FREEZE, 200, "\"by\":\"eve@example.com\"" },
    { SHOW("fred") "@/v1/version", 200, "\"version\"" },
    { SHOW("fred") FREEZE, 403,
      "you are fred@example.com, with the role viewer; this needs the role operator: "
      "access.operator.claims" },
    { SHOW("gina") "@/v1/version", 403, "you are gina@example.com, with the role none" },
    { SHOW("hugo") "@/v1/version", 401, "the token names no person (claim email)" },
    { SHOW("ivan") "@/v1/version", 401, "\"cause\":\"identity\"" },
    { "-H 'Authorization: Bearer x' @/v1/version", 401, "is not HEADER.PAYLOAD.SIGNATURE" },
    { "-H 'Authorization: Basic YTpi' @/v1/version", 401, "expected Bearer" },
    { "-i @/v1/version", 401, "WWW-Authenticate: Bearer" },
    { "-i @/v1/version", 401, "Connection: close" },
    { "@/metrics", 401, "show a client certificate or a bearer token" },
    { "@/", 200, "<title>sluice</title>" }, /* the page has no data in it */
    { "@/page/page.js", 200, "import" },
    { "@/v1/whoami", 401, "\"cause\":\"identity\"" },
    { "@/v1/changes", 401, "\"cause\":\"identity\"" },
    { SHOW("gina") "@/v1/changes", 403, "with the role none" },
    { SHOW("gina") "@/v1/whoami", 200, "\"role\":\"none\",\"may\":[]" },
    { SHOW("fred") "@/v1/whoami", 200, "\"person\":\"fred@example.com\",\"role\":\"viewer\"" },
    { SHOW("eve") "@/v1/whoami", 200, "\"POST /v1/freeze\"" },
    { SHOW("eve") "-H 'Origin: https://evil.example' " FREEZE, 403, "of another site" },
    { AS("ada") LONGER_FREEZE, 200, "\"by\":\"ada@example.com\"" },
    { AS("ada") "-H 'Authorization: Bearer x' @/v1/version", 401, "HEADER.PAYLOAD" },
    { AS("mallory") SHOW("eve") "@/v1/version", 0, "" },
};

static void a_token_says_who_asks(void **state)
{
    struct scene scene;
    owned(chars) char *port = NULL;
    owned(chars) char *said = NULL;

    (void)state;
    if (!has_programs())
        skip();
    issuer = issuer_new();
    scene_begin_with(&scene, token_settings, make_tokens);
    for (size_t i = 0; i < COUNT_OF(shown); i++) {
        owned(chars) char *answer = ask(&scene, shown[i].words);

        if (atoi(strrchr(answer, '\n') + 1) != shown[i].status || !strstr(answer, shown[i].says))
            fail_msg("curl %s: %s", shown[i].words, answer);
    }
    port = text_format("%d", doors_tls_port(scene.doors));
    assert_int_equal(setenv("port", port, 1), 0);
    said = say_remotely(&scene, "unfreeze --token eve --ca machines.pem "
                                "--server https://127.0.0.1:$port");
    assert_int_equal(atoi(strrchr(said, '\n') + 1), 0);
    mem_free(said);
    said = say_remotely(&scene, "leads --token hugo --ca machines.pem "
                                "--server https://127.0.0.1:$port");
    assert_int_equal(atoi(strrchr(said, '\n') + 1), 77);
    issuer_clear(&issuer);
    scene_end(&scene);
}

static const char role_settings[] =
    "listen: {address: '127.0.0.1:0', certificate: server.pem, key: server.key,"
    " client_ca: people.pem}\n"
    "tokens: {issuer: https://login.example.com, audience: sluice, keys: keys.json}\n"
    "access:\n"
    "  viewer: {certificates: role-viewer, claims: groups=viewer}\n"
    "  operator: {certificates: role-operator, claims: groups=operator}\n"
    "  dispatcher: {certificates: role-dispatcher, claims: groups=dispatcher}\n"
    "  admin: {certificates: role-admin, claims: groups=admin}\n";

static void make_roles(const char *folder)
{
    make_tokens(folder);
    for (int role = ACCESS_NONE; role < ACCESS_ROLE_COUNT; role++) {
        const char *name = access_role_name((enum access_role)role);
        owned(chars) char *file = text_format("token-%s", name);
        owned(chars) char *claims = text_format("\"sub\":\"%s\",\"groups\":[\"%s\"]", name, name);

        write_token(folder, file, claims);
    }
}

/* One curl asks all routes on one connection: the rate of handshakes is limited. */
static char *ask_all_routes(struct scene *scene, const char *person)
{
    owned(text) struct text *line = text_new(TEXT_UNBOUNDED);
    const struct route *route;

    text_add(line, "cd '%s'; curl", scene->folder);
    for (size_t at = 0; (route = route_next(&at));)
        text_add(line,
                 "%s -sS --max-time %d --cacert machines.pem %s -w '\n@@%%{http_code}\n' -X %s "
                 "-H 'Content-Type: application/json' 'https://127.0.0.1:%d%s'",
                 at > 1 ? " --next" : "", route->flags & IS_STREAM ? 1 : 30, person,
                 http_method_name(route->method), doors_tls_port(scene->doors), route->path);
    text_add(line, " 2>/dev/null");
    return run_beside(scene, line->chars);
}

/* Of the answers in the order of the routes: only 403 with its cause is about the person's role. */
static void check_routes(char *said, enum access_role role, const char *person)
{
    const struct route *route;
    char *at = said;

    for (size_t i = 0; (route = route_next(&i));) {
        char *end = strstr(at, "\n@@");
        bool may = role >= route->role, is_refused;

        if (!end)
            fail_msg("%s: no answer of %s: %s", person, route->path, at);
        *end = '\0';
        is_refused = atoi(end + 3) == 403 && strstr(at, "\"cause\":\"permission\"");
        if (is_refused == may || atoi(end + 3) == 401 || atoi(end + 3) == 0)
            fail_msg("%s: %s %s: %s %.3s", person, http_method_name(route->method), route->path, at,
                     end + 3);
        at = end + strlen("\n@@200\n");
    }
}

static void each_role_meets_each_route(void **state)
{
    struct scene scene;

    (void)state;
    if (!has_programs())
        skip();
    issuer = issuer_new();
    scene_begin_with(&scene, role_settings, make_roles);
    for (int role = ACCESS_NONE; role < ACCESS_ROLE_COUNT; role++)
        for (size_t i = 0; i < 2; i++) {
            const char *name = access_role_name((enum access_role)role);
            owned(chars) char *person =
                i == 0 ? text_format("--cert role-%s.pem --key role-%s.key", name, name)
                       : text_format("-H \"Authorization: Bearer $(cat token-%s)\"", name);
            owned(chars) char *said = ask_all_routes(&scene, person);

            check_routes(said, (enum access_role)role, person);
        }
    issuer_clear(&issuer);
    scene_end(&scene);
}

struct reply {
    struct loop *loop;
    int status;
    char *body;
};

static void keep_reply(void *context, const struct http_answer *answer, const struct error *err)
{
    struct reply *reply = context;

    reply->status = answer ? answer->status : -1;
    reply->body = mem_copy_chars(answer ? answer->body : err->text);
    loop_stop(reply->loop);
}

/* By our own client, which keeps its connection. */
static struct reply ask_kept(struct scene *scene)
{
    struct reply reply = { .loop = scene->loop };
    owned(chars) char *url = text_format("https://127.0.0.1:%d/v1/version",
                                         doors_tls_port(scene->doors));
    static const char *const names[] = { "machines.pem", "ada.pem", "ada.key" };
    struct text *files[COUNT_OF(names)];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *path = text_format("%s/%s", scene->folder, names[i]);

        files[i] = test_file_read(path);
    }
    const struct http_tls tls = { .ca_pem = files[0]->chars,
                                  .certificate_pem = files[1]->chars,
                                  .key_pem = files[2]->chars };

    http_send(scene->http,
              &(struct http_request){ .url = url, .tls = &tls, .timeout_ms = MINUTE_MS },
              keep_reply, &reply);
    while (!reply.body)
        loop_run(scene->loop);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        text_free(files[i]);
    return reply;
}

/* The certificates are good for two days; the connection would stay forever. */
static void a_kept_connection_does_not_outlive_its_certificate(void **state)
{
    static const struct {
        int64_t later_ms;
        int status;
        const char *says;
    } rows[] = {
        { 0, 200, "version" },
        { DAY_MS, 200, "version" },
        { DAY_MS, 401, "ended at" },
        { 0, 401, "ended at" },
    };
    struct scene scene;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_certificates);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct reply reply;

        loop_wall_move(scene.loop, rows[i].later_ms);
        reply = ask_kept(&scene);
        if (reply.status != rows[i].status || !strstr(reply.body, rows[i].says))
            fail_msg("%zu: %d %s", i, reply.status, reply.body);
        mem_free(reply.body);
    }
    scene_end(&scene);
}

static void let_days_pass(void *context)
{
    struct scene *scene = context;

    loop_wall_move(scene->loop, 3 * DAY_MS);
}

/* The reader has shown its certificate or token once, and would be told of changes forever.  curl
   ends with code 0 when the service ends the stream, and with 28 after a minute. */
static void a_stream_does_not_outlive_what_its_reader_showed(void **state)
{
    static const struct {
        const char *words;
        const char *code;
    } rows[] = {
        { AS("ada") "-N @/v1/changes", "\n200" },
        { SHOW("judy") "-N @/v1/changes", "\n200" },
    };
    struct scene scene;

    (void)state;
    if (!has_programs())
        skip();
    issuer = issuer_new();
    scene_begin_with(&scene, token_settings, make_tokens);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *said = NULL;
        struct timer *later = timer_new(scene.loop, let_days_pass, &scene);

        write_token_until(&scene, "judy",
                          loop_wall(scene.loop).ms / SECOND_MS + 2 * DAY_MS / SECOND_MS);
        timer_set(later, SECOND_MS);
        said = ask(&scene, rows[i].words);
        timer_free(later);
        if (!strstr(said, "event: change") || !strstr(said, rows[i].code) ||
            strstr(said, "timed out"))
            fail_msg("curl %s: %s", rows[i].words, said);
        loop_wall_move(scene.loop, -3 * DAY_MS);
    }
    issuer_clear(&issuer);
    scene_end(&scene);
}

/* As a reload does it: the new files are read before the old doors are closed. */
static void a_renewed_certificate_is_shown_and_a_wrong_one_refused(void **state)
{
    static const struct {
        const char *script, *says;
    } wrongs[] = {
        { "cd $1; cp ada.key server.key", "server.key: is not an unencrypted key of the cert" },
        { "cd $1; chmod 644 server.key", "server.key: every user may read this key" },
        { "cd $1; echo > server.pem", "server.pem: has no certificate that can be used" },
        { "cd $1; echo > people.pem", "people.pem: has no certificate of an authority" },
        { "cd $1; head -n 4 strangers.pem >> people.pem",
          "people.pem: is damaged after its first" },
        { "cd $1; rm server.key", "server.key" },
        { "cd $1; chmod o+w people.pem", "may be changed by everybody" },
    };
    struct scene scene;
    owned(chars) char *said = NULL;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_certificates);
    for (size_t i = 0; i < COUNT_OF(wrongs); i++) {
        owned(doors) struct doors *next = NULL;
        struct error err = { 0 };

        run("cd $1; mkdir keep; cp -p *.pem *.key keep", scene.folder);
        run(wrongs[i].script, scene.folder);
        next = doors_new(scene.config);
        assert_int_equal(doors_lose(scene.doors, next, &err), -1);
        if (!strstr(err.text, wrongs[i].says) || !text_starts_with(err.text, "listen: "))
            fail_msg("%s: %s", wrongs[i].script, err.text);
        run("cd $1; cp -p keep/* .; rm -r keep; chmod 600 *.key; chmod 644 *.pem", scene.folder);
    }
    make_certificates(scene.folder); /* of new authorities */
    said = ask(&scene, AS("ada") "@/v1/version");
    assert_int_equal(atoi(strrchr(said, '\n') + 1), 0);
    doors_close(scene.doors);
    doors_free(scene.doors);
    scene_open_doors(&scene);
    mem_free(said);
    said = ask(&scene, AS("ada") "@/v1/version");
    assert_int_equal(atoi(strrchr(said, '\n') + 1), 200);
    scene_end(&scene);
}

static void an_address_that_is_none_is_refused(void **state)
{
    static const char *const addresses[] = { "sluice.test:8443", "127.0.0.1", "8443", ":8443",
                                             "127.0.0.1:99999" };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        owned(chars) char *text = text_format("%slisten: {address: '%s', certificate: a, key: b,"
                                              " client_ca: c}\n",
                                              small_config, addresses[i]);
        owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
        struct error err = { 0 };

        assert_null(config_read(path, &err));
        if (!strstr(err.text, "is not an IP address and a port"))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_client_gets_what_is_its_own),
        cmocka_unit_test(commands_ask_a_service_on_another_machine),
        cmocka_unit_test(a_command_with_a_server_needs_no_configuration),
        cmocka_unit_test(a_token_says_who_asks),
        cmocka_unit_test(each_role_meets_each_route),
        cmocka_unit_test(a_kept_connection_does_not_outlive_its_certificate),
        cmocka_unit_test(a_stream_does_not_outlive_what_its_reader_showed),
        cmocka_unit_test(a_renewed_certificate_is_shown_and_a_wrong_one_refused),
        cmocka_unit_test(an_address_that_is_none_is_refused),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
