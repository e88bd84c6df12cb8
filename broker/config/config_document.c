/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The documentation of the settings, printed from their tables.
 */
#include "base/memory.h"
#include "broker/config/config_tables.h"

/* Their keys are read in windows/, which shares no table with us. */
static const char windows_text[] =
    "\n## `windows.NAME`\n"
    "One recurring stretch of the week. Every minute belongs to exactly one; a window may be "
    "carved "
    "out of another.\n\n"
    "| key | type | default | meaning |\n|---|---|---|---|\n"
    "| `days` | day, days or list | required | on which it begins: `mon-fri`, `[sat, sun]` |\n"
    "| `from` | time of day | required | `\"08:30\"` |\n"
    "| `to` | time of day | required | `\"17:00\"`; on the next day if it is not later than `from` "
    "|\n"
    "| `within` | text | none | the window that it is carved out of |\n"
    "\n## `holidays`\n"
    "A date that is treated as another day has that day's windows from midnight to midnight. "
    "Windows that run past one of these midnights end there; the hours after the date have their "
    "usual windows. "
    "`country: US` (or a list, `[DE, FR]`) makes the public holidays of a "
    "country such days, with the windows of `as` (`sunday` unless it is given); a date that is "
    "listed "
    "itself wins. sluice knows DE, FR, GB, NL and US (plain files in `windows/holidays/`).\n"
    "\n## `events.NAME`\n"
    "A dated window. It replaces the windows that it overlaps, has a schedule of its own, and ends "
    "by itself; events do not overlap each other. A time without an offset is that of "
    "`time_zone`.\n\n"
    "| key | type | default | meaning |\n|---|---|---|---|\n"
    "| `from` | date and time | required | `2026-12-01 09:00` |\n"
    "| `to` | date and time | required | |\n"
    "| `multiplier` | number, up to 1000 | required | `sluice allocate` multiplies the arrivals "
    "of these hours of the week by it |\n"
    "| `queues` | list | all queues | whose arrivals are multiplied |\n"
    "\n## `accelerators`\n"
    "How many GPUs one unit of an extended resource counts as (`example.com/npu: 1`, "
    "`example.com/vgpu: 0.25`), or one device of a driver of Dynamic Resource Allocation "
    "(`npu.example.com: 1`). 0: it is no accelerator. sluice knows `nvidia.com/gpu`, "
    "`nvidia.com/mig-*`, `amd.com/gpu`, `gpu.intel.com/i915` and `gpu.intel.com/xe` without a "
    "setting. An unknown accelerator counts as the whole node.\n";

/* A row without a meaning of its own is `kind`. */
static void document_table(const struct config_table *table, struct text *out)
{
    for (size_t i = 0; i < table->count; i++) {
        owned(text) struct text *names = text_new(TEXT_UNBOUNDED);
        struct setting row = table->settings[i];

        if (row.help[0] == '\0') {
            config_name_kinds(table->kinds, names);
            row.help = names->chars;
        }
        settings_document(&row, 1, out);
    }
    if (table->kinds)
        config_document_kinds(table->kinds, out);
}

void config_document(struct text *out)
{
    for (size_t i = 0; i < CONFIG_TABLE_COUNT; i++) {
        const struct config_table *table = &config_tables[i];

        if (table->title[0])
            text_add(out, "\n## `%s`\n", table->title);
        else
            text_add(out, "# sluice.yaml\n");
        text_add(out, "%s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", table->help);
        document_table(table, out);
        if (i == CONFIG_TOP)
            text_add(out, "%s", windows_text);
    }
}
