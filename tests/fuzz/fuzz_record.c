/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records of the journal: a transfer that is read is within its bounds and is written the same.
 */
#include "broker/transfer/steps.h"
#include "broker/transfer/transfer.h"
#include "tests/fuzz/fuzz.h"

static struct config_cluster clusters[] = { { .name = (char *)(uintptr_t) "research-a" },
                                            { .name = (char *)(uintptr_t) "prod-a" } };
static struct config_pool pools[] = {
    { .name = (char *)(uintptr_t) "research", .cluster = &clusters[0] },
    { .name = (char *)(uintptr_t) "prod", .cluster = &clusters[1] },
};
static const struct config config = {
    .path = (char *)(uintptr_t) "sluice.yaml",
    .pools = pools,
    .pool_count = COUNT_OF(pools),
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    owned(json) json_t *value = json_parse((const char *)bytes, size, "journal", &err);
    owned(transfer) struct transfer *transfer = NULL;
    owned(transfer) struct transfer *again = NULL;
    owned(json) json_t *first = NULL;
    owned(json) json_t *second = NULL;

    if (!value)
        return 0;
    transfer = transfer_decode(&config, value, &err);
    if (!transfer) {
        fuzz_expect_error(&err);
        return 0;
    }
    require(transfer->step >= 0 && transfer->step < STEP_COUNT);
    first = transfer_encode(transfer);
    again = transfer_decode(&config, first, &err);
    require(again);
    second = transfer_encode(again);
    require(json_equal(first, second));
    return 0;
}
