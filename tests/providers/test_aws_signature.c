/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signatures against the values that AWS published in its test suite for Signature Version 4, and
 * against the steps of its documentation.
 */
#include "providers/aws/aws_signature.h"
#include "tests/support/unit.h"

#include <string.h>

#define DATE "20150830T123600Z"

static const struct http_header host = { "Host", "example.amazonaws.com" };
static const struct http_header date = { "X-Amz-Date", DATE };

/* Of the suite: its requests, and the signatures it gives for them. */
struct published {
    const char *name;
    const char *method;
    const char *target;
    struct http_header headers[4]; /* beside Host and X-Amz-Date */
    const char *body;
    const char *signature;
};

static const struct published suite[] = {
    { "get-vanilla",
      "GET",
      "/",
      { { 0 } },
      "",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "get-vanilla-query",
      "GET",
      "/?",
      { { 0 } },
      "",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "get-relative",
      "GET",
      "/example/..",
      { { 0 } },
      "",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "get-slash",
      "GET",
      "//",
      { { 0 } },
      "",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "get-slash-dot-slash",
      "GET",
      "/./",
      { { 0 } },
      "",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "get-slashes",
      "GET",
      "//example//",
      { { 0 } },
      "",
      "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84" },
    { "get-slash-pointless-dot",
      "GET",
      "/./example",
      { { 0 } },
      "",
      "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5" },
    { "get-vanilla-query-order-key-case",
      "GET",
      "/?Param2=value2&Param1=value1",
      { { 0 } },
      "",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
    { "get-vanilla-query-order-value",
      "GET",
      "/?Param1=value2&Param1=value1",
      { { 0 } },
      "",
      "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694" },
    { "get-vanilla-empty-query-key",
      "GET",
      "/?Param1=value1",
      { { 0 } },
      "",
      "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb" },
    { "get-header-value-order",
      "GET",
      "/",
      { { "My-Header1", "value4" },
        { "My-Header1", "value1" },
        { "My-Header1", "value3" },
        { "My-Header1", "value2" } },
      "",
      "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01" },
    { "get-header-key-duplicate",
      "GET",
      "/",
      { { "My-Header1", "value2" }, { "My-Header1", "value2" }, { "My-Header1", "value1" } },
      "",
      "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea" },
    { "get-header-value-trim",
      "GET",
      "/",
      { { "My-Header1", " value1" }, { "My-Header2", " \"a   b   c\"" } },
      "",
      "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736" },
    { "post-vanilla",
      "POST",
      "/",
      { { 0 } },
      "",
      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
    { "post-header-key-sort",
      "POST",
      "/",
      { { "My-Header1", "value1" } },
      "",
      "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c" },
    { "post-x-www-form-urlencoded",
      "POST",
      "/",
      { { "Content-Type", "application/x-www-form-urlencoded" } },
      "Param1=value1",
      "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a" },
    { "get-utf8",
      "GET",
      "/\u1234",
      { { 0 } },
      "",
      "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85" },
    { "get-space",
      "GET",
      "/example space/",
      { { 0 } },
      "",
      "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741" },
    { "get-unreserved",
      "GET",
      "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
      { { 0 } },
      "",
      "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f" },
    { "get-vanilla-query-unreserved",
      "GET",
      "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~"
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
      { { 0 } },
      "",
      "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197" },
    { "post-x-www-form-urlencoded-parameters",
      "POST",
      "/",
      { { "Content-Type", "application/x-www-form-urlencoded; charset=utf8" } },
      "Param1=value1",
      "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe" },
    { "post-sts-header-before",
      "POST",
      "/",
      { { "X-Amz-Security-Token",
          "AQoDYXdzEPT//////////"
          "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YU"
          "uwthAx7mSEI/qkPpKPi/"
          "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8"
          "YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
          "scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==" } },
      "",
      "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead" },
};

static void requests_of_the_published_suite_get_their_signatures(void **state)
{
    char id[] = "AKIDEXAMPLE";
    char secret[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    const struct aws_keys keys = { id, secret, NULL };
    struct aws_scope scope = { "us-east-1", "service", { 0 } };

    (void)state;
    assert_int_equal(wall_parse("2015-08-30T12:36:00Z", false, &scope.at, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(suite); i++) {
        const struct published *it = &suite[i];
        struct http_header headers[6] = { host, date };
        struct aws_request request = { it->method, it->target, headers,
                                       2,          it->body,   strlen(it->body) };

        for (size_t at = 0; at < COUNT_OF(it->headers) && it->headers[at].name; at++)
            headers[request.header_count++] = it->headers[at];

        owned(chars) char *signature = aws_sign(&keys, &scope, &request);
        owned(chars) char *canonical = aws_canonical_request(&request);

        if (!strstr(signature, it->signature))
            fail_msg("%s: %s for\n%s", it->name, signature, canonical);
    }
}

/* What leads to the signature of get-vanilla, as the documentation prints it. */
static void the_texts_on_the_way_are_those_of_the_documentation(void **state)
{
    const struct http_header headers[] = { date, host };
    const struct aws_request request = { "GET", "/", headers, 2, NULL, 0 };
    struct aws_scope scope = { "us-east-1", "service", { 0 } };
    owned(chars) char *canonical = aws_canonical_request(&request);

    (void)state;
    assert_int_equal(wall_parse("2015-08-30T12:36:00Z", false, &scope.at, NULL), 0);
    assert_string_equal(
        canonical, "GET\n/\n\nhost:example.amazonaws.com\nx-amz-date:" DATE "\n\nhost;x-amz-date\n"
                   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");

    owned(chars) char *to_sign = aws_string_to_sign(&scope, canonical);

    assert_string_equal(to_sign,
                        "AWS4-HMAC-SHA256\n" DATE "\n20150830/us-east-1/service/aws4_request\n"
                        "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63");
}

/* Found by tests/clouds/signatures: what a path may have unescaped is escaped in the canonical
   request, and a space behind a colon stays. */
static void paths_and_values_may_have_any_character(void **state)
{
    const struct http_header headers[] = { host, date, { "X-A", " b:  c : d" } };
    const struct aws_request request = { "GET", "/a:b@c/d+(e)=~f/%C3%A4%20g?h", headers, 3, "", 0 };
    owned(chars) char *canonical = aws_canonical_request(&request);

    (void)state;
    assert_string_equal(
        canonical,
        "GET\n/a%3Ab%40c/d%2B%28e%29%3D~f/%25C3%25A4%2520g\nh=\nhost:example.amazonaws.com\n"
        "x-a:b: c : d\nx-amz-date:" DATE "\n\nhost;x-a;x-amz-date\n"
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* Each part of a request and of the scope is under the signature. */
static void any_change_changes_the_signature(void **state)
{
    char id[] = "AKIDEXAMPLE";
    char secret[] = "one", other[] = "two";
    const struct aws_keys keys[] = { { id, secret, NULL }, { id, other, NULL } };
    const struct http_header headers[] = {
        host, date, { "X-Amz-Security-Token", "a" }, { "X-Amz-Security-Token", "b" }
    };
    const struct aws_scope scopes[] = { { "us-east-1", "monitoring", { 1000 } },
                                        { "us-east-2", "monitoring", { 1000 } },
                                        { "us-east-1", "sqs", { 1000 } },
                                        { "us-east-1", "monitoring", { 2000 } } };
    const struct aws_request requests[] = {
        { "POST", "/", headers, 3, "{}", 2 },     { "GET", "/", headers, 3, "{}", 2 },
        { "POST", "/a", headers, 3, "{}", 2 },    { "POST", "/?a", headers, 3, "{}", 2 },
        { "POST", "/", headers + 1, 3, "{}", 2 }, { "POST", "/", headers, 2, "{}", 2 },
        { "POST", "/", headers, 3, "{ }", 3 },
    };
    char *seen[16];
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        seen[count++] = aws_sign(&keys[0], &scopes[0], &requests[i]);
    for (size_t i = 1; i < COUNT_OF(scopes); i++)
        seen[count++] = aws_sign(&keys[0], &scopes[i], &requests[0]);
    seen[count++] = aws_sign(&keys[1], &scopes[0], &requests[0]);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(strstr(seen[i], "Signature="), strstr(seen[j], "Signature="));
    while (count > 0)
        mem_free(seen[--count]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_the_published_suite_get_their_signatures),
        cmocka_unit_test(the_texts_on_the_way_are_those_of_the_documentation),
        cmocka_unit_test(paths_and_values_may_have_any_character),
        cmocka_unit_test(any_change_changes_the_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
