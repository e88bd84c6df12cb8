/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice journal: what is wrong with the journal's file, and setting it right, while no service
 * has it.  A check is a repair of a copy.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/world/world.h"
#include "broker/journal/journal.h"
#include "broker/service/service.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const struct command_option journal_options[] = {
    { "forget", 0, "NAME",
      "with repair: remove what is left of a transfer or record that was set aside", false },
    { 0 },
};

enum { JOURNAL_LIMIT = 1 << 30 };

/* The files of a journal beside its own name. */
static const char *const suffixes[] = { "", "-wal", ".tally" };

static struct wall_time now(void)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);

    return loop ? loop_wall(loop) : (struct wall_time){ 0 };
}

static int copy_files(const char *from, const char *to, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        owned(chars) char *source = text_format("%s%s", from, suffixes[i]);
        owned(chars) char *target = text_format("%s%s", to, suffixes[i]);
        owned(text) struct text *bytes = NULL;

        if (i > 0 && access(source, F_OK) != 0)
            continue;
        bytes = file_read(source, JOURNAL_LIMIT, err);
        if (!bytes || file_write(target, bytes->chars, bytes->length, 0600, err) < 0)
            return -1;
    }
    return 0;
}

static void add(json_t *found, const char *kind, const char *id, const char *text, bool is_mended)
{
    json_array_append_new(found, json_make("{ss ss ss sb sb}", "kind", kind, "id", id, "text", text,
                                           "is_mended", (int)is_mended, "is_aside", 0));
}

static int mend_records(struct world *world, const struct config *config, const char *forget,
                        json_t *found, struct error *err)
{
    if (forget)
        return service_forget(world, forget, found, err);
    return service_mend(world, config, found, err);
}

/* An open journal, in a world in which nothing happens. */
static int in_a_world(const char *path, const struct config *config, const char *forget,
                      json_t *found, struct error *err)
{
    struct random random;
    struct world world = { .random = &random };
    int result = -1;

    random_seed_system(&random);
    world.loop = loop_libevent_new(err);
    if (world.loop)
        world.http = http_curl_new(world.loop, NULL, err);
    if (world.http)
        world.journal = journal_sqlite_open(path, err);
    if (world.journal)
        result = mend_records(&world, config, forget, found, err);
    journal_close(world.journal);
    http_free(world.http);
    loop_free(world.loop);
    return result;
}

/* Rows, then commits, then records: each rests on the one before. */
static int mend(const char *path, const struct config *config, const char *forget, json_t *found,
                struct error *err)
{
    int64_t lost;
    json_t *row;
    size_t i;

    if (journal_sqlite_mend_rows(path, now(), found, err) < 0)
        return -1;
    json_array_foreach(found, i, row) {
        json_object_set_new(row, "is_mended", json_true());
        json_object_set_new(row, "is_aside", json_false());
    }
    lost = journal_sqlite_accept_loss(path, err);
    if (lost < 0)
        return -1;
    if (lost > 0) {
        owned(chars) char *text = text_format(
            "%" PRId64 " that were acknowledged are not in the file: a newer copy has them", lost);

        add(found, "commit", "last", text, true);
    }
    return in_a_world(path, config, forget, found, err);
}

/* A failure is a finding that cannot be repaired here. */
static void mend_all(const char *path, const struct config *config, const char *forget,
                     json_t *found)
{
    struct error err = { 0 };

    if (mend(path, config, forget, found, &err) < 0)
        add(found, forget ? "forget" : "journal", forget ?: path, err.text, false);
}

static int check(const struct config *config, json_t *found, struct error *err)
{
    owned(chars) char *folder = text_format("%s/sluice-check-XXXXXX", getenv("TMPDIR") ?: "/tmp");
    owned(chars) char *path = NULL;
    int result;

    if (!mkdtemp(folder))
        return error_errno(err, ERROR_DENIED, "cannot make %s", folder);
    path = text_format("%s/journal.db", folder);
    result = copy_files(config->journal, path, err);
    if (result == 0)
        mend_all(path, config, NULL, found);
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        owned(chars) char *file = text_format("%s%s", path, suffixes[i]);

        unlink(file);
    }
    rmdir(folder);
    return result;
}

static char *copy_name(const struct config *config)
{
    char text[WALL_TEXT_SIZE];

    return text_format("%s.before-repair-%s", config->journal, wall_format(now(), text));
}

static void print_found(const json_t *answer)
{
    const char *copy = json_text_or(answer, "copy", NULL);
    const json_t *row;
    size_t i;

    if (copy)
        printf("The files as they were: %s\n", copy);
    json_array_foreach(json_object_get(answer, "found"), i, row) {
        printf("%s %s: %s%s\n", json_text_or(row, "kind", "?"), json_text_or(row, "id", "?"),
               json_text_or(row, "text", ""),
               json_bool_or(row, "is_aside", false)     ? ""
               : !json_bool_or(row, "is_mended", false) ? " (needs a person)"
               : copy                                   ? " (mended)"
                                                        : " (a repair mends it)");
    }
    if (json_array_size(json_object_get(answer, "found")) == 0)
        printf("%s: nothing is wrong\n", json_text_or(answer, "journal", ""));
}

static bool is_left(const json_t *found)
{
    const json_t *row;
    size_t i;

    json_array_foreach(found, i, row) {
        if (!json_bool_or(row, "is_mended", false))
            return true;
    }
    return false;
}

/* The journal's lock, or the exit code in *ret_code. */
static int take(struct command_call *call, const struct config *config, int *ret_code)
{
    owned(chars) char *path = text_format("%s.lock", config->journal);
    struct error err = { 0 };
    int lock;

    if (access(config->journal, R_OK) != 0) {
        error_errno(&err, ERROR_NOT_FOUND, "journal %s", config->journal);
        *ret_code = call_fail(call, EXIT_ERROR, &err);
        return -1;
    }
    lock = file_lock(path, &err);
    if (lock < 0 && err.kind == ERROR_CONFLICT)
        (void)error_context(&err, "stop the service on this journal first");
    if (lock < 0)
        *ret_code = call_fail(call, err.kind == ERROR_CONFLICT ? EXIT_TRY_AGAIN : EXIT_ERROR, &err);
    return lock;
}

int cmd_journal(struct command_call *call)
{
    bool is_repair = text_equal(call_argument(call, 0), "repair");
    const char *forget = call_text(call, "forget");
    int code = EXIT_DONE;
    owned(config) struct config *config = NULL;
    owned(fd) int lock = -1;
    owned(json) json_t *found = json_array();
    owned(json) json_t *answer = NULL;
    owned(chars) char *copy = NULL;
    struct error err = { 0 };

    if (!is_repair && !text_equal(call_argument(call, 0), "check"))
        return call_usage_error(call, "expected check or repair");
    if (forget && !is_repair)
        return call_usage_error(call, "--forget requires repair");
    config = client_config(call, &code);
    lock = config ? take(call, config, &code) : -1;
    if (lock < 0)
        return code;
    log_setup(LOG_SILENT, LOG_FORM_TEXT); /* findings are reported once, by this command */
    copy = is_repair ? copy_name(config) : NULL;
    if ((is_repair ? copy_files(config->journal, copy, &err) : check(config, found, &err)) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    if (is_repair)
        mend_all(config->journal, config, forget, found);
    answer = json_make("{ss ss? sO}", "journal", config->journal, "copy", copy, "found", found);
    client_show(call, answer, print_found);
    return is_repair                    ? is_left(found) ? EXIT_DIFFERENT : EXIT_DONE
           : json_array_size(found) > 0 ? EXIT_DIFFERENT
                                        : EXIT_DONE;
}
