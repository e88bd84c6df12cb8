/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A service whose doors cannot all be opened: it starts, a condition says which one is closed and
 * why, and the door opens when that is mended.  And certificates that end, and are renewed.
 */
#include "broker/access/names.h"
#include "tests/cli/door_scene.h"
#include "tests/support/identity.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define TLS                                                                                        \
    "listen: {address: '127.0.0.1:#', certificate: server.pem, key: server.key,"                   \
    " client_ca: people.pem}\n"
#define TLS_ANY "listen: {address: '127.0.0.1:0', certificate: server.pem, key: server.key}\n"
#define TOKENS "tokens: {issuer: https://login.example.com, audience: sluice, keys: keys.json}\n"

/* The keys of RFC 7515, A.3, and RFC 7517, A.1; and the token of the first, which is of no use but
   says by its refusal whose keys are in use. */
static const char other_key_set[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"a\","
                                    "\"x\":\"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4\","
                                    "\"y\":\"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM\"}]}";
static const char token[] =
    "Bearer eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcG"
    "xlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSAp"
    "mWQxfKTUJqPP3-Kg6NU1Q";
static const char key_set[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"a\","
                              "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
                              "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";

static int blocker = -1; /* holds the port */
static int port;
static const char *where; /* the folder of the scene */

static int no_user(uid_t uid, struct passwd *entry, char *buffer, size_t size,
                   struct passwd **found)
{
    (void)uid;
    (void)entry;
    (void)buffer;
    (void)size;
    *found = NULL;
    return 0;
}

/* Groups are asked for by the loop's thread, and beside it. */
static struct {
    pthread_t loop;
    atomic_bool has_people;
    atomic_int code;
    atomic_bool is_hanging; /* beside the loop: until it is released */
    sem_t release;
    atomic_int asked_in_loop, asked_beside;
} directory;

static int find_group(const char *name, struct group *entry, char *buffer, size_t size,
                      struct group **found)
{
    (void)buffer;
    (void)size;
    if (pthread_equal(pthread_self(), directory.loop)) {
        directory.asked_in_loop++;
    } else {
        directory.asked_beside++;
        if (directory.is_hanging)
            sem_wait(&directory.release);
    }
    entry->gr_gid = getegid();
    *found = NULL;
    if (directory.has_people && directory.code == 0 && strcmp(name, "people") == 0)
        *found = entry;
    return directory.code;
}

static int begin_directory(void **state)
{
    static const struct names_source source = { no_user, find_group };

    (void)state;
    directory.loop = pthread_self();
    directory.has_people = directory.is_hanging = false;
    directory.code = 0;
    directory.asked_in_loop = directory.asked_beside = 0;
    names_set_source(&source);
    return sem_init(&directory.release, 0, 0);
}

static int end_directory(void **state)
{
    (void)state;
    names_set_source(NULL);
    return sem_destroy(&directory.release);
}

static void write_identity(const char *folder)
{
    struct identity own = identity_make("server", "IP:127.0.0.1", NULL);
    owned(chars) char *key = test_folder_write(folder, "server.key", own.key_pem);

    assert_int_equal(chmod(key, 0600), 0);
    mem_free(test_folder_write(folder, "server.pem", own.certificate_pem));
    mem_free(test_folder_write(folder, "people.pem", own.certificate_pem));
    identity_clear(&own);
}

static void prepare(const char *folder)
{
    where = folder;
    write_identity(folder);
    mem_free(test_folder_write(folder, "keys.json", key_set));
}

static void rename_file(const char *from, const char *to)
{
    owned(chars) char *old = text_format("%s/%s", where, from);
    owned(chars) char *new = text_format("%s/%s", where, to);

    assert_int_equal(rename(old, new), 0);
}

static void take_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    blocker = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(blocker, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(blocker, 1), 0);
    assert_int_equal(getsockname(blocker, (struct sockaddr *)&address, &size), 0);
    port = ntohs(address.sin_port);
}

static void give_port(void)
{
    close(blocker);
}

static void without_certificate(const char *folder)
{
    prepare(folder);
    rename_file("server.pem", "kept.pem");
}

static void with_certificate(void)
{
    rename_file("kept.pem", "server.pem");
}

static void without_keys(const char *folder)
{
    prepare(folder);
    rename_file("keys.json", "kept.json");
}

static void with_keys(void)
{
    rename_file("kept.json", "keys.json");
}

static void with_directory(void)
{
    directory.has_people = true;
    directory.code = 0;
}

static const struct {
    const char *settings;
    void (*prepare)(const char *folder);
    int group_code;
    const char *what, *says;
    void (*mend)(void);
} rows[] = {
    { TLS, prepare, 0, "listen", "no request comes in over TLS: listen.address: cannot bind",
      give_port },
    { TLS, without_certificate, 0, "listen", "server.pem", with_certificate },
    { "metrics_port: #\n", NULL, 0, "metrics_port", "the metrics port does not answer", give_port },
    { "socket_group: people\n", NULL, 0, "socket_group",
      "only root and the service's user may open the socket: socket_group: this machine has no "
      "group people",
      with_directory },
    { "access: {operator: {groups: people}}\n", NULL, 0, "access",
      "access.operator.groups: this machine has no group people", with_directory },
    { "access: {operator: {groups: people}}\n", NULL, EIO, "access",
      "cannot find out now whether this machine has a group people", with_directory },
    { TLS TOKENS, without_keys, 0, "tokens", "no token is believed: tokens.keys: ", with_keys },
};

/* "#" stands for the port. */
static char *settings_with(const char *settings, int number)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    for (const char *at = settings; *at; at++)
        if (*at == '#')
            text_add(out, "%d", number);
        else
            text_add_bytes(out, at, 1);
    return text_take(out);
}

/* "" when it does not hold. */
static char *sentence_of(struct scene *scene, const char *id, const char *what)
{
    owned(json) json_t *status = service_status(scene->service);
    const json_t *row;
    size_t i;

    json_array_foreach(json_at(status, "health/conditions"), i, row) {
        if (text_equal(json_text_or(row, "id", ""), id) &&
            (!what || text_equal(json_text_or(row, "what", ""), what)))
            return mem_copy_chars(json_text_or(row, "text", ""));
    }
    return mem_copy_chars("");
}

static void expect_sentence(struct scene *scene, const char *id, const char *what, const char *says)
{
    owned(chars) char *text = sentence_of(scene, id, what);

    if (says ? !strstr(text, says) : text[0] != '\0')
        fail_msg("%s %s: \"%s\" is not \"%s\"", id, what ?: "", text, says ?: "");
}

static void run_for(struct scene *scene, int64_t duration_ms)
{
    loop_skip(scene->loop, duration_ms);
    for (int i = 0; i < 5; i++)
        loop_run_until(scene->loop, loop_now(scene->loop) + 1);
}

/* Lets the loop run for so long, until that many questions have been asked beside it. */
static void await_question(struct scene *scene, int64_t later_ms, int count)
{
    loop_skip(scene->loop, later_ms);
    for (int i = 0; i < 500 && directory.asked_beside < count; i++)
        loop_run_until(scene->loop, loop_now(scene->loop) + 5);
    assert_int_equal(directory.asked_beside, count);
}

/* After so long, until the condition of that kind says so (NULL: does not hold). */
static void await_sentence(struct scene *scene, int64_t later_ms, const char *id, const char *says)
{
    loop_skip(scene->loop, later_ms);
    for (int i = 0; i < 500; i++) {
        owned(chars) char *text = sentence_of(scene, id, NULL);

        if (says ? strstr(text, says) != NULL : text[0] == '\0')
            return;
        loop_run_until(scene->loop, loop_now(scene->loop) + 5);
    }
    expect_sentence(scene, id, NULL, says);
}

/* A directory fails in another way then, so that its answer is seen. */
static void fail_again(struct scene *scene, size_t row)
{
    bool is_group = rows[row].mend == with_directory;

    directory.has_people = false;
    directory.code = directory.code == 0 ? EIO : 0;
    if (is_group)
        await_sentence(scene, 2 * SECOND_MS, "door_closed",
                       directory.code == 0 ? "this machine has no group people"
                                           : "whether this machine has a group people");
    else
        run_for(scene, 2 * SECOND_MS);
    expect_sentence(scene, "door_closed", rows[row].what, is_group ? "group" : rows[row].says);
}

static void a_door_that_cannot_be_opened_is_tried_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *settings = NULL;
        bool needs_port = rows[i].mend == give_port;
        struct scene scene;

        port = 0;
        if (needs_port)
            take_port();
        directory.has_people = rows[i].group_code != 0;
        directory.code = rows[i].group_code;
        settings = settings_with(rows[i].settings, port);
        scene_begin_with(&scene, settings, rows[i].prepare);
        expect_sentence(&scene, "door_closed", rows[i].what, rows[i].says);
        fail_again(&scene, i);
        rows[i].mend();
        await_sentence(&scene, 4 * SECOND_MS, "door_closed", NULL);
        if (strstr(settings, "listen"))
            assert_int_not_equal(doors_tls_port(scene.doors), 0);
        scene_end(&scene);
    }
}

static mode_t mode_of(const struct scene *scene)
{
    struct stat status;

    assert_int_equal(stat(scene->config->socket, &status), 0);
    return status.st_mode & 07777;
}

/* While the group is not known, no other group may open it. */
static void a_socket_without_its_group_is_closed(void **state)
{
    struct scene scene;
    struct error err = { 0 };

    (void)state;
    scene_begin(&scene, "socket_group: people\n");
    doors_close(scene.doors);
    assert_int_equal(doors_open(scene.doors, &scene.world, scene.service, &err), 0);
    assert_int_equal(mode_of(&scene), 0600);
    directory.has_people = true;
    await_sentence(&scene, 10 * SECOND_MS, "door_closed", NULL);
    assert_int_equal(mode_of(&scene), 0660);
    scene_end(&scene);
}

/* LDAP behind a firewall that drops: the loop must turn, or systemd ends the service. */
static void a_directory_that_hangs_stops_nothing(void **state)
{
    struct scene scene;

    (void)state;
    directory.code = EIO;
    scene_begin(&scene,
                "socket_group: people\n"
                "access: {operator: {groups: 'people, staff'}, viewer: {groups: people}}\n");
    directory.asked_in_loop = 0;
    directory.is_hanging = true;
    await_question(&scene, 2 * SECOND_MS, 1);
    for (int i = 0; i < 5; i++)
        run_for(&scene, 5 * MINUTE_MS);
    assert_int_equal(directory.asked_beside, 1);
    expect_sentence(&scene, "door_closed", "access", "whether this machine has a group people");
    with_directory();
    directory.is_hanging = false;
    sem_post(&directory.release);
    await_sentence(&scene, 0, "door_closed", "has no group staff"); /* asked for at once */
    expect_sentence(&scene, "door_closed", "socket_group", NULL);
    assert_int_equal(mode_of(&scene), 0660);
    assert_int_equal(directory.asked_in_loop, 0);
    scene_end(&scene);
}

/* The questions for one that does not exist become few; a group that was found is not asked for. */
static void only_a_missing_group_is_asked_for(void **state)
{
    static const int64_t waits_s[] = { 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 };
    struct scene scene;

    (void)state;
    directory.has_people = true;
    scene_begin(&scene, "access: {operator: {groups: 'people, typo'}}\n");
    for (size_t i = 0; i < COUNT_OF(waits_s); i++) {
        directory.code = i % 2 == 0 ? EIO : 0;
        run_for(&scene, waits_s[i] * SECOND_MS - 1000);
        assert_int_equal(directory.asked_beside, (int)i);
        await_sentence(&scene, 1000, "door_closed",
                       i % 2 == 0 ? "whether this machine has a group typo" : "no group typo");
        assert_int_equal(directory.asked_beside, (int)i + 1);
    }
    assert_int_equal(directory.asked_in_loop, 2);
    scene_end(&scene);
}

/* A reload that would close a door is refused; what is closed already stops no reload. */
static void a_reload_closes_no_door(void **state)
{
    owned(chars) char *settings = settings_with(TLS, 0);
    owned(doors) struct doors *next = NULL;
    owned(doors) struct doors *same = NULL;
    struct scene scene;
    struct error err = { 0 };

    (void)state;
    scene_begin_with(&scene, settings, prepare);
    rename_file("server.pem", "kept.pem");
    next = doors_new(scene.config);
    assert_int_equal(doors_lose(scene.doors, next, &err), -1);
    assert_true(text_starts_with(err.text, "listen: "));
    same = doors_new(scene.config);
    assert_int_equal(doors_lose(next, same, &err), 0);
    scene_end(&scene);
}

static struct wall_time shown_end(struct scene *scene)
{
    owned(json) json_t *status = service_status(scene->service);
    const json_t *row;
    struct wall_time end = { 0 };
    size_t i;

    json_array_foreach(json_object_get(status, "doors"), i, row) {
        if (text_equal(json_text_or(row, "door", ""), "listen"))
            assert_int_equal(
                wall_parse(json_text_or(row, "certificate_ends", ""), false, &end, NULL), 0);
    }
    return end;
}

/* Those of the test are good for an hour. */
static void a_certificate_that_ends_is_told(void **state)
{
    owned(chars) char *settings = settings_with(TLS, 0);
    struct scene scene;
    int64_t end_ms;

    (void)state;
    scene_begin_with(&scene, settings, prepare);
    end_ms = shown_end(&scene).ms;
    assert_in_range(end_ms - loop_wall(scene.loop).ms, 50 * MINUTE_MS, 60 * MINUTE_MS);
    expect_sentence(&scene, "certificate_expires", NULL, "server.pem ends at ");
    expect_sentence(&scene, "certificate_expired", NULL, NULL);
    loop_wall_move(scene.loop, end_ms - loop_wall(scene.loop).ms);
    expect_sentence(&scene, "certificate_expires", NULL, NULL);
    expect_sentence(&scene, "certificate_expired", NULL, "server.pem ended at ");
    loop_wall_move(scene.loop, -15 * (int64_t)DAY_MS);
    expect_sentence(&scene, "certificate_expires", NULL, NULL);
    expect_sentence(&scene, "certificate_expired", NULL, NULL);
    scene_end(&scene);
}

static int renewed_count;

static void hear(void *context, const char *line)
{
    (void)context;
    renewed_count += strstr(line, "certificate_renewed") != NULL;
}

/* The key does not fit yet: as when the two files are copied one after the other. */
static void a_renewed_certificate_is_read_by_itself(void **state)
{
    owned(chars) char *settings = settings_with(TLS, 0);
    struct scene scene;

    (void)state;
    scene_begin_with(&scene, settings, prepare);
    renewed_count = 0;
    log_setup(LOG_INFO, LOG_FORM_TEXT);
    log_set_sink(hear, NULL);
    rename_file("server.key", "old.key");
    write_identity(where);
    rename_file("server.key", "new.key");
    rename_file("old.key", "server.key");
    run_for(&scene, MINUTE_MS);
    expect_sentence(&scene, "certificate_refused", NULL, "is not an unencrypted key of the cert");
    assert_int_equal(renewed_count, 0);
    rename_file("new.key", "server.key");
    run_for(&scene, 10 * SECOND_MS);
    expect_sentence(&scene, "certificate_refused", NULL, NULL);
    assert_int_equal(renewed_count, 1);
    run_for(&scene, 10 * MINUTE_MS);
    assert_int_equal(renewed_count, 1);
    log_set_sink(NULL, NULL);
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    scene_end(&scene);
}

/* As a timer writes it that fetches the issuer's keys. */
static void a_changed_key_set_is_read_by_itself(void **state)
{
    owned(chars) char *settings = settings_with(TLS TOKENS, 0);
    struct scene scene;

    (void)state;
    scene_begin_with(&scene, settings, prepare);
    expect_sentence(&scene, "door_closed", NULL, NULL);
    mem_free(test_folder_write(where, "keys.json", "{\"keys\":"));
    run_for(&scene, MINUTE_MS);
    expect_sentence(&scene, "certificate_refused", NULL,
                    "changed files are not in use: tokens.keys");
    expect_sentence(&scene, "door_closed", NULL, NULL); /* the old keys are in use */
    mem_free(test_folder_write(where, "keys.json", key_set));
    run_for(&scene, 10 * SECOND_MS);
    expect_sentence(&scene, "certificate_refused", NULL, NULL);
    scene_end(&scene);
}

static void tokens_need_one_place_for_their_keys(void **state)
{
    static const struct {
        const char *keys, *says;
    } cases[] = {
        { "", "tokens: needs either `keys` or `keys_url`" },
        { ", keys: k.json, keys_url: https://login.example.com/keys", "needs either" },
        { ", keys_url: http://login.example.com/keys", "tokens.keys_url: " },
        { ", keys_url: login.example.com", "tokens.keys_url: " },
        { ", keys_url: https://login.example.com/keys", NULL },
        { ", keys: k.json", NULL },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *text = text_format("%stokens: {issuer: i, audience: a%s}\n"
                                              "listen: {address: '127.0.0.1:0', certificate: c,"
                                              " key: k}\n",
                                              small_config, cases[i].keys);
        owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
        struct error err = { 0 };
        owned(config) struct config *config = config_read(path, &err);

        if (cases[i].says ? config || !strstr(err.text, cases[i].says) : !config)
            fail_msg("%s: %s", cases[i].keys, err.text);
    }
}

struct reply {
    struct loop *loop;
    char *body;
};

static void keep_reply(void *context, const struct http_answer *answer, const struct error *err)
{
    struct reply *reply = context;

    reply->body = mem_copy_chars(answer ? answer->body : err->text);
    loop_stop(reply->loop);
}

/* What the service says to the token. */
static void expect_refusal(struct scene *scene, const char *says)
{
    const struct http_header header = { "Authorization", token };
    struct reply reply = { .loop = scene->loop };
    owned(chars) char *url = text_format("https://127.0.0.1:%d/v1/version",
                                         doors_tls_port(scene->doors));
    owned(chars) char *path = text_format("%s/server.pem", where);
    owned(text) struct text *authority = test_file_read(path);
    const struct http_tls tls = { .ca_pem = authority->chars };

    http_send(scene->http,
              &(struct http_request){ .url = url,
                                      .tls = &tls,
                                      .headers = &header,
                                      .header_count = 1,
                                      .timeout_ms = MINUTE_MS },
              keep_reply, &reply);
    while (!reply.body)
        loop_run(scene->loop);
    if (!strstr(reply.body, says))
        fail_msg("\"%s\" is not \"%s\"", reply.body, says);
    mem_free(reply.body);
}

static const char known[] = "of another issuer";
static const char unknown[] = "no key of the issuer has signed";

/* What fails for one part takes nothing from another: each row is a trouble at the moment at which
   the keys change. */
static void keys_change_whatever_else_is_wrong(void **state)
{
    static const struct {
        const char *settings;
        int group_code;
        bool is_certificate_wrong;
    } others[] = {
        { "", 0, false },
        { "access: {operator: {groups: people}}\n", EIO, false },
        { "access: {operator: {groups: 'people, typo'}}\n", 0, false },
        { "", 0, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        owned(chars) char *settings = text_format(TLS_ANY TOKENS "%s", others[i].settings);
        struct scene scene;

        with_directory();
        scene_begin_with(&scene, settings, prepare);
        expect_refusal(&scene, known);
        directory.code = others[i].group_code;
        if (others[i].is_certificate_wrong)
            mem_free(test_folder_write(where, "server.key", "half"));
        mem_free(test_folder_write(where, "keys.json", other_key_set));
        run_for(&scene, MINUTE_MS);
        expect_refusal(&scene, unknown);
        run_for(&scene, 10 * MINUTE_MS);
        mem_free(test_folder_write(where, "keys.json", "{"));
        run_for(&scene, MINUTE_MS); /* within a minute, whatever else is tried again */
        expect_refusal(&scene, unknown);
        expect_sentence(&scene, "certificate_refused", "tokens", "tokens.keys");
        expect_sentence(&scene, "certificate_refused", "listen",
                        others[i].is_certificate_wrong ? "server.key" : NULL);
        expect_sentence(&scene, "door_closed", "tokens", NULL);
        mem_free(test_folder_write(where, "keys.json", key_set));
        run_for(&scene, MINUTE_MS);
        expect_refusal(&scene, known);
        expect_sentence(&scene, "certificate_refused", "tokens", NULL);
        scene_end(&scene);
    }
}

/* Keys that are missing are read again; the groups keep their numbers meanwhile. */
static void a_retry_takes_no_role_from_a_group(void **state)
{
    owned(chars) char *settings = text_format(TLS_ANY TOKENS
                                              "access: {operator: {groups: people}}\n");
    struct scene scene;

    (void)state;
    directory.has_people = true;
    scene_begin_with(&scene, settings, without_keys);
    directory.code = EIO;
    run_for(&scene, 2 * SECOND_MS);
    expect_sentence(&scene, "door_closed", "tokens", "no token is believed");
    expect_sentence(&scene, "door_closed", "access", NULL);
    with_keys();
    run_for(&scene, MINUTE_MS);
    expect_sentence(&scene, "door_closed", NULL, NULL);
    expect_refusal(&scene, known);
    scene_end(&scene);
}

/* Keys that cannot be read make no news of the certificate. */
static void a_certificate_is_renewed_once(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin_with(&scene, TLS_ANY TOKENS, prepare);
    renewed_count = 0;
    log_setup(LOG_INFO, LOG_FORM_TEXT);
    log_set_sink(hear, NULL);
    write_identity(where);
    mem_free(test_folder_write(where, "keys.json", "{"));
    for (int i = 0; i < 5; i++)
        run_for(&scene, MINUTE_MS);
    assert_int_equal(renewed_count, 1);
    log_set_sink(NULL, NULL);
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    scene_end(&scene);
}

static void answer_keys(void *context, struct http_call *call)
{
    (void)context;
    http_call_answer(
        call, &(struct http_reply){ .status = 200, .body = key_set, .body_size = strlen(key_set) });
}

static void an_issuer_that_does_not_answer_is_told(void **state)
{
    owned(chars) char *settings = NULL;
    struct http_server *issuer;
    struct scene scene;
    struct error err = { 0 };

    (void)state;
    take_port();
    give_port();
    settings = text_format("tokens: {issuer: https://login.example.com, audience: sluice,"
                           " keys_url: 'http://127.0.0.1:%d/keys'}\n" TLS_ANY,
                           port);
    scene_begin_with(&scene, settings, prepare);
    await_sentence(&scene, 0, "door_closed", "no token is believed: ");
    issuer = http_server_new(scene.loop, answer_keys, NULL);
    assert_int_equal(http_server_listen_loopback(issuer, port, &port, &err), 0);
    await_sentence(&scene, 5 * SECOND_MS, "door_closed", NULL);
    http_server_free(issuer);
    await_sentence(&scene, HOUR_MS, "keys_old", "the keys of tokens are those of ");
    expect_sentence(&scene, "door_closed", NULL, NULL);
    scene_end(&scene);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin_directory, end_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_door_that_cannot_be_opened_is_tried_again),
        CASE(a_socket_without_its_group_is_closed),
        CASE(a_directory_that_hangs_stops_nothing),
        CASE(only_a_missing_group_is_asked_for),
        CASE(a_reload_closes_no_door),
        CASE(a_certificate_that_ends_is_told),
        CASE(a_renewed_certificate_is_read_by_itself),
        CASE(a_changed_key_set_is_read_by_itself),
        CASE(keys_change_whatever_else_is_wrong),
        CASE(a_retry_takes_no_role_from_a_group),
        CASE(a_certificate_is_renewed_once),
        CASE(an_issuer_that_does_not_answer_is_told),
        CASE(tokens_need_one_place_for_their_keys),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
