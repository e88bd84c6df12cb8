/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The token service: keys for a role, which last an hour.  IAM: what it would decide.
 */
#include "tools/simulator/cloud/aws_cloud.h"

#include <inttypes.h>

struct sim_aws_session *sim_aws_session(struct simulator *sim, const char *key_id)
{
    owned(chars) char *key = text_format("aws-key:%s", key_id);

    return map_get(sim->operations, key);
}

/* The ARN of a session has the role's name without its path. */
static void name_session(struct sim_aws_session *session, const char *role, const char *name)
{
    const char *account = role + strlen("arn:aws:iam::");
    const char *last = strrchr(role, '/');
    owned(chars) char *arn = text_format("arn:aws:sts::%.*s:assumed-role/%s/%s",
                                         (int)strcspn(account, ":"), account,
                                         last ? last + 1 : account, name);

    text_copy(session->role, sizeof session->role, role);
    text_copy(session->arn, sizeof session->arn, arn);
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
    name_session(session, role, name);
    session->ends_ms = sim_now(sim) + life_s * SECOND_MS;
    map_set(sim->operations, key, session);
    text_add(body,
             "<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s"
             "</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>"
             "</Credentials><AssumedRoleUser><Arn>",
             id, session->secret, session->token, sim_time(sim, session->ends_ms, time));
    sim_aws_escape(body, session->arn);
    text_add(body, "</Arn><AssumedRoleId>AROASIMULATED:%s</AssumedRoleId></AssumedRoleUser>", name);
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

static const char user_arn[] = "arn:aws:iam::123456789012:user/sluice";

/* The session whose keys signed the request; NULL: the lasting keys did. */
static const struct sim_aws_session *session_of(const struct sim_aws_call *aws)
{
    const struct sim_request *request = aws->call->request;
    const char *header = http_header_find(request->headers, request->header_count, "Authorization");
    const char *id = header ? strstr(header, "Credential=") : NULL;
    owned(chars) char *copy = NULL;

    if (!id)
        return NULL;
    id += strlen("Credential=");
    copy = text_format("%.*s", (int)strcspn(id, "/"), id);
    return sim_aws_session(aws->call->sim, copy);
}

void sim_aws_caller_identity(struct sim_aws_call *aws)
{
    const struct sim_aws_session *session = session_of(aws);
    struct text *body = text_new(TEXT_UNBOUNDED);

    text_add(body, "<Arn>");
    sim_aws_escape(body, session ? session->arn : user_arn);
    text_add(body, "</Arn><UserId>AIDASIMULATED</UserId><Account>123456789012</Account>");
    sim_aws_answer(aws, "GetCallerIdentity", body);
}

/* A user or a role that exists: the owner of the keys.  A session is neither. */
static bool source_is_right(struct sim_aws_call *aws)
{
    const struct sim_aws_session *session = session_of(aws);
    owned(chars) char *source = sim_aws_field(aws, "PolicySourceArn");
    const char *name = source ? strrchr(source, '/') : NULL;

    if (!name || !text_starts_with(source, "arn:aws:iam::") ||
        (!strstr(source, ":user/") && !strstr(source, ":role/"))) {
        sim_aws_error(aws, 400, "InvalidInput",
                      "Invalid Entity Arn: %s does not clearly define entity type and name.",
                      source ? source : "");
        return false;
    }
    if (text_equal(source, session ? session->role : user_arn))
        return true;
    sim_aws_error(aws, 404, "NoSuchEntity", "The %s with name %s cannot be found.",
                  strstr(source, ":role/") ? "role" : "user", name + 1);
    return false;
}

static void add_decision(struct sim_aws_call *aws, const char *action, const char *resource,
                         struct text *body)
{
    bool is_denied = sim_aws_denies(aws->call->sim, action);

    text_add(body, "<member>");
    if (is_denied)
        text_add(body, "<MatchedStatements/>");
    else
        text_add(body, "<MatchedStatements><member><SourcePolicyId>sluice</SourcePolicyId>"
                       "<SourcePolicyType>IAM Policy</SourcePolicyType></member>"
                       "</MatchedStatements>");
    text_add(body, "<MissingContextValues/><EvalResourceName>");
    sim_aws_escape(body, resource ? resource : "*");
    text_add(body, "</EvalResourceName><EvalDecision>%s</EvalDecision><EvalActionName>",
             is_denied ? "implicitDeny" : "allowed");
    sim_aws_escape(body, action);
    text_add(body, "</EvalActionName></member>");
}

void sim_aws_simulate_policy(struct sim_aws_call *aws)
{
    owned(chars) char *resource = sim_aws_field(aws, "ResourceArns.member.1");
    owned(text) struct text *decisions = text_new(TEXT_UNBOUNDED);
    struct text *body;
    int count = 0;

    if (!source_is_right(aws))
        return;
    for (;; count++) {
        owned(chars) char *name = text_format("ActionNames.member.%d", count + 1);
        owned(chars) char *action = sim_aws_field(aws, name);

        if (!action)
            break;
        if (!strchr(action, ':')) {
            sim_aws_error(aws, 400, "ValidationError", "Invalid Action: %s", action);
            return;
        }
        add_decision(aws, action, resource, decisions);
    }
    if (count == 0 || (resource && !text_starts_with(resource, "arn:"))) {
        sim_aws_error(aws, 400, "ValidationError", "actionNames or resourceArns is not valid");
        return;
    }
    body = text_new(TEXT_UNBOUNDED);
    text_add(body,
             "<IsTruncated>false</IsTruncated><EvaluationResults>%s"
             "</EvaluationResults>",
             decisions->chars);
    sim_aws_answer(aws, "SimulatePrincipalPolicy", body);
}
