/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Access tokens of Entra ID: by a secret, by a federated assertion, or from the metadata server.
 * A token says itself when it ends, so that none is stored.
 */
#include "tools/simulator/cloud/azure_cloud.h"

#include <inttypes.h>

enum { TOKEN_MS = HOUR_MS };

#define TOKEN_START "az-sim."
#define FORM "application/x-www-form-urlencoded"

static void write_token(const struct simulator *sim, int64_t ends_ms, char out[80])
{
    snprintf(out, 80, TOKEN_START "%" PRId64 ".%016" PRIx64, ends_ms,
             random_mix(sim->scenario->seed, "azure", (uint64_t)ends_ms, 0));
}

bool sim_azure_is_authorized(struct sim_call *call)
{
    const char *header = http_header_find(call->request->headers, call->request->header_count,
                                          "Authorization");
    const char *start = header ? strstr(header, TOKEN_START) : NULL;
    char expected[80];
    int64_t ends_ms;

    if (!header || !text_starts_with(header, "Bearer ")) {
        sim_azure_error(call->answer, 401, "AuthenticationFailed",
                        "Authentication failed. The 'Authorization' header is missing.");
        return false;
    }
    ends_ms = start ? strtoll(start + strlen(TOKEN_START), NULL, 10) : 0;
    write_token(call->sim, ends_ms, expected);
    if (!text_equal(header + strlen("Bearer "), expected)) {
        sim_azure_error(call->answer, 401, "InvalidAuthenticationToken",
                        "The access token is invalid.");
        return false;
    }
    if (sim_now(call->sim) >= ends_ms) {
        sim_azure_error(call->answer, 401, "ExpiredAuthenticationToken",
                        "The access token expiry UTC time is earlier than current UTC time.");
        return false;
    }
    return true;
}

static void refuse(struct sim_call *call, int status, const char *error, int code, const char *why)
{
    owned(chars) char *description = text_format(
        "AADSTS%d: %s Trace ID: 0f1e Correlation ID: 2d3c Timestamp: 2026-11-25 10:00:00Z", code,
        why);

    sim_answer_json(call->answer, status,
                    json_make("{s:s, s:s, s:[i]}", "error", error, "error_description", description,
                              "error_codes", code));
}

/* One field of the form, decoded as a query would be. */
static char *field(const struct sim_call *call, const char *name)
{
    owned(chars) char *target = text_format("/?%s", call->request->body ?: "");

    return url_query(target, name);
}

static bool has_proof(struct sim_call *call)
{
    owned(chars) char *secret = field(call, "client_secret");
    owned(chars) char *assertion = field(call, "client_assertion");
    owned(chars) char *type = field(call, "client_assertion_type");

    if (!secret && !assertion)
        refuse(call, 401, "invalid_client", 7000216,
               "'client_assertion', 'client_secret' or 'request' is required.");
    else if (secret && text_equal(secret, "wrong"))
        refuse(call, 401, "invalid_client", 7000215, "Invalid client secret provided.");
    else if (assertion &&
             !text_equal(type, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"))
        refuse(call, 400, "invalid_request", 900144, "The 'client_assertion_type' is unknown.");
    else if (assertion && text_equal(assertion, "expired"))
        refuse(call, 401, "invalid_client", 700024,
               "Client assertion is not within its valid time range.");
    else
        return true;
    return false;
}

void sim_azure_token(struct sim_call *call, const char *tenant)
{
    const char *type = http_header_find(call->request->headers, call->request->header_count,
                                        "Content-Type");
    owned(chars) char *grant = field(call, "grant_type");
    owned(chars) char *client = field(call, "client_id");
    owned(chars) char *scope = field(call, "scope");
    char token[80];

    call->verb = "token";
    if (sim_call_fault(call))
        return;
    if (!type || !text_starts_with(type, FORM) || !client || !scope) {
        refuse(call, 400, "invalid_request", 900144, "The request body lacks a parameter.");
    } else if (text_equal(tenant, "unknown")) {
        refuse(call, 400, "invalid_request", 90002, "Tenant 'unknown' not found.");
    } else if (!text_equal(grant, "client_credentials")) {
        refuse(call, 400, "unsupported_grant_type", 70003, "The grant type is not supported.");
    } else if (strlen(scope) < strlen("/.default") ||
               !text_equal(scope + strlen(scope) - strlen("/.default"), "/.default")) {
        refuse(call, 400, "invalid_scope", 1002012, "The provided value for scope is not valid.");
    } else if (has_proof(call)) {
        write_token(call->sim, sim_now(call->sim) + TOKEN_MS, token);
        sim_answer_json(call->answer, 200,
                        json_make("{s:s, s:i, s:i, s:s}", "token_type", "Bearer", "expires_in",
                                  3599, "ext_expires_in", 3599, "access_token", token));
    }
}

void sim_azure_metadata_token(struct sim_call *call)
{
    const char *metadata = http_header_find(call->request->headers, call->request->header_count,
                                            "Metadata");
    owned(chars) char *version = url_query(call->request->target, "api-version");
    owned(chars) char *resource = url_query(call->request->target, "resource");
    char token[80];

    call->verb = "token";
    if (sim_call_fault(call))
        return;
    if (!text_equal(metadata, "true") || !text_equal(version, "2018-02-01") || !resource) {
        sim_answer_json(call->answer, 400,
                        json_make("{s:s, s:s}", "error", "invalid_request", "error_description",
                                  "Required metadata header not specified"));
        return;
    }
    write_token(call->sim, sim_now(call->sim) + TOKEN_MS, token);
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:s, s:s}", "access_token", token, "expires_in", "3600",
                              "resource", resource, "token_type", "Bearer"));
}

/* Where the authority's endpoints are, which its own clients ask first. */
void sim_azure_authority(struct sim_call *call, const char *tenant)
{
    owned(chars) char *base = sim_azure_base(call);
    owned(chars) char *issuer = text_format("%s/%s/v2.0", base, tenant);
    owned(chars) char *token = text_format("%s/%s/oauth2/v2.0/token", base, tenant);
    owned(chars) char *authorize = text_format("%s/%s/oauth2/v2.0/authorize", base, tenant);

    call->verb = "token";
    if (!sim_call_fault(call))
        sim_answer_json(call->answer, 200,
                        json_make("{s:s, s:s, s:s, s:s}", "issuer", issuer, "token_endpoint", token,
                                  "authorization_endpoint", authorize, "jwks_uri", issuer));
}
