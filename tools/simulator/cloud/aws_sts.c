/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The token service: keys for a role, which last an hour.
 */
#include "tools/simulator/cloud/aws_cloud.h"

#include <inttypes.h>

struct sim_aws_session *sim_aws_session(struct simulator *sim, const char *key_id)
{
    owned(chars) char *key = text_format("aws-key:%s", key_id);

    return map_get(sim->operations, key);
}

static void give_keys(struct sim_aws_call *aws, const char *action)
{
    struct simulator *sim = aws->call->sim;
    struct sim_aws_session *session = mem_new(sizeof *session);
    struct text *body = text_new(TEXT_UNBOUNDED);
    owned(chars) char *role = sim_aws_field(aws, "RoleArn");
    owned(chars) char *name = sim_aws_field(aws, "RoleSessionName");
    owned(chars) char *life = sim_aws_field(aws, "DurationSeconds");
    owned(chars) char *id = text_format("ASIA%016" PRIX64, random_next(&sim->names));
    owned(chars) char *key = text_format("aws-key:%s", id);
    long long life_s = 3600;
    char time[WALL_TEXT_SIZE];

    if (life && !text_to_int(life, 900, 43200, &life_s))
        life_s = 3600;
    random_hex(&sim->names, session->secret, 41);
    random_hex(&sim->names, session->token, 61);
    session->ends_ms = sim_now(sim) + life_s * SECOND_MS;
    map_set(sim->operations, key, session);
    text_add(body,
             "<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s"
             "</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>"
             "</Credentials><AssumedRoleUser><Arn>",
             id, session->secret, session->token, sim_time(sim, session->ends_ms, time));
    sim_aws_escape(body, role);
    text_add(body, "/%s</Arn><AssumedRoleId>AROASIMULATED:%s</AssumedRoleId></AssumedRoleUser>",
             name, name);
    sim_aws_answer(aws, action, body);
}

static bool role_is_right(struct sim_aws_call *aws)
{
    owned(chars) char *role = sim_aws_field(aws, "RoleArn");
    owned(chars) char *name = sim_aws_field(aws, "RoleSessionName");

    if (role && text_starts_with(role, "arn:aws:iam::") && name && strlen(name) >= 2 &&
        strlen(name) <= 64)
        return true;
    sim_aws_error(aws, 400, "ValidationError", "RoleArn or RoleSessionName is not valid");
    return false;
}

void sim_aws_assume_role(struct sim_aws_call *aws)
{
    if (role_is_right(aws))
        give_keys(aws, "AssumeRole");
}

void sim_aws_assume_identity(struct sim_aws_call *aws)
{
    owned(chars) char *token = sim_aws_field(aws, "WebIdentityToken");
    const char *dot = token ? strchr(token, '.') : NULL;

    if (!role_is_right(aws))
        return;
    if (!dot || !strchr(dot + 1, '.'))
        sim_aws_error(aws, 400, "InvalidIdentityToken",
                      "The ID Token provided is not a valid JWT.");
    else
        give_keys(aws, "AssumeRoleWithWebIdentity");
}

void sim_aws_caller_identity(struct sim_aws_call *aws)
{
    struct text *body = text_new(TEXT_UNBOUNDED);

    text_add(body, "<Arn>arn:aws:iam::123456789012:user/sluice</Arn><UserId>AIDASIMULATED</UserId>"
                   "<Account>123456789012</Account>");
    sim_aws_answer(aws, "GetCallerIdentity", body);
}
