/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers of Azure: errors of any status, machines, agent pools and tokens.  The first byte is the
 * status.
 */
#include "providers/azure/azure.h"
#include "providers/azure/azure_errors.h"
#include "providers/azure/azure_machine.h"
#include "providers/common/token_cache.h"
#include "tests/fuzz/fuzz.h"

static const struct azure_place place = {
    .resource_group = "rg", .managed_cluster = "c", .agent_pool = "gpu", .zone = "region-1"
};

static void judge(const struct azure_answer *answer)
{
    struct error err = { 0 };
    struct error trouble = { 0 };

    if (azure_error_of_answer(answer, &err) < 0) {
        fuzz_expect_error(&err);
        /* A server that failed does not say that nothing happened. */
        require(!answer->is_mutation || answer->status < 500 || err.kind != ERROR_TRANSIENT);
        require(err.kind != ERROR_THROTTLED || err.retry_after_ms >= 0);
    }
    azure_error_of_operation(answer->body, &trouble);
    fuzz_expect_error(&trouble);
    require(trouble.kind == ERROR_NO_CAPACITY || trouble.kind == ERROR_DENIED ||
            trouble.kind == ERROR_INVALID);
}

/* A machine's name and its Node's provider ID name one machine. */
static void read_machine(const json_t *item)
{
    struct instance machine;
    char name[INSTANCE_NAME_SIZE];
    const char *listed = NULL;
    size_t claim = 0;
    struct error err = { 0 };

    if (azure_read_machine(item, &place, &machine, &listed, &err) < 0) {
        fuzz_expect_error(&err);
        return;
    }
    require(machine.name[0] != '\0' && listed[0] != '\0');
    require(azure_kind.read_provider_id((const struct pool_address *)(const void *)&place,
                                        machine.provider_id, name, &claim));
    require(text_equal(name, machine.name));
}

/* A pool that was given its own size wants as many machines as before. */
static void read_pool(const json_t *body)
{
    struct azure_pool pool, again;
    struct error err = { 0 };

    if (azure_pool_read(body, &pool, &err) < 0) {
        fuzz_expect_error(&err);
        return;
    }
    if (azure_pool_may_resize(body, &pool, &err) < 0) {
        fuzz_expect_error(&err);
        return;
    }
    owned(json) json_t *resized = azure_pool_resized(body, pool.wanted);

    json_put(json_at(resized, "properties"), "provisioningState", json_text(pool.state));
    require(azure_pool_read(resized, &again, &err) == 0);
    require(again.wanted == pool.wanted && again.is_busy == pool.is_busy);
}

static void read_token(int status, const char *chars, size_t size)
{
    const struct http_answer answer = { .status = status, .body = chars, .body_size = size };
    struct token_lease lease = { 0 };
    struct error err = { 0 };

    if (token_read_oauth(&answer, &lease, &err) < 0)
        fuzz_expect_error(&err);
    else
        require(lease.access);
    mem_free(lease.access);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const int statuses[] = { 200, 400, 401, 403, 404, 408, 409, 412, 429, 500, 503 };
    owned(chars) char *chars = fuzz_chars(bytes, size);
    struct error err = { 0 };
    owned(json) json_t *body = size > 1 ? json_parse_foreign(chars + 1, size - 1, "cloud", &err)
                                        : NULL;
    const struct azure_answer answer = {
        .status = statuses[size > 0 ? bytes[0] % COUNT_OF(statuses) : 0],
        .body = body,
        .text = size > 0 ? chars + 1 : "",
        .is_mutation = size > 0 && bytes[0] >= 128,
    };

    judge(&answer);
    read_machine(body);
    read_pool(body);
    read_token(answer.status, answer.text, size > 0 ? size - 1 : 0);
    return 0;
}
