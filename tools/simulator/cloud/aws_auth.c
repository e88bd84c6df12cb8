/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signature Version 4 as the services check it: the signature is computed again from what arrived,
 * by code that the product does not share.
 */
#include "base/crypto.h"
#include "tools/simulator/cloud/aws_cloud.h"
#include "tools/simulator/cloud/clouds.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

const char sim_aws_key_id[] = "AKIASIMULATED0000000";
const char sim_aws_secret[] = "simulated/secret+of/the+simulator0000000";

enum { EARLY_MS = 5 * MINUTE_MS, PARTS = 5, PARAMETERS_MAX = 64 };

/* Each service has its own words for the same. */
enum fault_of_keys {
    NO_KEYS,
    UNKNOWN_KEYS,
    WRONG_SIGNATURE,
    ENDED_KEYS,
    WRONG_TIME,
    FAULTS_OF_KEYS
};

static const struct {
    int status;
    const char *code;
} words[FAULTS_OF_KEYS][SIM_AWS_SERVICES] = {
    [NO_KEYS] = { { 403, "MissingAuthenticationToken" },
                  { 401, "AuthFailure" },
                  { 403, "MissingAuthenticationTokenException" },
                  { 403, "MissingAuthenticationToken" },
                  { 403, "MissingAuthenticationToken" } },
    [UNKNOWN_KEYS] = { { 403, "InvalidClientTokenId" },
                       { 401, "AuthFailure" },
                       { 403, "UnrecognizedClientException" },
                       { 403, "InvalidClientTokenId" },
                       { 403, "InvalidClientTokenId" } },
    [WRONG_SIGNATURE] = { { 403, "SignatureDoesNotMatch" },
                          { 401, "AuthFailure" },
                          { 403, "InvalidSignatureException" },
                          { 403, "SignatureDoesNotMatch" },
                          { 403, "SignatureDoesNotMatch" } },
    [ENDED_KEYS] = { { 403, "ExpiredToken" },
                     { 400, "RequestExpired" },
                     { 403, "ExpiredTokenException" },
                     { 403, "ExpiredToken" },
                     { 403, "ExpiredToken" } },
    [WRONG_TIME] = { { 403, "SignatureDoesNotMatch" },
                     { 400, "RequestExpired" },
                     { 403, "InvalidSignatureException" },
                     { 403, "SignatureDoesNotMatch" },
                     { 403, "SignatureDoesNotMatch" } },
};

static bool refuse(struct sim_aws_call *aws, enum fault_of_keys fault, const char *why)
{
    sim_aws_error(aws, words[fault][aws->service].status, words[fault][aws->service].code, "%s",
                  why);
    return false;
}

/* What an Authorization header says. */
struct claim {
    char scope[PARTS][64]; /* key ID, date, region, service, "aws4_request" */
    char names[512];       /* of the signed headers */
    char signature[65];
};

static bool take(const char *header, const char *key, const char *end, char *out, size_t size)
{
    const char *at = strstr(header, key);
    size_t length;

    if (!at)
        return false;
    at += strlen(key);
    length = strcspn(at, end);
    if (length == 0 || length >= size)
        return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

static bool read_claim(const char *header, struct claim *claim)
{
    char credential[256];
    char *at = credential;

    if (!text_starts_with(header, "AWS4-HMAC-SHA256 ") ||
        !take(header, "Credential=", ", ", credential, sizeof credential) ||
        !take(header, "SignedHeaders=", ", ", claim->names, sizeof claim->names) ||
        !take(header, "Signature=", ", ", claim->signature, sizeof claim->signature))
        return false;
    for (size_t i = 0; i < PARTS; i++) {
        char *part = strsep(&at, "/");

        if (!part || !text_copy(claim->scope[i], sizeof claim->scope[i], part))
            return false;
    }
    return !at && text_equal(claim->scope[4], "aws4_request");
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sorted as texts "name=value", which is the same order for the parameters that we send. */
static void add_query(struct text *out, const char *query)
{
    char *parts[PARAMETERS_MAX];
    size_t count = 0;
    owned(chars) char *copy = mem_copy_chars(query);

    for (char *at = copy, *part; (part = strsep(&at, "&")) && count < PARAMETERS_MAX;)
        if (part[0])
            parts[count++] = part;
    qsort(parts, count, sizeof *parts, compare);
    for (size_t i = 0; i < count; i++)
        text_add(out, "%s%s%s", i ? "&" : "", parts[i], strchr(parts[i], '=') ? "" : "=");
}

static bool add_header(struct text *out, const struct sim_request *request, const char *name)
{
    const char *value = http_header_find(request->headers, request->header_count, name);
    bool has_space = false;

    if (!value)
        return false;
    text_add(out, "%s:", name);
    value += strspn(value, " ");
    for (; *value; value++) {
        if (*value == ' ') {
            has_space = true;
            continue;
        }
        text_add(out, has_space ? " %c" : "%c", *value);
        has_space = false;
    }
    text_add(out, "\n");
    return true;
}

static char *canonical_of(const struct sim_request *request, const struct claim *claim)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    const char *query = strchr(request->target, '?');
    size_t path_length = query ? (size_t)(query - request->target) : strlen(request->target);
    owned(chars) char *names = mem_copy_chars(claim->names);
    char digest[SHA256_TEXT_SIZE];

    text_add(out, "%s\n", http_method_name(request->method));
    for (size_t i = 0; i < path_length; i++)
        text_add(out, request->target[i] == '%' ? "%%25" : "%c", request->target[i]);
    text_add(out, "\n");
    add_query(out, query ? query + 1 : "");
    text_add(out, "\n");
    for (char *at = names, *name; (name = strsep(&at, ";"));)
        if (!add_header(out, request, name)) {
            text_free(out);
            return NULL;
        }
    crypto_sha256_text(request->body ? request->body : "", request->body_size, digest);
    text_add(out, "\n%s\n%s", claim->names, digest);
    return text_take(out);
}

static void sign(const struct claim *claim, const char *secret, const char *canonical,
                 const char *time, char out[65])
{
    owned(chars) char *seed = text_format("AWS4%s", secret);
    char digest[SHA256_TEXT_SIZE];
    unsigned char key[SHA256_SIZE];

    crypto_sha256_text(canonical, strlen(canonical), digest);

    owned(chars) char *to_sign = text_format("AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s",
                                             time, claim->scope[1], claim->scope[2],
                                             claim->scope[3], digest);

    crypto_hmac_sha256(seed, strlen(seed), claim->scope[1], strlen(claim->scope[1]), key);
    for (size_t i = 2; i < PARTS; i++)
        crypto_hmac_sha256(key, sizeof key, claim->scope[i], strlen(claim->scope[i]), key);
    crypto_hmac_sha256(key, sizeof key, to_sign, strlen(to_sign), key);
    for (size_t i = 0; i < sizeof key; i++)
        snprintf(out + 2 * i, 3, "%02x", key[i]);
}

/* "20150830T123600Z" */
static bool read_time(const char *chars, int64_t *ret_ms)
{
    int year, month, day, hour, minute, second, length = 0;

    if (sscanf(chars, "%4d%2d%2dT%2d%2d%2dZ%n", &year, &month, &day, &hour, &minute, &second,
               &length) != 6 ||
        length != 16 || chars[16])
        return false;
    *ret_ms = civil_day(year, month, day) * DAY_MS +
              ((hour * INT64_C(60) + minute) * 60 + second) * SECOND_MS;
    return true;
}

static const char *header_of(const struct sim_aws_call *aws, const char *name)
{
    const struct sim_request *request = aws->call->request;

    return http_header_find(request->headers, request->header_count, name);
}

/* The secret of the keys; NULL: answered. */
static const char *find_secret(struct sim_aws_call *aws, const char *id)
{
    const char *token = header_of(aws, "X-Amz-Security-Token");
    const struct sim_aws_session *session = sim_aws_session(aws->call->sim, id);

    if (text_equal(id, sim_aws_key_id) && !token)
        return sim_aws_secret;
    if (!session || !text_equal(session->token, token)) {
        refuse(aws, UNKNOWN_KEYS, "The security token included in the request is invalid.");
        return NULL;
    }
    if (sim_now(aws->call->sim) >= session->ends_ms) {
        refuse(aws, ENDED_KEYS, "The security token included in the request is expired");
        return NULL;
    }
    return session->secret;
}

static bool is_signed_name(const struct claim *claim, const char *name)
{
    owned(chars) char *whole = text_format(";%s;", claim->names);
    owned(chars) char *wanted = text_format(";%s;", name);

    return strstr(whole, wanted) != NULL;
}

static bool is_whole(struct sim_aws_call *aws, const struct claim *claim, const char *time)
{
    const char *service = sim_aws_names[aws->service].path;

    if (!text_equal(claim->scope[3], service) || strncmp(time, claim->scope[1], 8) != 0 ||
        strlen(claim->scope[1]) != 8)
        return refuse(aws, WRONG_SIGNATURE,
                      "Credential should be scoped to a valid region, service and date.");
    if (aws->service == SIM_IAM && !text_equal(claim->scope[2], "us-east-1"))
        return refuse(aws, WRONG_SIGNATURE, "Credential should be scoped to a valid region.");
    if (!is_signed_name(claim, "host") || !is_signed_name(claim, "x-amz-date") ||
        (header_of(aws, "X-Amz-Security-Token") && !is_signed_name(claim, "x-amz-security-token")))
        return refuse(aws, WRONG_SIGNATURE, "'Host' or 'X-Amz-Date' must be a 'SignedHeader'");
    return true;
}

bool sim_aws_is_signed(struct sim_aws_call *aws)
{
    const char *header = header_of(aws, "Authorization");
    const char *time = header_of(aws, "X-Amz-Date");
    int64_t now_ms = sim_now(aws->call->sim) + aws->call->sim->wall_offset_ms;
    struct claim claim = { 0 };
    const char *secret;
    char wanted[65] = "";
    int64_t at_ms = 0;

    if (!header || !time)
        return refuse(aws, NO_KEYS, "Request is missing Authentication Token");
    if (!read_claim(header, &claim) || !read_time(time, &at_ms)) {
        sim_aws_error(aws, 403, "IncompleteSignature",
                      "Authorization header requires 'Credential', 'SignedHeaders', 'Signature'");
        return false;
    }
    secret = find_secret(aws, claim.scope[0]);
    if (!secret || !is_whole(aws, &claim, time))
        return false;
    if (llabs(at_ms - now_ms) > EARLY_MS)
        return refuse(aws, WRONG_TIME,
                      at_ms < now_ms ? "Signature expired: it is older than 5 minutes"
                                     : "Signature not yet current");

    owned(chars) char *canonical = canonical_of(aws->call->request, &claim);

    if (canonical)
        sign(&claim, secret, canonical, time, wanted);
    if (canonical && text_equal(wanted, claim.signature))
        return true;
    return refuse(aws, WRONG_SIGNATURE,
                  "The request signature we calculated does not match the signature you provided.");
}

/* ---- tokens of EKS: a signed GetCallerIdentity that was not sent yet ---- */

enum { TOKEN_LIFE_MS = 15 * MINUTE_MS };

static const char token_mark[] = "k8s-aws-v1.";
static const char signature_mark[] = "&X-Amz-Signature=";

/* The URL in a token; NULL: there is none. */
static char *url_of_token(const char *token)
{
    owned(text) struct text *digits = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *url = NULL;

    if (!text_starts_with(token, token_mark) || strpbrk(token, "+/="))
        return NULL;
    for (token += strlen(token_mark); *token; token++)
        text_add(digits, "%c", *token == '-' ? '+' : *token == '_' ? '/' : *token);
    while (digits->length % 4 != 0)
        text_add(digits, "=");
    url = crypto_decode_base64(digits->chars, NULL);
    return url ? text_take(steal(&url)) : NULL;
}

/* Only the parameters of such a request, each once, with these values (NULL: any). */
static bool has_parameters_of_token(const char *target)
{
    static const struct {
        const char *name;
        const char *value;
        bool is_optional;
    } known[] = {
        { "Action", "GetCallerIdentity", false },
        { "Version", "2011-06-15", false },
        { "X-Amz-Expires", "60", false },
        { "X-Amz-Algorithm", "AWS4-HMAC-SHA256", false },
        { "X-Amz-Credential", NULL, false },
        { "X-Amz-Date", NULL, false },
        { "X-Amz-SignedHeaders", "host;x-k8s-aws-id", false },
        { "X-Amz-Security-Token", NULL, true },
        { "X-Amz-Signature", NULL, false },
    };
    size_t count = 0, wanted = 0;

    for (const char *at = strchr(target, '?'); at; at = strchr(at + 1, '&'))
        count++;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        owned(chars) char *value = url_query(target, known[i].name);

        wanted += value != NULL;
        if (!value ? !known[i].is_optional : known[i].value && !text_equal(value, known[i].value))
            return false;
    }
    return count == wanted;
}

/* What the URL claims, as an Authorization header does; and the secret that signed it.  NULL: no
 * such keys. */
static const char *read_token(struct simulator *sim, const char *target, struct claim *claim)
{
    owned(chars) char *credential = url_query(target, "X-Amz-Credential");
    owned(chars) char *names = url_query(target, "X-Amz-SignedHeaders");
    owned(chars) char *signature = url_query(target, "X-Amz-Signature");
    owned(chars) char *session_token = url_query(target, "X-Amz-Security-Token");
    owned(chars) char *header = text_format("AWS4-HMAC-SHA256 Credential=%s, SignedHeaders=%s, "
                                            "Signature=%s",
                                            credential, names, signature);
    const struct sim_aws_session *session;

    if (!read_claim(header, claim) || !text_equal(claim->scope[3], "sts"))
        return NULL;
    if (text_equal(claim->scope[0], sim_aws_key_id))
        return session_token ? NULL : sim_aws_secret;
    session = sim_aws_session(sim, claim->scope[0]);
    return session && text_equal(session->token, session_token) && sim_now(sim) < session->ends_ms
               ? session->secret
               : NULL;
}

bool sim_eks_token_is_good(struct simulator *sim, const char *token, const char *cluster)
{
    owned(chars) char *url = url_of_token(token);
    int64_t now_ms = sim_now(sim) + sim->wall_offset_ms;
    struct claim claim = { 0 };
    char wanted[65] = "";
    int64_t at_ms = 0;
    struct url parts;
    const char *secret;
    char *end;

    if (!url || url_parse(url, &parts, NULL) < 0 || !strchr(parts.target, '?') ||
        !has_parameters_of_token(parts.target))
        return false;
    owned(chars) char *time = url_query(parts.target, "X-Amz-Date");

    secret = read_token(sim, parts.target, &claim);
    if (!secret || !read_time(time, &at_ms) || strncmp(time, claim.scope[1], 8) != 0 ||
        at_ms > now_ms + EARLY_MS || now_ms >= at_ms + TOKEN_LIFE_MS)
        return false;
    end = strstr(url, signature_mark);
    if (!end || strlen(end) != strlen(signature_mark) + 64)
        return false;
    *end = '\0';

    owned(chars) char *host = text_format(parts.port ? "%s:%d" : "%s", parts.host, parts.port);
    const struct http_header headers[] = { { "host", host }, { "x-k8s-aws-id", cluster } };
    const struct sim_request request = {
        .method = HTTP_GET, .target = parts.target, .headers = headers, .header_count = 2
    };
    owned(chars) char *canonical = canonical_of(&request, &claim);

    sign(&claim, secret, canonical, time, wanted);
    return text_equal(wanted, claim.signature);
}
