/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The web page's part of the API, asked by curl as a browser asks: the files and what is said with
 * them, who may have what, and what a page of another site cannot do.
 */
#include "broker/api/page.h"
#include "tests/cli/door_scene.h"
#include "tests/cli/schema.h"
#include "tests/support/port.h"

enum { PAGE_SIZE_MOST = 150 * 1000 };

static bool has_curl(void)
{
    return access("/usr/bin/curl", X_OK) == 0;
}

/* Headers, body and exit code of curl on the socket. */
static char *ask(struct scene *scene, const char *words)
{
    owned(chars) char *line = text_format("curl -isS --max-time 60 --unix-socket '%s' %s 2>&1",
                                          scene->config->socket, words);

    return run_beside(scene, line);
}

/* Answers that no command shows have schemas, too. */
static void check_schema(const char *words, const char *said)
{
    static const char *const names[] = { "day", "whoami" };
    struct error err = { 0 };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *url = text_format("http://localhost/v1/%s", names[i]);
        const char *body = strstr(said, "\r\n\r\n");
        owned(json) json_t *answer = NULL;

        if (!text_equal(url, words))
            continue;
        answer = body ? json_parse(body, strlen(body), url, &err) : NULL;
        if (!answer)
            fail_msg("%s: %s", url, said);
        schema_fits(names[i], answer);
    }
}

static int status_of(const char *answer)
{
    return text_starts_with(answer, "HTTP/1.1 ") ? atoi(answer + strlen("HTTP/1.1 ")) : 0;
}

#define POST "-d '{\"for_s\":60,\"reason\":\"r\"}' "
#define JSON "-H 'Content-Type: application/json' "

static const struct {
    const char *words;
    int status;
    const char *says;
} cases[] = {
    { "http://localhost/", 200, "Content-Type: text/html; charset=utf-8" },
    { "http://localhost/?x=1", 200, "<title>sluice</title>" },
    { "http://localhost/", 200, "Content-Security-Policy: default-src 'none'; script-src 'self'" },
    { "http://localhost/", 200, "frame-ancestors 'none'" },
    { "http://localhost/", 200, "Referrer-Policy: no-referrer" },
    { "http://localhost/", 200, "X-Content-Type-Options: nosniff" },
    { "http://localhost/page/page.js", 200, "Content-Type: text/javascript; charset=utf-8" },
    { "http://localhost/page/page.css", 200, "Content-Type: text/css; charset=utf-8" },
    { "http://localhost/page/icon.svg", 200, "Content-Type: image/svg+xml" },
    { "http://localhost/page/none.js", 404, "there is no GET /page/none.js" },
    { "http://localhost/page/..%2Fetc%2Fpasswd", 404, "" },
    { "-X POST http://localhost/", 404, "" },
    { "http://localhost/v1/whoami", 200, "\"role\":\"admin\"" },
    { "http://localhost/v1/whoami", 200, "\"POST /v1/freeze\"" },
    { "http://localhost/v1/status", 200, "Cache-Control: no-store" },
    { "http://localhost/v1/status", 200, "X-Content-Type-Options: nosniff" },
    { "http://localhost/v1/status?transfers=0", 200, "\"transfers\":[]" },
    { "http://localhost/v1/status?transfers=-1", 400, "is not a number of transfers" },
    { "http://localhost/v1/day", 200, "\"kind\":\"day\"" },
    { "http://localhost/v1/departures.ics", 200, "Content-Type: text/calendar; charset=utf-8" },
    { "http://localhost/v1/departures.ics", 200, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" },
    { "http://localhost/v1/departures.ics", 200, "BEGIN:VTIMEZONE\r\nTZID:UTC\r\n" },
    { "http://localhost/v1/departures.ics?seconds=1", 400, "is not from 60" },
    /* a tunnel's names; then names that another site's owner may let point to it */
    { "http://localhost:8090/v1/version", 200, "" },
    { "http://127.0.0.1:8090/v1/version", 200, "" },
    { "-H 'Host: [::1]:8090' http://localhost/v1/version", 200, "" },
    { "http://sluice/v1/version", 200, "" },
    { "-H 'Host: evil.example' http://localhost/v1/version", 403,
      "is localhost, not evil.example" },
    { "-H 'Host: 127.0.0.1.evil.example' http://localhost/", 403, "is localhost, not" },
    { "-H 'Sec-Fetch-Site: cross-site' http://localhost/", 200, "" }, /* a link to the page */
    { "-H 'Sec-Fetch-Site: cross-site' http://localhost/v1/version", 403, "of another site" },
    { "-H 'Sec-Fetch-Site: same-site' http://localhost/v1/version", 403, "of another site" },
    { "-H 'Sec-Fetch-Site: same-origin' http://localhost/v1/version", 200, "" },
    { "-H 'Origin: http://localhost:80' " JSON POST "http://localhost/v1/freeze", 403,
      "of another site" },
    { "-H 'Origin: https://evil.example' " JSON POST "http://localhost/v1/freeze", 403,
      "of another site" },
    { "-H 'Origin: null' " JSON POST "http://localhost/v1/freeze", 403, "of another site" },
    { "-H 'Origin: http://localhost' " POST "http://localhost/v1/freeze", 400,
      "expected application/json" },
    { "-H 'Sec-Fetch-Site: same-origin' " POST "http://localhost/v1/freeze", 400,
      "expected application/json" },
    { "-H 'Origin: http://localhost' " JSON POST "http://localhost/v1/freeze", 200, "\"until\"" },
    { JSON POST "http://localhost/v1/freeze", 200, "\"until\"" },
};

static void a_browser_gets_the_page_and_only_from_here(void **state)
{
    struct scene scene;

    (void)state;
    if (!has_curl())
        skip();
    scene_begin(&scene, "");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *before = scene_events(&scene);
        owned(chars) char *said = ask(&scene, cases[i].words);
        owned(json) json_t *after = scene_events(&scene);
        bool is_done = strstr(cases[i].words, POST) && cases[i].status == 200;

        if (status_of(said) != cases[i].status || !strstr(said, cases[i].says))
            fail_msg("curl %s: %s", cases[i].words, said);
        check_schema(cases[i].words, said);
        assert_int_equal(json_array_size(after), json_array_size(before) + is_done);
    }
    scene_end(&scene);
}

/* The metrics port, which every user of the machine reaches, has no page. */
static void the_metrics_port_has_no_page(void **state)
{
    static const char *const paths[] = { "/", "/page/page.js", "/v1/whoami", "/v1/changes" };
    struct scene scene;
    int port = free_port();
    owned(chars) char *settings = text_format("metrics_port: %d\n", port);

    (void)state;
    if (!has_curl())
        skip();
    scene_begin(&scene, settings);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        owned(chars) char *line = text_format("curl -isS --max-time 60 http://127.0.0.1:%d%s 2>&1",
                                              port, paths[i]);
        owned(chars) char *said = run_beside(&scene, line);

        if (status_of(said) != 404)
            fail_msg("%s: %s", line, said);
    }
    scene_end(&scene);
}

/* A reader of the stream, and a change when it has heard the first event. */
static const char follow[] =
    "cd '%s'; events() { test \"$(grep -c '^event: change' heard)\" -ge $1; }\n"
    "await() { for i in $(seq 600); do events $1 && return; sleep 0.1; done; echo late; }\n"
    "curl -isSN --unix-socket '%s' http://localhost/v1/changes >heard & reader=$!\n"
    "await 1; curl -sS --unix-socket '%s' " JSON POST "http://localhost/v1/freeze >/dev/null\n"
    "await 2; kill $reader; cat heard";

static void a_change_is_told_to_those_who_follow(void **state)
{
    struct scene scene;
    owned(chars) char *script = NULL;
    owned(chars) char *said = NULL;

    (void)state;
    if (!has_curl())
        skip();
    scene_begin(&scene, "");
    script = text_format(follow, scene.folder, scene.config->socket, scene.config->socket);
    said = run_beside(&scene, script);
    if (status_of(said) != 200 || strstr(said, "late"))
        fail_msg("%s", said);
    assert_non_null(strstr(said, "Content-Type: text/event-stream"));
    assert_non_null(strstr(said, "event: change\ndata: {\"revision\":"));
    scene_end(&scene);
}

/* Doors close for a new configuration, too: the reader asks again then. */
static const char leave[] =
    "cd '%s'; (curl -isSN --unix-socket '%s' http://localhost/v1/changes >heard 2>&1; echo >ended)"
    " >/dev/null 2>&1 &\n"
    "cd '%s'; for i in $(seq 600); do grep -q '^event: change' heard && exit; sleep 0.1; done\n"
    "echo late";
static const char await_end[] =
    "cd '%s'; for i in $(seq 600); do test -e ended && exit; sleep 0.1; done; echo late";

static void a_reader_is_let_go_when_the_doors_close(void **state)
{
    struct scene scene;
    owned(chars) char *script = NULL;
    owned(chars) char *end = NULL;
    owned(chars) char *said = NULL;

    (void)state;
    if (!has_curl())
        skip();
    scene_begin(&scene, "");
    script = text_format(leave, scene.folder, scene.config->socket, scene.folder);
    said = run_beside(&scene, script);
    assert_string_equal(said, "");
    doors_close(scene.doors);
    end = text_format(await_end, scene.folder);
    mem_free(said);
    said = run_beside(&scene, end);
    assert_string_equal(said, "");
    scene_end(&scene);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* What a page must not have: addresses of other servers (names of XML namespaces are none), scripts
   and styles within markup, and texts that become markup or code. */
static const char *const forbidden[] = {
    "http://",
    "https://",
    "url(",
    "@import",
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "localStorage",
    "document.cookie",
    "style=",
    "onclick=\"",
    "<script>",
    "<style>",
    "<iframe",
    "srcdoc",
    "//cdn",
    "importScripts",
};

static void expect_clean(const char *name, const char *text)
{
    static const char space[] = "http://www.w3.org/2000/svg";

    for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
        size_t allowed = strstr(space, forbidden[i]) ? count_of(text, space) : 0;

        if (count_of(text, forbidden[i]) != allowed)
            fail_msg("broker/web/%s has %s", name, forbidden[i]);
    }
}

/* Each file that a file asks for is there. */
static void expect_known(const char *name, const char *text)
{
    for (const char *at = text; (at = strstr(at, "\"/page/")); at++) {
        const char *begin = at + strlen("\"/page/");
        owned(chars) char *wanted = text_format("%.*s", (int)strcspn(begin, "\""), begin);
        bool is_there = false;

        for (const struct page_file *file = page_files; file->name; file++)
            is_there |= text_equal(file->name, wanted);
        if (!is_there)
            fail_msg("broker/web/%s asks for %s, which is not there", name, wanted);
    }
}

static void the_page_is_small_and_asks_no_other_server(void **state)
{
    size_t size = 0, count = 0;

    (void)state;
    for (const struct page_file *file = page_files; file->name; file++, count++) {
        assert_int_equal(strlen(file->bytes), file->size);
        size += file->size;
        expect_clean(file->name, file->bytes);
        expect_known(file->name, file->bytes);
    }
    assert_true(count > 10);
    if (size >= PAGE_SIZE_MOST)
        fail_msg("the page has %zu bytes, and may have %d", size, PAGE_SIZE_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_browser_gets_the_page_and_only_from_here),
        cmocka_unit_test(the_metrics_port_has_no_page),
        cmocka_unit_test(a_change_is_told_to_those_who_follow),
        cmocka_unit_test(a_reader_is_let_go_when_the_doors_close),
        cmocka_unit_test(the_page_is_small_and_asks_no_other_server),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
