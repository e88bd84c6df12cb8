/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Access tokens: by a signed assertion, or from the metadata server.  They last an hour.
 */
#include "tools/simulator/cloud/gcp_cloud.h"

#include <inttypes.h>

enum { TOKEN_MS = HOUR_MS, TOKEN_EARLY_MS = 5 * MINUTE_MS };

struct token {
    int64_t ends_ms;
    char chars[64];
};

static struct token *issue(struct simulator *sim)
{
    struct token *token = mem_new(sizeof *token);
    char tail[17];

    random_hex(&sim->names, tail, sizeof tail);
    snprintf(token->chars, sizeof token->chars, "ya29.sim-%" PRIu64 "-%s", ++sim->token_count,
             tail);
    token->ends_ms = sim_now(sim) + TOKEN_MS;
    map_set(sim->tokens, token->chars, token);
    return token;
}

static void answer_token(struct sim_call *call, const struct token *token)
{
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:I, s:s}", "access_token", token->chars, "expires_in",
                              (json_int_t)((token->ends_ms - sim_now(call->sim)) / SECOND_MS),
                              "token_type", "Bearer"));
}

bool sim_gcp_is_authorized(struct sim_call *call)
{
    const char *header = http_header_find(call->request->headers, call->request->header_count,
                                          "Authorization");
    const struct token *token = header && text_starts_with(header, "Bearer ")
                                    ? map_get(call->sim->tokens, header + 7)
                                    : NULL;

    if (token && sim_now(call->sim) < token->ends_ms)
        return true;
    sim_gcp_error(call->answer, 401, "authError",
                  "Request had invalid authentication credentials.");
    return false;
}

static void refuse(struct sim_call *call, const char *error, const char *why)
{
    sim_answer_json(call->answer, 400,
                    json_make("{s:s, s:s}", "error", error, "error_description", why));
}

/* One field of a form, decoded as a query would be. */
static char *form_field(const struct sim_request *request, const char *name)
{
    owned(chars) char *target = text_format("/?%s", request->body ? request->body : "");

    return url_query(target, name);
}

static bool is_jwt(const char *chars)
{
    int parts = 1;
    size_t length = 0;

    for (; *chars; chars++) {
        if (*chars == '.') {
            if (length == 0)
                return false;
            parts++;
            length = 0;
            continue;
        }
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", *chars))
            return false;
        length++;
    }
    return parts == 3 && length > 0;
}

void sim_gcp_token(struct sim_call *call)
{
    const char *type = http_header_find(call->request->headers, call->request->header_count,
                                        "Content-Type");
    owned(chars) char *grant = form_field(call->request, "grant_type");
    owned(chars) char *assertion = form_field(call->request, "assertion");

    call->verb = "token";
    if (call->request->method != HTTP_POST) {
        sim_gcp_error(call->answer, 404, "notFound", "a token is asked for by POST");
        return;
    }
    if (sim_call_fault(call))
        return;
    if (!type || !text_starts_with(type, "application/x-www-form-urlencoded"))
        refuse(call, "invalid_request", "the body must be a form");
    else if (!text_equal(grant, "urn:ietf:params:oauth:grant-type:jwt-bearer"))
        refuse(call, "unsupported_grant_type", "Invalid grant_type");
    else if (!assertion || !is_jwt(assertion))
        refuse(call, "invalid_grant", "Invalid JWT: three parts in base64url were expected");
    else
        answer_token(call, issue(call->sim));
}

/* The metadata server hands out the same token until it is nearly over. */
void sim_gcp_metadata_token(struct sim_call *call)
{
    const char *flavor = http_header_find(call->request->headers, call->request->header_count,
                                          "Metadata-Flavor");
    struct token *latest = NULL;
    void *value;

    call->verb = "token";
    if (sim_call_fault(call))
        return;
    if (!text_equal(flavor, "Google") || call->request->method != HTTP_GET) {
        sim_gcp_error(call->answer, 403, "forbidden", "Missing Metadata-Flavor:Google header");
        return;
    }
    for (size_t i = 0; map_next(call->sim->tokens, &i, NULL, &value);)
        latest = value;
    if (!latest || latest->ends_ms - sim_now(call->sim) < TOKEN_EARLY_MS)
        latest = issue(call->sim);
    answer_token(call, latest);
    call->answer->headers[call->answer->header_count++] = (struct http_header){ "Metadata-Flavor",
                                                                                "Google" };
}
