/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bearer tokens: the published examples, and each way in which a token must not be believed.
 */
#include "base/input/json.h"
#include "broker/access/bearer.h"
#include "tests/support/issuer.h"

enum { NOW_S = 1800000000 };

static const struct bearer_rules rules = { "https://login.example.com", "sluice" };
static struct issuer issuer, stranger;
static struct web_keys *keys;

/* RFC 7515, A.2 and A.3; RFC 7520, 4.1. */
static const struct {
    const char *key, *algorithm, *id;
    const char *signed_part, *signature;
} examples[] = {
    { "{\"kty\":\"RSA\",\"n\":\"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-"
      "Vaw-"
      "4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_"
      "7OMg0LO"
      "L-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-"
      "UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9"
      "kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\","
      "\"e\":\"AQAB\"}",
      "RS256", NULL,
      "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmN"
      "vbS9pc19yb290Ijp0cnVlfQ",
      "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
      "O8W2Fp5ju"
      "jGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_"
      "nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07"
      "Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-"
      "eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipU"
      "TI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw" },
    { "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
      "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}",
      "ES256", NULL,
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmN"
      "vbS9pc19yb290Ijp0cnVlfQ",
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q" },
    { "{\"kty\":\"RSA\",\"kid\":\"bilbo.baggins@hobbiton.example\",\"use\":\"sig\",\"n\":"
      "\"n4EPtAOCc9Alk"
      "eQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_"
      "AJmSCpMaJMRBSFKrKb"
      "2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpPe7Tpe-"
      "OfVfHd1E6cS6M1FZc"
      "D1NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_"
      "mz"
      "SnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw\",\"e\":\"AQAB\"}",
      "RS256", "bilbo.baggins@hobbiton.example",
      "eyJhbGciOiJSUzI1NiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9."
      "SXTigJlzIGEgZGFuZ2Vy"
      "b3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9hZCwgYW5k"
      "I"
      "GlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlI"
      "H"
      "N3ZXB0IG9mZiB0by4",
      "MRjdkly7_-"
      "oTPTS3AXP41iQIGKa80A0ZmTuV5MEaHoxnW2e5CZ5NlKtainoFmKZopdHM1O2U4mwzJdQx996ivp83xuglII"
      "7PNDi84wnB-BDkoBwA78185hX-Es4JIwmDLJK3lfWRa-XtL0RnltuYv746iYTh_"
      "qHRD68BNt1uSNCrUCTJDt5aAE6x8wW1"
      "Kt9eRo4QPocSadnHXFxnt8Is9UzpERV0ePPQdLuW3IS_de3xyIrDaLGdjluPxUAhb6L2aXic1U12podGU0KLUQSE_oI-"
      "Zn"
      "mKJ3F4uOZDnd6QZWJushZ41Axf_fcIe8u9ipH84ogoree7vjbU5y18kDquDg" },
};

static void the_published_examples_verify(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        owned(chars) char *set = text_format("{\"keys\":[%s]}", examples[i].key);
        struct error err = { 0 };
        owned(web_keys) struct web_keys *one = web_keys_parse(set, strlen(set), "example", &err);
        owned(text) struct text *signature = crypto_decode_base64url(
            examples[i].signature, strlen(examples[i].signature), &err);
        struct web_signature claim = { examples[i].signed_part, strlen(examples[i].signed_part),
                                       signature->chars, signature->length };
        const char *other = examples[i].algorithm[0] == 'R' ? "ES256" : "RS256";

        if (!one)
            fail_msg("%s", err.text);
        assert_true(web_keys_verify(one, examples[i].algorithm, examples[i].id, &claim));
        assert_true(web_keys_verify(one, examples[i].algorithm, NULL, &claim));
        assert_false(web_keys_verify(one, other, NULL, &claim));
        assert_false(web_keys_verify(one, "HS256", NULL, &claim));
        assert_false(web_keys_verify(one, "none", NULL, &claim));
        assert_false(web_keys_verify(one, examples[i].algorithm, "another", &claim));
        for (size_t k = 0; k < signature->length; k++) {
            signature->chars[k] ^= 1;
            assert_false(web_keys_verify(one, examples[i].algorithm, NULL, &claim));
            signature->chars[k] ^= 1;
        }
        claim.size--;
        assert_false(web_keys_verify(one, examples[i].algorithm, NULL, &claim));
        claim.size++;
        claim.signature_size = 0;
        assert_false(web_keys_verify(one, examples[i].algorithm, NULL, &claim));
    }
}

#define GOOD                                                                                       \
    "\"iss\":\"https://login.example.com\",\"aud\":\"sluice\",\"exp\":1800000600,\"sub\":\"ada\""
#define RS "{\"alg\":\"RS256\",\"kid\":\"r\"}"

/* says NULL: it is believed. */
static const struct {
    const char *header, *claims, *says;
} tokens[] = {
    { RS, "{" GOOD "}", NULL },
    { "{\"alg\":\"ES256\",\"kid\":\"e\"}", "{" GOOD "}", NULL },
    { "{\"alg\":\"ES256\",\"typ\":\"JWT\"}", "{" GOOD "}", NULL },
    { RS, "{" GOOD ",\"nbf\":1799999999,\"iat\":1799999999.5}", NULL },
    { RS, "{" GOOD ",\"nbf\":1800000059}", NULL },
    { RS, "{\"iss\":\"https://login.example.com\",\"aud\":[\"x\",\"sluice\"],\"exp\":1799999941}",
      NULL },
    /* headers */
    { "{\"alg\":\"none\"}", "{" GOOD "}", "algorithm" },
    { "{\"alg\":\"None\"}", "{" GOOD "}", "algorithm" },
    { "{\"alg\":\"\"}", "{" GOOD "}", "algorithm" },
    { "{\"alg\":\"HS256\",\"kid\":\"r\"}", "{" GOOD "}", "algorithm" },
    { "{\"alg\":\"PS256\",\"kid\":\"r\"}", "{" GOOD "}", "algorithm" },
    { "{\"alg\":\"rs256\",\"kid\":\"r\"}", "{" GOOD "}", "algorithm" },
    { "{\"alg\":\"RS256\",\"kid\":\"e\"}", "{" GOOD "}", "no key of the issuer" },
    { "{\"alg\":\"ES256\",\"kid\":\"r\"}", "{" GOOD "}", "no key of the issuer" },
    { "{\"alg\":\"RS256\",\"kid\":\"x\"}", "{" GOOD "}", "no key of the issuer" },
    { "{\"alg\":\"RS256\",\"kid\":7}", "{" GOOD "}", "header" },
    { "{\"alg\":[\"RS256\"]}", "{" GOOD "}", "header" },
    { "{}", "{" GOOD "}", "header" },
    { "[]", "{" GOOD "}", "header" },
    { "{\"alg\":\"RS256\",\"alg\":\"none\"}", "{" GOOD "}", "header" },
    { "{\"alg\":\"RS256\",\"crit\":[\"exp\"]}", "{" GOOD "}", "critical" },
    { "{\"alg\":\"RS256\",\"b64\":false,\"crit\":[\"b64\"]}", "{" GOOD "}", "critical" },
    /* claims */
    { RS, "{\"iss\":\"https://login.example.com\",\"aud\":\"sluice\"}", "(exp)" },
    { RS, "{\"iss\":\"https://login.example.com\",\"aud\":\"sluice\",\"exp\":\"1800000600\"}",
      "(exp)" },
    { RS, "{\"iss\":\"https://login.example.com\",\"aud\":\"sluice\",\"exp\":-1}", "(exp)" },
    { RS, "{\"iss\":\"https://login.example.com\",\"aud\":\"sluice\",\"exp\":1799999940}",
      "has expired" },
    { RS, "{" GOOD ",\"nbf\":1800000061}", "(nbf)" },
    { RS, "{" GOOD ",\"nbf\":\"soon\"}", "(nbf)" },
    { RS, "{" GOOD ",\"iat\":1800000061}", "(iat)" },
    { RS, "{\"iss\":\"https://login.example.com/\",\"aud\":\"sluice\",\"exp\":1800000600}",
      "(iss)" },
    { RS, "{\"aud\":\"sluice\",\"exp\":1800000600}", "(iss)" },
    { RS, "{\"iss\":\"https://login.example.com\",\"exp\":1800000600}", "(aud)" },
    { RS, "{\"iss\":\"https://login.example.com\",\"aud\":\"sluic\",\"exp\":1800000600}", "(aud)" },
    { RS, "{\"iss\":\"https://login.example.com\",\"aud\":[],\"exp\":1800000600}", "(aud)" },
    { RS, "{\"iss\":\"https://login.example.com\",\"aud\":[[\"sluice\"]],\"exp\":1800000600}",
      "(aud)" },
    { RS, "{" GOOD ",\"exp\":1900000000}", "no JSON object" },
    { RS, "[]", "no JSON object" },
    { RS, "{" GOOD "} ", NULL },
    { RS, "{" GOOD "}x", "no JSON object" },
};

static json_t *read_at(const char *token, int64_t now_s, struct error *err)
{
    return bearer_read(token, keys, &rules, (struct wall_time){ now_s * SECOND_MS }, err);
}

static void each_token_is_believed_or_refused_for_its_own_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        EVP_PKEY *key = strstr(tokens[i].header, "ES256") ? issuer.ec : issuer.rsa;
        owned(chars) char *token = issuer_token(key, tokens[i].header, tokens[i].claims);
        struct error err = { 0 };
        owned(json) json_t *claims = read_at(token, NOW_S, &err);

        if (!claims != !!tokens[i].says)
            fail_msg("%s %s: %s", tokens[i].header, tokens[i].claims, err.text);
        if (tokens[i].says && (err.kind != ERROR_DENIED || !strstr(err.text, tokens[i].says)))
            fail_msg("%s %s: %s", tokens[i].header, tokens[i].claims, err.text);
    }
}

static void a_token_of_a_stranger_is_refused(void **state)
{
    owned(chars) char *token = issuer_token(stranger.rsa, RS, "{" GOOD "}");
    struct error err = { 0 };

    (void)state;
    assert_null(read_at(token, NOW_S, &err));
    assert_non_null(strstr(err.text, "no key of the issuer"));
}

/* The public key as a shared secret, or no signature at all. */
static void a_token_without_a_signature_is_refused(void **state)
{
    owned(chars) char *good = issuer_token(issuer.rsa, RS, "{" GOOD "}");
    size_t cut = (size_t)(strrchr(good, '.') - good);
    owned(chars) char *bare = text_format("%.*s.", (int)cut, good);
    owned(chars) char *two = text_format("%.*s", (int)cut, good);
    owned(chars) char *four = text_format("%s.x", good);
    const char *const wrongs[] = { bare, two, four, "", ".", "..", "...", "a.b.c", "=.=.=" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrongs); i++) {
        struct error err = { 0 };

        assert_null(read_at(wrongs[i], NOW_S, &err));
        assert_int_equal(err.kind, ERROR_DENIED);
    }
}

/* One token has one form: what is encoded in another way is another token. */
static void only_one_encoding_is_accepted(void **state)
{
    owned(chars) char *good = issuer_token(issuer.ec, "{\"alg\":\"ES256\"}", "{" GOOD "}");
    static const char *const additions[] = { "=", "==", "\n", " ", "A", "%3D" };
    size_t length = strlen(good);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(additions); i++) {
        owned(chars) char *token = text_format("%s%s", good, additions[i]);
        struct error err = { 0 };

        assert_null(read_at(token, NOW_S, &err));
    }
    /* 64 bytes are 86 digits: the last has four bits that must be 0. */
    for (char digit = 'A'; digit <= 'z'; digit++) {
        struct error err = { 0 };
        char kept = good[length - 1];
        json_t *claims;

        good[length - 1] = digit;
        claims = read_at(good, NOW_S, &err);
        assert_true(!claims == (digit != kept));
        json_decref(claims);
        good[length - 1] = kept;
    }
}

static const struct {
    const char *set, *says;
} sets[] = {
    { "[]", "" },
    { "{}", "keys" },
    { "{\"keys\":[]}", "has no key for RS256 or ES256" },
    { "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\",\"alg\":\"HS256\"}]}", "has no key" },
    { "{\"keys\":[{\"kty\":\"RSA\",\"use\":\"enc\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
      "has no key" },
    { "{\"keys\":[{\"kty\":\"RSA\",\"alg\":\"RS512\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
      "has no key" },
    { "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}", "under 2048 bits" },
    { "{\"keys\":[{\"kty\":\"RSA\",\"e\":\"AQAB\"}]}", "n" },
    { "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"A=\",\"e\":\"AQAB\"}]}", "base64url" },
    { "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AQAB\",\"y\":\"AQAB\"}]}", "P-256" },
    { "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
      "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":"
      "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}]}",
      "no point of P-256" },
    { "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"AQAB\",\"y\":\"AQAB\"}]}",
      "has no key" },
};

static void a_key_set_that_cannot_be_used_is_refused(void **state)
{
    owned(text) struct text *good = issuer_keys(&issuer);
    owned(chars) char *twice = NULL;
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        assert_null(web_keys_parse(sets[i].set, strlen(sets[i].set), "keys.json", &err));
        if (!strstr(err.text, sets[i].says) || !text_starts_with(err.text, "keys.json"))
            fail_msg("%s: %s", sets[i].set, err.text);
    }
    *strstr(good->chars, "\"kid\":\"e\"") = '\0';
    twice = text_format("%s\"kid\":\"r\"%s", good->chars,
                        good->chars + strlen(good->chars) + strlen("\"kid\":\"e\""));
    assert_null(web_keys_parse(twice, strlen(twice), "keys.json", &err));
    assert_non_null(strstr(err.text, "two keys have the kid \"r\""));
}

static int set_up(void **state)
{
    owned(text) struct text *set = NULL;
    struct error err = { 0 };

    (void)state;
    issuer = issuer_new();
    stranger = issuer_new();
    set = issuer_keys(&issuer);
    keys = web_keys_parse(set->chars, set->length, "keys.json", &err);
    return keys && web_keys_count(keys) == 2 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    issuer_clear(&issuer);
    issuer_clear(&stranger);
    web_keys_free(keys);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_examples_verify),
        cmocka_unit_test(each_token_is_believed_or_refused_for_its_own_reason),
        cmocka_unit_test(a_token_of_a_stranger_is_refused),
        cmocka_unit_test(a_token_without_a_signature_is_refused),
        cmocka_unit_test(only_one_encoding_is_accepted),
        cmocka_unit_test(a_key_set_that_cannot_be_used_is_refused),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
