/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Access tokens: each lasts an hour, or as long as was asked for.  The metadata server hands them
 * out; the other ways to get one are in gcp_grants.c.
 */
#include "tools/simulator/cloud/gcp_cloud.h"

#include <inttypes.h>

enum { TOKEN_MS = HOUR_MS, TOKEN_EARLY_MS = 5 * MINUTE_MS };

struct token {
    int64_t ends_ms;
    char chars[64];
};

static struct token *issue(struct simulator *sim, int64_t life_ms)
{
    struct token *token = mem_new(sizeof *token);
    char tail[17];

    random_hex(&sim->names, tail, sizeof tail);
    snprintf(token->chars, sizeof token->chars, "ya29.sim-%" PRIu64 "-%s", ++sim->token_count,
             tail);
    token->ends_ms = sim_now(sim) + life_ms;
    map_set(sim->tokens, token->chars, token);
    return token;
}

static json_t *token_body(const struct simulator *sim, const struct token *token)
{
    return json_make("{s:s, s:I, s:s}", "access_token", token->chars, "expires_in",
                     (json_int_t)((token->ends_ms - sim_now(sim)) / SECOND_MS), "token_type",
                     "Bearer");
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

void sim_gcp_grant(struct sim_call *call, const char *type)
{
    const struct token *token = issue(call->sim, TOKEN_MS);
    json_t *body = token_body(call->sim, token);

    if (type)
        json_object_set_new(body, "issued_token_type", json_string(type));
    sim_answer_json(call->answer, 200, body);
}

void sim_gcp_grant_until(struct sim_call *call, int64_t life_ms)
{
    const struct token *token = issue(call->sim, life_ms);
    char ends[WALL_TEXT_SIZE];

    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s}", "accessToken", token->chars, "expireTime",
                              sim_time(call->sim, token->ends_ms, ends)));
}

/* False: answered. */
static bool is_metadata(struct sim_call *call)
{
    const char *flavor = http_header_find(call->request->headers, call->request->header_count,
                                          "Metadata-Flavor");

    call->verb = "token";
    if (sim_call_fault(call))
        return false;
    if (text_equal(flavor, "Google") && call->request->method == HTTP_GET)
        return true;
    sim_gcp_error(call->answer, 403, "forbidden", "Missing Metadata-Flavor:Google header");
    return false;
}

static void answer_metadata(struct sim_call *call, json_t *body)
{
    sim_answer_json(call->answer, 200, body);
    call->answer->headers[call->answer->header_count++] = (struct http_header){ "Metadata-Flavor",
                                                                                "Google" };
}

/* Google's own clients ask whose token it will be. */
void sim_gcp_metadata_account(struct sim_call *call)
{
    if (is_metadata(call))
        answer_metadata(call, json_make("{s:[s], s:s, s:[s]}", "aliases", "default", "email",
                                        "sluice@simulated.iam.gserviceaccount.com", "scopes",
                                        "https://www.googleapis.com/auth/cloud-platform"));
}

/* The metadata server hands out the same token until it is nearly over. */
void sim_gcp_metadata_token(struct sim_call *call)
{
    struct token *latest = NULL;
    void *value;

    if (!is_metadata(call))
        return;
    for (size_t i = 0; map_next(call->sim->tokens, &i, NULL, &value);)
        latest = value;
    if (!latest || latest->ends_ms - sim_now(call->sim) < TOKEN_EARLY_MS)
        latest = issue(call->sim, TOKEN_MS);
    answer_metadata(call, token_body(call->sim, latest));
}
