/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of kinds, as the page of providers shows it.
 */
#include "base/text.h"
#include "tests/providers/contract/contract.h"
#include "tests/support/document.h"

static const char *const names[] = {
    [NAMES_BY_KEY] = "yes, it follows from the request key",
    [NAMES_IN_ANSWER] = "yes",
    [NAMES_LATER] = "no, the list shows it later",
};

static const char *const wants[] = {
    [WANT_REFUSED] = "yes",
    [WANT_COUNTED] = "no, the size stays raised and the cloud goes on trying",
    [WANT_FAILED] = "no, the operation fails later and the size stays raised",
    [WANT_LISTED] = "no, the list shows a machine with its trouble",
};

static const char *const healings[] = {
    [HEALS_BY_ANOTHER] = "another machine",
    [HEALS_AGAIN] = "a machine of the same name and another ID",
    [HEALS_IN_PLACE] = "the same machine, with another Node",
};

void contract_check_page(void **state)
{
    owned(text) struct text *out = text_new(1 << 20);

    (void)state;
    text_add(out,
             "| kind | specific remove | atomic decrement | zone pin | grow returns identity | "
             "grow fails fast | server idempotency | a healer makes | protects from scale-in |\n"
             "|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < contract_kind_count; i++) {
        const struct contract_kind *kind = &contract_kinds[i];

        text_add(out, "| %s | yes | %s | %s | %s | %s | %s | %s | %s |\n", kind->name,
                 kind->removes[1] ? "no, two writes" : "yes", kind->zone, names[kind->names],
                 wants[kind->want], kind->token, healings[kind->heals],
                 kind->protect ? "yes" : "no");
    }
    document_check("providers/README.md", "matrix", out->chars);
}
