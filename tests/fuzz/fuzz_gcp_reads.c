/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Google says in inspections and about tokens: each finding has its parts, and a token that is
 * accepted can be put into a header.  The first byte chooses the reader.
 */
#include "providers/gcp/gcp_exchange.h"
#include "providers/gcp/gcp_findings.h"
#include "tests/fuzz/fuzz.h"

static void on_finding(void *context, const struct finding *finding)
{
    (void)context;
    require(finding->subject[0] != '\0' && finding->text[0] != '\0');
    require(finding->verdict == FINDING_RIGHT || finding->remedy[0] != '\0');
}

static void read_grant(const uint8_t *bytes, size_t size)
{
    static const enum gcp_step steps[] = { GCP_STEP_SUBJECT, GCP_STEP_TOKEN, GCP_STEP_IMPERSONATE };
    static char url[] = "https://x", field[] = "value";
    owned(chars) char *chars = fuzz_chars(bytes + 1, size - 1);
    const struct gcp_credentials credentials = {
        .kind = GCP_EXTERNAL_ACCOUNT,
        .token_url = url,
        .subject_field = bytes[0] & 64 ? field : NULL,
    };
    const struct http_answer answer = { .status = 200, .body = chars, .body_size = size - 1 };
    struct gcp_talk talk = { .step = steps[bytes[0] % COUNT_OF(steps)] };
    struct gcp_grant grant = { 0 };
    struct error err = { 0 };
    int result = gcp_exchange_read(&credentials, &answer, &talk, &grant, &err);

    if (result < 0)
        fuzz_expect_error(&err);
    else if (result == 1)
        require(grant.access[0] != '\0' && !strpbrk(grant.access, "\r\n") && grant.life_ms > 0);
    else
        require(talk.carried && talk.carried[0] != '\0' && !strpbrk(talk.carried, "\r\n"));
    mem_free(grant.access);
    gcp_talk_clear(&talk);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const readers[])(const struct gcp_findings *findings, const json_t *body) = {
        gcp_findings_group,     gcp_findings_machines,    gcp_findings_resizes,
        gcp_findings_node_pool, gcp_findings_reservation, gcp_findings_permissions,
    };
    static const struct gcp_pool pool = {
        .project = "p", .zone = "z", .group = "g", .gce_reservation = "r"
    };
    const struct gcp_findings findings = { &pool, on_finding, NULL };
    struct error err = { 0 };

    if (size < 2)
        return 0;
    if (bytes[0] >= 128) {
        read_grant(bytes, size);
        return 0;
    }

    owned(json) json_t *body = json_parse_foreign((const char *)bytes + 1, size - 1, "cloud", &err);

    if (body)
        readers[bytes[0] % COUNT_OF(readers)](&findings, body);
    return 0;
}
