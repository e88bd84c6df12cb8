/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Settings: what a table reads from any mapping is within its limits, or an error names the key.
 */
#include "base/input/settings.h"
#include "base/input/yaml.h"
#include "tests/fuzz/fuzz.h"

struct thing {
    char *name;
    int64_t count;
    double share;
    bool is_on;
    int64_t patience_ms;
    const struct yaml_node *rest;
};

static const struct setting table[] = {
    { "name", SETTING_TEXT, offsetof(struct thing, name), NULL, 0, 0, "a name" },
    { "count", SETTING_INT, offsetof(struct thing, count), "3", 1, 10, "a number" },
    { "share", SETTING_DOUBLE, offsetof(struct thing, share), "0.5", 0, 1, "a share" },
    { "on", SETTING_BOOL, offsetof(struct thing, is_on), "false", 0, 0, "a flag" },
    { "patience", SETTING_DURATION, offsetof(struct thing, patience_ms), "1m", 1000, 60000,
      "a time" },
    { "rest", SETTING_NODE, offsetof(struct thing, rest), "", 0, 0, "anything" },
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct thing thing = { 0 };
    struct error err = { 0 };
    owned(yaml_document) struct yaml_document *document = yaml_parse((const char *)bytes, size,
                                                                     "fuzz.yaml", &err);

    if (!document || yaml_expect(yaml_root(document), YAML_MAPPING, &err) < 0)
        return 0;
    if (settings_read(yaml_root(document), table, COUNT_OF(table), &thing, &err) < 0) {
        fuzz_expect_error(&err);
        return 0;
    }
    require(thing.name && thing.count >= 1 && thing.count <= 10);
    require(thing.share >= 0 && thing.share <= 1);
    require(thing.patience_ms >= 1000 && thing.patience_ms <= 60000);
    settings_clear(table, COUNT_OF(table), &thing);
    return 0;
}
