/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * `accelerators` of sluice.yaml: names and the GPUs that a unit is.
 */
#include "base/text.h"
#include "broker/config/config.h"
#include "tests/broker/small_config.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <string.h>

static struct config *config_with(const char *folder, const char *section, struct error *err)
{
    owned(chars) char *text = text_format("%s%s", small_head, section);
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);

    return config_read(path, err);
}

static void units_are_parts_of_gpus(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct error err = { 0 };
    owned(config) struct config *config = config_with(
        folder,
        "accelerators:\n  example.com/npu: 1\n  vgpu.example.com: 0.25\n"
        "  example.com/gpu-exporter: 0\n  example.com/pair: 2\n",
        &err);
    static const int64_t parts[] = { GPU_PARTS, GPU_PARTS / 4, 0, 2 * GPU_PARTS };

    (void)state;
    if (!config)
        fail_msg("%s", err.text);
    assert_int_equal(config->accelerators.rows.count, COUNT_OF(parts));
    assert_string_equal(config->accelerators.rows.items[1].resource, "vgpu.example.com");
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        assert_int_equal(config->accelerators.rows.items[i].parts, parts[i]);
}

static void names_and_numbers_are_checked(void **state)
{
    static const struct {
        const char *section;
        const char *refusal;
    } rows[] = {
        { "accelerators: [1]\n", ":14: accelerators: expected a mapping" },
        { "accelerators: {gpu: 1}\n",
          ":14: accelerators.gpu: expected a resource as DOMAIN/NAME, or the name of a driver" },
        { "accelerators: {/gpu.x: 1}\n",
          ":14: accelerators./gpu.x: expected a resource as DOMAIN/NAME, or the name of a driver" },
        { "accelerators: {a.b/c: -1}\n", ":14: accelerators.a.b/c: " },
        { "accelerators: {a.b/c: many}\n", ":14: accelerators.a.b/c: " },
        { "accelerators: {a.b/c: 0.0001}\n",
          ":14: accelerators.a.b/c: is less than 1/5040 of a GPU" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(config) struct config *config = config_with(folder, rows[i].section, &err);

        if (config || !strstr(err.text, rows[i].refusal))
            fail_msg("%s: %s", rows[i].section, config ? "accepted" : err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_parts_of_gpus),
        cmocka_unit_test(names_and_numbers_are_checked),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
