/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A CloudWatch, a token service, a container's agent and a metadata server on one port of loopback,
 * for tests/real/cloudwatch.  Prints the port, then each place that gave keys, and ends when it is
 * told to.  Its pages hold fewer points than a client may ask for.
 */
#include "tests/sources/fake_cloudwatch.h"

#include <stdio.h>

#define JWT "header.claims.signature"
#define SESSION "metadata-session"
#define ENDS "2099-01-01T00:00:00Z"

static const char keys_json[] = "{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"LastUpdated\":"
                                "\"2026-01-01T00:00:00Z\",\"AccessKeyId\":\"" FAKE_ID "\","
                                "\"SecretAccessKey\":\"" FAKE_SECRET "\",\"Token\":\"" FAKE_TOKEN
                                "\",\"Expiration\":\"" ENDS "\"}";

static const char keys_xml[] =
    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
    "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>" FAKE_ID "</AccessKeyId>"
    "<SecretAccessKey>" FAKE_SECRET "</SecretAccessKey><SessionToken>" FAKE_TOKEN "</SessionToken>"
    "<Expiration>" ENDS "</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
    "</AssumeRoleWithWebIdentityResponse>";

static void answer(struct http_call *call, int status, const char *body)
{
    http_call_answer(call, &(struct http_reply){
                               .status = status,
                               .content_type = body[0] == '<' ? "text/xml" : "application/json",
                               .body = body,
                               .body_size = strlen(body) });
}

static void give(struct http_call *call, const char *place, const char *keys)
{
    puts(place);
    fflush(stdout);
    answer(call, 200, keys);
}

static bool has_header(struct http_call *call, const char *name, const char *value)
{
    const char *given = http_call_header(call, name);

    return given && strcmp(given, value) == 0;
}

static void handle_metadata(struct http_call *call, const char *target)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";

    if (strcmp(target, "/latest/api/token") == 0) {
        bool is_well = http_call_method(call) == HTTP_PUT &&
                       http_call_header(call, "X-aws-ec2-metadata-token-ttl-seconds");

        answer(call, is_well ? 200 : 400, is_well ? SESSION : "");
    } else if (!has_header(call, "X-aws-ec2-metadata-token", SESSION)) {
        answer(call, 401, "");
    } else if (strcmp(target, roles) == 0) {
        answer(call, 200, "node-role");
    } else if (text_starts_with(target, roles) &&
               strcmp(target + strlen(roles), "node-role") == 0) {
        give(call, "metadata", keys_json);
    } else {
        answer(call, 404, "");
    }
}

/* The form of a web identity is not signed. */
static bool is_identity(struct http_call *call)
{
    size_t size = 0;
    const char *body = http_call_body(call, &size);
    owned(chars) char *action = query_value(body, "Action");
    owned(chars) char *role = query_value(body, "RoleArn");
    owned(chars) char *session = query_value(body, "RoleSessionName");
    owned(chars) char *token = query_value(body, "WebIdentityToken");

    return action && strcmp(action, "AssumeRoleWithWebIdentity") == 0 && role &&
           text_starts_with(role, "arn:aws:iam::") && session && token && strcmp(token, JWT) == 0;
}

static void handle(void *context, struct http_call *call)
{
    const char *target = http_call_target(call);

    if (text_starts_with(target, "/latest/"))
        handle_metadata(call, target);
    else if (strcmp(target, "/v1/credentials") == 0 && has_header(call, "Authorization", JWT))
        give(call, "agent", keys_json);
    else if (strcmp(target, "/v1/credentials") == 0)
        answer(call, 401, "{}");
    else if (is_identity(call))
        give(call, "web", keys_xml);
    else
        fake_handle(context, call);
}

static void stop(void *context)
{
    loop_stop(context);
}

int main(void)
{
    struct error err = { 0 };
    owned(loop) struct loop *loop = loop_libevent_new(&err);
    struct fake_cloudwatch fake = { .loop = loop, .page_points = 700 };
    owned(http_server) struct http_server *server = http_server_new(loop, handle, &fake);

    if (http_server_listen_loopback(server, 0, &fake.port, &err) < 0) {
        fprintf(stderr, "fake_aws: %s\n", err.text);
        return 1;
    }
    printf("%d\n", fake.port);
    fflush(stdout);
    loop_on_terminate(loop, stop, loop);
    loop_run(loop);
    return 0;
}
