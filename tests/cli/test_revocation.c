/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Revocation lists for the certificates of clients, and the end of their authorities: a certificate
 * that is on a list is refused, and so are all when no list can speak for them, or when their
 * authority has ended.
 */
#include "broker/health/conditions.h"
#include "tests/cli/tls_scene.h"

static const char settings[] =
    "listen: {address: '127.0.0.1:0', certificate: server.pem, key: server.key,"
    " client_ca: people.pem, client_crl: people.crl}\n"
    "access:\n"
    "  viewer: {certificates: 'carol, dave'}\n";

/* list WORDS...: the list of the authority `people`, whose members revoke() has added. */
#define LISTS                                                                                      \
    "set -e; cd \"$1\"; printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index\\n"                     \
    "default_md=sha256\\n' > ca.cnf; touch index\n"                                                \
    "signed() { openssl ca -config ca.cnf -cert people.pem -keyfile people.key \"$@\"; }\n"        \
    "list() { signed -gencrl \"$@\" -out next.crl; mv next.crl people.crl; }\n"                    \
    "revoke() { signed -revoke $1.pem; }\n"

static void make_lists(const char *folder)
{
    make_certificates(folder);
    run(LISTS "list -crldays 2", folder);
}

static void expect(struct scene *scene, const char *words, int status)
{
    owned(chars) char *said = ask(scene, words);

    if (atoi(strrchr(said, '\n') + 1) != status)
        fail_msg("curl %s: %s", words, said);
}

/* The files are looked at every minute. */
static void let_a_minute_pass(struct scene *scene)
{
    loop_skip(scene->loop, MINUTE_MS);
    for (int i = 0; i < 5; i++)
        loop_run_until(scene->loop, loop_now(scene->loop) + TURN_MS);
}

static bool has_sentence(struct scene *scene, const char *sentence)
{
    owned(json) json_t *status = service_status(scene->service);
    owned(chars) char *text = json_print(status);

    return strstr(text, sentence);
}

static void a_revoked_certificate_is_refused(void **state)
{
    struct scene scene;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_lists);
    expect(&scene, AS("carol") "@/v1/version", 200);
    run(LISTS "revoke carol; list -crldays 2", scene.folder);
    let_a_minute_pass(&scene);
    expect(&scene, AS("carol") "@/v1/version", 0);
    expect(&scene, AS("dave") "@/v1/version", 200);
    scene_end(&scene);
}

static void revoke_and_pass(void *context)
{
    struct scene *scene = context;

    run(LISTS "revoke carol; list -crldays 2", scene->folder);
    loop_skip(scene->loop, MINUTE_MS);
}

/* Who is in when the list changes is put out, and has to show the certificate again.  curl would
   follow the changes for a minute. */
static void who_is_in_is_put_out(void **state)
{
    struct scene scene;
    struct timer *later;
    owned(chars) char *said = NULL;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_lists);
    later = timer_new(scene.loop, revoke_and_pass, &scene);
    timer_set(later, SECOND_MS);
    said = ask(&scene, AS("carol") "-N @/v1/changes");
    timer_free(later);
    if (!strstr(said, "event: change") || strstr(said, "timed out"))
        fail_msg("%s", said);
    expect(&scene, AS("carol") "@/v1/version", 0);
    scene_end(&scene);
}

/* Nothing is known of the certificates then: OpenSSL refuses them, and the status says why. */
static void a_list_that_has_ended_lets_nobody_in(void **state)
{
    struct scene scene;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_lists);
    assert_false(has_sentence(&scene, "revocation list"));
    run(LISTS "list -crl_lastupdate 20200101000000Z -crl_nextupdate 20200102000000Z", scene.folder);
    let_a_minute_pass(&scene);
    expect(&scene, AS("carol") "@/v1/version", 0);
    assert_true(has_sentence(&scene, "people.crl ended at 2020-01-02T00:00:00Z: no client"));
    run(LISTS "list -crldays 2", scene.folder);
    let_a_minute_pass(&scene);
    expect(&scene, AS("carol") "@/v1/version", 200);
    assert_false(has_sentence(&scene, "revocation list"));
    scene_end(&scene);
}

/* The list of another authority says nothing about these people. */
static void an_authority_without_a_list_lets_nobody_in(void **state)
{
    struct scene scene;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_lists);
    run(LISTS "openssl ca -config ca.cnf -cert strangers.pem -keyfile strangers.key -gencrl "
              "-crldays 2 -out next.crl; mv next.crl people.crl",
        scene.folder);
    let_a_minute_pass(&scene);
    expect(&scene, AS("carol") "@/v1/version", 0);
    scene_end(&scene);
}

/* As for other files: what is damaged is not used, and the lists of before stay in use. */
static void a_damaged_list_is_not_used(void **state)
{
    struct scene scene;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, settings, make_lists);
    run("cd $1; echo > people.crl", scene.folder);
    let_a_minute_pass(&scene);
    expect(&scene, AS("carol") "@/v1/version", 200);
    assert_true(has_sentence(&scene, "people.crl: has no revocation list"));
    scene_end(&scene);
}

/* The people's authority again, with the same key and these times. */
#define AUTHORITY                                                                                  \
    "set -e; cd \"$1\"; printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=authorities\\n"               \
    "default_md=sha256\\nrand_serial=yes\\nunique_subject=no\\npolicy=p\\nx509_extensions=x\\n[p]" \
    "\\n"                                                                                          \
    "commonName=supplied\\n[x]\\nbasicConstraints=critical,CA:TRUE\\n' > authority.cnf\n"          \
    "touch authorities; openssl req -new -key people.key -subj /CN=people -out people.csr\n"       \
    "authority() { openssl ca -batch -config authority.cnf -selfsign -keyfile people.key"          \
    " -in people.csr -notext -outdir . -out next.pem \"$@\" >&2; mv next.pem people.pem; }\n"

static struct wall_time shown_end(struct scene *scene)
{
    owned(json) json_t *status = service_status(scene->service);
    const json_t *row;
    struct wall_time end = { 0 };
    size_t i;

    json_array_foreach(json_object_get(status, "doors"), i, row) {
        if (json_at(row, "authorities_end"))
            assert_int_equal(
                wall_parse(json_text_or(row, "authorities_end", ""), false, &end, NULL), 0);
    }
    return end;
}

/* Then all handshakes with a client's certificate fail, though that of the server is good. */
static void the_end_of_an_authority_is_told(void **state)
{
    static const char without_lists[] =
        "listen: {address: '127.0.0.1:0', certificate: server.pem, key: server.key,"
        " client_ca: people.pem}\n"
        "access:\n"
        "  viewer: {certificates: 'carol, dave'}\n";
    struct scene scene;
    int64_t end_ms;

    (void)state;
    if (!has_programs())
        skip();
    scene_begin_with(&scene, without_lists, make_certificates);
    run(AUTHORITY "authority -days 100", scene.folder);
    let_a_minute_pass(&scene);
    expect(&scene, AS("carol") "@/v1/version", 200);
    end_ms = shown_end(&scene).ms;
    assert_in_range(end_ms - loop_wall(scene.loop).ms, 99 * (int64_t)DAY_MS, 100 * (int64_t)DAY_MS);
    assert_false(has_sentence(&scene, "the authority of client certificates"));
    run(AUTHORITY "authority -days 1", scene.folder);
    let_a_minute_pass(&scene);
    assert_true(has_sentence(&scene, "the authority of client certificates in"));
    assert_true(has_sentence(&scene, "people.pem ends at"));
    run(AUTHORITY "authority -startdate 20200101000000Z -enddate 20200102000000Z", scene.folder);
    let_a_minute_pass(&scene);
    expect(&scene, AS("carol") "@/v1/version", 0);
    assert_true(has_sentence(&scene, "people.pem ended at 2020-01-02T00:00:00Z: no client "
                                     "certificate of it is believed"));
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_revoked_certificate_is_refused),
        cmocka_unit_test(who_is_in_is_put_out),
        cmocka_unit_test(a_list_that_has_ended_lets_nobody_in),
        cmocka_unit_test(an_authority_without_a_list_lets_nobody_in),
        cmocka_unit_test(a_damaged_list_is_not_used),
        cmocka_unit_test(the_end_of_an_authority_is_told),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
