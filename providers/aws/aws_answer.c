/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the answers to aws_exchange.c mean.  Nothing of a body gets into an error but a code: the
 * rest may be keys.
 */
#include "base/input/json.h"
#include "base/input/xml.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "providers/aws/aws_exchange.h"

#include <string.h>

enum { VALUE_MAX = 16 * 1024, CODE_SIZE = 64 };

void aws_lease_clear(struct aws_lease *lease)
{
    aws_keys_clear(&lease->keys);
}

void aws_metadata_clear(struct aws_metadata_talk *talk)
{
    secret_free(talk->session);
    mem_free(talk->role);
    *talk = (struct aws_metadata_talk){ 0 };
}

static bool is_value(const char *chars)
{
    for (const char *at = chars; *at; at++)
        if (*at <= ' ' || *at > '~')
            return false;
    return chars[0] != '\0' && strlen(chars) <= VALUE_MAX;
}

/* The texts of an answer; NULL: it has none. */
struct said_keys {
    const char *id;
    const char *secret;
    const char *token;
    const char *ends;
};

/* A lease with the keys of an answer.  The keys must be whole; aws_login.c sees to it that they are
   good for some time yet. */
static int make_lease(const struct said_keys *said, struct aws_lease *ret_lease, struct error *err)
{
    struct aws_lease lease = { 0 };

    if (!said->id || !said->secret || !said->token || !said->ends || !is_value(said->id) ||
        !is_value(said->secret) || !is_value(said->token))
        return error_set(err, ERROR_CORRUPT, "the answer has no whole set of keys");
    if (wall_parse(said->ends, false, &lease.ends, NULL) < 0)
        return error_set(err, ERROR_CORRUPT, "the answer does not say when its keys end");
    lease.keys = (struct aws_keys){ mem_copy_chars(said->id), mem_copy_chars(said->secret),
                                    mem_copy_chars(said->token) };
    *ret_lease = lease;
    return 0;
}

static int refuse(const struct http_answer *answer, const char *code, struct error *err)
{
    static const struct {
        const char *part;
        enum error_kind kind;
    } codes[] = {
        { "Throttl", ERROR_THROTTLED },
        { "SlowDown", ERROR_THROTTLED },
        { "RequestLimit", ERROR_THROTTLED },
        { "IDPCommunicationError", ERROR_TRANSIENT },
        { "ServiceUnavailable", ERROR_TRANSIENT },
        { "InternalFailure", ERROR_TRANSIENT },
    };
    enum error_kind kind = answer->status == 429                            ? ERROR_THROTTLED
                           : answer->status == 408 || answer->status >= 500 ? ERROR_TRANSIENT
                                                                            : ERROR_DENIED;

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (strstr(code, codes[i].part))
            kind = codes[i].kind;
    error_set(err, kind, "refused: %d %.60s", answer->status, code);
    error_wait(err, answer->retry_after_ms);
    return -1;
}

/* Where an answer has the keys: the element above them is named after the action. */
static const struct xml_element *find_credentials(const struct xml_document *document)
{
    const struct xml_element *result = document ? xml_root(document)->child : NULL;

    while (result && !xml_first(result, "Credentials"))
        result = result->next;
    return xml_first(result, "Credentials");
}

int aws_answer_sts(const struct http_answer *answer, struct aws_lease *ret_lease, struct error *err)
{
    owned(xml_document) struct xml_document *document = xml_parse(answer->body, answer->body_size,
                                                                  "answer", NULL);
    const struct xml_element *credentials = find_credentials(document);

    if (answer->status != 200)
        return refuse(answer, document ? xml_text_or(xml_root(document), "Error/Code", "") : "",
                      err);

    const struct said_keys said = {
        .id = xml_text_or(credentials, "AccessKeyId", NULL),
        .secret = xml_text_or(credentials, "SecretAccessKey", NULL),
        .token = xml_text_or(credentials, "SessionToken", NULL),
        .ends = xml_text_or(credentials, "Expiration", NULL),
    };

    return make_lease(&said, ret_lease, err);
}

/* Reads the JSON that an agent and a metadata server write alike.  A metadata server may answer a
   failure with status 200. */
static int read_keys(const struct http_answer *answer, struct aws_lease *ret_lease,
                     struct error *err)
{
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "keys", NULL);
    const char *code = json_text_or(body, "Code", json_text_or(body, "code", ""));

    if (answer->status != 200)
        return refuse(answer, code, err);
    if (!body)
        return error_set(err, ERROR_CORRUPT, "the answer is no JSON");
    if (code[0] && !text_equal(code, "Success"))
        return error_set(err, ERROR_TRANSIENT, "failed: %.60s", code);

    const struct said_keys said = {
        .id = json_text_or(body, "AccessKeyId", NULL),
        .secret = json_text_or(body, "SecretAccessKey", NULL),
        .token = json_text_or(body, "Token", NULL),
        .ends = json_text_or(body, "Expiration", NULL),
    };

    return make_lease(&said, ret_lease, err);
}

int aws_answer_container(const struct http_answer *answer, struct aws_lease *ret_lease,
                         struct error *err)
{
    return read_keys(answer, ret_lease, err);
}

int aws_answer_metadata(const struct http_answer *answer, struct aws_metadata_talk *talk,
                        struct aws_lease *ret_lease, struct error *err)
{
    if (talk->step == AWS_METADATA_KEYS)
        return read_keys(answer, ret_lease, err) < 0 ? -1 : 1;
    if (answer->status == 404 && talk->step == AWS_METADATA_NAME)
        return error_set(err, ERROR_DENIED, "the instance has no role");
    if (answer->status != 200)
        return refuse(answer, "", err);

    size_t length = strcspn(answer->body, "\r\n");
    char *line = text_format("%.*s", (int)length, answer->body);

    if (!is_value(line) || (talk->step == AWS_METADATA_NAME && strpbrk(line, "/?#%"))) {
        secret_free(line);
        return error_set(err, ERROR_CORRUPT, "the answer is no %s",
                         talk->step == AWS_METADATA_NAME ? "name of a role" : "token");
    }
    *(talk->step == AWS_METADATA_SESSION ? &talk->session : &talk->role) = line;
    talk->step++;
    return 0;
}
