/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service over TLS, asked by curl with certificates that openssl made: who gets in, as whom,
 * and what a browser that was led here cannot do.
 */
#include "tests/cli/door_scene.h"
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

/* NAME AUTHORITY SUBJECT-ALTERNATIVE-NAME: a certificate and its key. */
static const char issue[] =
    "set -e; cd \"$1\"; mkdir -p certificates\n"
    "authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    " -subj \"/CN=$1\" -keyout $1.key -out $1.pem; }\n"
    "issue() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days ${4:-2}"
    " -subj \"/CN=$1\" -CA $2.pem -CAkey $2.key -addext basicConstraints=critical,CA:FALSE"
    " ${3:+-addext} ${3:+$3} ${5:+-addext} ${5:+$5} -keyout $1.key -out $1.pem; }\n"
    /* Of the company's two authorities only one is for people who may ask. */
    "below() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    " -subj \"/CN=$1\" -CA $2.pem -CAkey $2.key -addext basicConstraints=critical,CA:TRUE"
    " -keyout $1.key -out $1.pem; }\n"
    "authority machines; authority company; authority strangers\n"
    "below people company; below visitors company\n"
    "issue server machines subjectAltName=IP:127.0.0.1,DNS:sluice.test\n"
    "issue ada people subjectAltName=DNS:laptop.example.com,email:ada@example.com\n"
    "issue ben people subjectAltName=URI:https://example.com/oncall\n"
    "issue carol people\n"
    "issue dave people\n"
    "issue robot people subjectAltName=IP:10.0.0.7\n"
    "issue server-only people '' 2 extendedKeyUsage=serverAuth\n"
    "issue mallory strangers subjectAltName=email:ada@example.com\n"
    "issue trudy visitors subjectAltName=email:ada@example.com\n"
    "cat visitors.pem company.pem >> trudy.pem\n"
    "chmod 600 *.key\n";

static void run(const char *script, const char *folder)
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

        dup2(fd, 2);
        execlp("sh", "sh", "-c", script, "sh", folder, NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool has_programs(void)
{
    const char *const paths[] = { "/usr/bin/curl", "/usr/bin/openssl" };

    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (access(paths[i], X_OK) < 0)
            return false;
    return true;
}

static void make_certificates(const char *folder)
{
    run(issue, folder);
}

/* curl's answer with the status as its last line. */
static char *ask_curl(struct scene *scene, const char *words)
{
    owned(chars) char *line = text_format(
        "cd '%s'; curl -sS --max-time 60 -w '\n%%{http_code}' --cacert machines.pem --resolve "
        "'*:%d:127.0.0.1' %s 2>&1",
        scene->folder, doors_tls_port(scene->doors), words);

    return run_beside(scene, line);
}

/* "@" in words stands for https://sluice.test:PORT. */
static char *ask(struct scene *scene, const char *words)
{
    owned(text) struct text *line = text_new(TEXT_UNBOUNDED);

    for (const char *at = words; *at; at++)
        if (*at == '@')
            text_add(line, "https://sluice.test:%d", doors_tls_port(scene->doors));
        else
            text_add_bytes(line, at, 1);
    return ask_curl(scene, line->chars);
}

#define AS(name) "--cert " name ".pem --key " name ".key "
#define JSON "-H 'Content-Type: application/json' "
#define FREEZE JSON "-d '{\"for_s\":3600,\"reason\":\"r\"}' @/v1/freeze"

static const struct {
    const char *words;
    int status; /* 0: no answer */
    const char *says;
} cases[] = {
    { AS("ada") "@/v1/version", 200, "\"version\"" },
    { AS("ada") FREEZE, 200, "\"by\":\"ada@example.com\"" },
    { AS("ada") JSON "-d '{}' @/v1/unfreeze", 200, "\"by\":\"ada@example.com\"" },
    { AS("ben") FREEZE, 200, "\"by\":\"https://example.com/oncall\"" },
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
    { AS("ada") FREEZE, 200, "\"by\":\"ada@example.com\"" },
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
        cmocka_unit_test(a_token_says_who_asks),
        cmocka_unit_test(a_kept_connection_does_not_outlive_its_certificate),
        cmocka_unit_test(a_renewed_certificate_is_shown_and_a_wrong_one_refused),
        cmocka_unit_test(an_address_that_is_none_is_refused),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
