/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Escaping, taking apart, queries and segments of URLs.
 */
#include "base/url.h"
#include "tests/support/unit.h"

#include <string.h>

static void escapes_arguments_and_nothing_else(void **state)
{
    owned(chars) char *url = url_format("/a/%s/b?c=%s&d=100%%", "x/y z", "\xc3\xa4&=-._~");

    (void)state;
    assert_string_equal(url, "/a/x%2Fy%20z/b?c=%C3%A4%26%3D-._~&d=100%");
}

static const struct {
    const char *chars;
    const char *scheme, *host;
    int port;
    const char *target;
} good[] = {
    { "http://a", "http", "a", 0, "/" },
    { "HTTPS://Api.Example.com:6443/v1?x=1", "https", "api.example.com", 6443, "/v1?x=1" },
    { "https://[::1]:8443/", "https", "::1", 8443, "/" },
    { "http://127.0.0.1:65535/a%20b", "http", "127.0.0.1", 65535, "/a%20b" },
    { "http://a/b@c", "http", "a", 0, "/b@c" },
};

static void takes_urls_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct url url;
        struct error err;

        print_message("    %s\n", good[i].chars);
        assert_int_equal(url_parse(good[i].chars, &url, &err), 0);
        assert_string_equal(url.scheme, good[i].scheme);
        assert_string_equal(url.host, good[i].host);
        assert_int_equal(url.port, good[i].port);
        assert_string_equal(url.target, good[i].target);
    }
}

static const char *const bad[] = {
    "",
    "a",
    "/a",
    "ftp://a/",
    "http:/a",
    "http://",
    "http:///x",
    "http://:80/",
    "http://a:/",
    "http://a:0/",
    "http://a:65536/",
    "http://a:80x/",
    "http://a:123456789/",
    "http://user@a/",
    "http://user:secret@a/",
    "http://a b/",
    "http://a/b c",
    "http://a/#x",
    "http://a?x=1",
    "http://[::1/",
    "http://[::1]x/",
    "http://[nonsense]/",
    "http://a%20b/",
    "http://a/\r\nHost: b",
    "http://a/\xc3\xa4",
};

static void refuses_what_is_no_plain_url(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct url url = { .port = -1 };
        struct error err = { 0 };

        print_message("    %s\n", bad[i]);
        assert_int_equal(url_parse(bad[i], &url, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_int_equal(url.port, -1);
        assert_null(strstr(err.text, "secret"));
    }
}

static const struct {
    const char *target, *name, *want;
} queries[] = {
    { "/a?x=1&y=2", "x", "1" },
    { "/a?x=1&y=2", "y", "2" },
    { "/a?x=1&y=2", "z", NULL },
    { "/a", "x", NULL },
    { "/a?x", "x", "" },
    { "/a?x=", "x", "" },
    { "/a?x=b+c%20d", "x", "b c d" },
    { "/a?%78=1", "x", "1" },
    { "/a?x=a=b", "x", "a=b" },
    { "/a?x=%zz%4", "x", "%zz%4" },
    { "/a?x=a%00b", "x", "a%00b" },
    { "/a?xx=1&x=2", "x", "2" },
    { "/a?x=1&x=2", "x", "1" },
    { "/a?&&x=1", "x", "1" },
};

static void finds_query_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        owned(chars) char *value = url_query(queries[i].target, queries[i].name);

        print_message("    %s\n", queries[i].target);
        assert_true(text_equal(value, queries[i].want));
    }
}

static const struct {
    const char *target, *joined;
} splits[] = {
    { "/api/v1/nodes/a%2Fb?x", "api|v1|nodes|a/b|" },
    { "/", "" },
    { "", "" },
    { "/a//b/", "a|b|" },
    { "/a+b", "a+b|" },
    { "/a%", "a%|" },
};

static void splits_paths_before_decoding_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(splits); i++) {
        struct url_segments segments = url_split(splits[i].target);
        owned(text) struct text *joined = text_new(256);

        print_message("    %s\n", splits[i].target);
        for (size_t j = 0; j < segments.count; j++)
            text_add(joined, "%s|", segments.items[j]);
        url_segments_free(&segments);
        assert_string_equal(joined->chars, splits[i].joined);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_arguments_and_nothing_else),
        cmocka_unit_test(takes_urls_apart),
        cmocka_unit_test(refuses_what_is_no_plain_url),
        cmocka_unit_test(finds_query_parameters),
        cmocka_unit_test(splits_paths_before_decoding_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
