/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A journal file of any bytes: it opens and verifies, or is refused by a sentence.
 */
#include "broker/journal/journal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* In memory: a disk that syncs would be all that is measured. */
static char folder[] = "/dev/shm/fuzz-journal-XXXXXX";

static int on_record(void *context, const char *id, uint64_t rev, const json_t *value,
                     struct error *err)
{
    (void)context;
    (void)err;
    require(id[0] != '\0' && rev > 0 && value);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool is_made;
    owned(chars) char *path = NULL;
    struct error err = { 0 };
    struct journal *journal;

    if (!is_made)
        require(mkdtemp(folder));
    is_made = true;
    path = text_format("%s/sluice.db", folder);
    require(file_write(path, bytes, size, 0600, &err) == 0);
    journal = journal_sqlite_open(path, &err);
    if (journal) {
        (void)!journal_each(journal, "transfer", on_record, NULL, &err);
        (void)!journal_verify(journal, 1000, &err);
        journal_close(journal);
    } else {
        fuzz_expect_error(&err);
    }
    for (const char *const *ending =
             (const char *const[]){ "", "-wal", "-shm", ".lock", ".tally", NULL };
         *ending; ending++) {
        owned(chars) char *part = text_format("%s%s", path, *ending);

        unlink(part);
    }
    return 0;
}
