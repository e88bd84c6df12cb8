/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every record of a journal damaged in turn, in the file: the service starts with that one set
 * aside and named, or refuses and says which and what to do.  It never ends by it, and never acts
 * on it.  `tools/test sweep` plays all cases; else one in a few is played.
 */
#include "broker/journal/journal_rows.h"
#include "tests/cli/said.h"
#include "tests/cli/small_world.h"
#include "tests/cli/stepwise.h"
#include "tests/support/sweep.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLE = 7 }; /* without SLUICE_SWEEP one case in so many; prime to the counts */

static const char quota[] = "quotas:\n  shared: {cluster: research-a, cluster_queue: shared,"
                            " flavor: ephemeral, fixed_gpus: 8}\n";

struct record {
    char *kind;
    char *id;
    char *value;
    int64_t rev;
};

/* A world whose journal is a file, and that file as the process left it. */
struct scene {
    char *folder;
    struct rehearsal *rehearsal;
    char *path;
    struct text *file;
    struct text *tally;
    ARRAY(struct record) records;
};

static char *beside(const struct scene *scene, const char *suffix)
{
    return text_format("%s%s", scene->path, suffix);
}

static int open_journal(struct scene *scene, struct error *err)
{
    struct rehearsal *rehearsal = scene->rehearsal;

    rehearsal->journal = journal_sqlite_open(scene->path, err);
    rehearsal->world.journal = rehearsal->journal;
    return rehearsal->journal ? journal_write_slowly(rehearsal->journal, rehearsal->loop, 9, err)
                              : -1;
}

/* -1: refused, in words. */
static int start(struct scene *scene, struct error *err)
{
    if (open_journal(scene, err) < 0)
        return -1;
    if (rehearsal_start(scene->rehearsal, err) == 0)
        return 0;
    journal_close(scene->rehearsal->journal);
    scene->rehearsal->journal = NULL;
    return -1;
}

/* What was accepted is written before. */
static void end(struct scene *scene)
{
    rehearsal_run(scene->rehearsal, 50);
    assert_false(service_is_broken(scene->rehearsal->service));
    rehearsal_kill(scene->rehearsal);
    journal_close(scene->rehearsal->journal);
    scene->rehearsal->journal = NULL;
}

static int add_record(void *context, int count, char **values, char **names)
{
    struct scene *scene = context;
    struct record *record = array_add(&scene->records);

    (void)names;
    assert_int_equal(count, 4);
    record->kind = mem_copy_chars(values[0]);
    record->id = mem_copy_chars(values[1]);
    record->value = mem_copy_chars(values[2]);
    record->rev = atoll(values[3]);
    return 0;
}

static sqlite3 *open_plain(const struct scene *scene)
{
    sqlite3 *plain = NULL;

    assert_int_equal(sqlite3_open(scene->path, &plain), SQLITE_OK);
    return plain;
}

/* The files as they are now, without a process. */
static void keep(struct scene *scene)
{
    owned(chars) char *tally = beside(scene, ".tally");
    sqlite3 *plain;

    end(scene);
    plain = open_plain(scene);
    assert_int_equal(sqlite3_exec(plain,
                                  "SELECT kind, id, value, rev FROM record ORDER BY kind, id",
                                  add_record, scene, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(plain), SQLITE_OK);
    scene->file = test_file_read(scene->path);
    scene->tally = test_file_read(tally);
}

/* The kept files, with another value in one record: as if our own hand had written it, or not. */
static void put_back(const struct scene *scene, const struct record *record, const char *value,
                     bool is_ours)
{
    owned(chars) char *tally = beside(scene, ".tally");
    owned(chars) char *wal = beside(scene, "-wal");
    char hash[ROW_HASH_SIZE];
    sqlite3 *plain;
    sqlite3_stmt *statement;

    unlink(wal);
    test_file_write(scene->path, scene->file->chars, scene->file->length);
    test_file_write(tally, scene->tally->chars, scene->tally->length);
    if (!record)
        return;
    plain = open_plain(scene);
    assert_int_equal(sqlite3_prepare_v2(plain,
                                        is_ours ? "UPDATE record SET value = ?1, hash = ?2"
                                                  " WHERE kind = ?3 AND id = ?4"
                                                : "UPDATE record SET value = ?1 WHERE ?2 <> ''"
                                                  " AND kind = ?3 AND id = ?4",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    row_hash(record->kind, record->id, record->rev, value, hash);
    sqlite3_bind_text(statement, 1, value, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 2, hash, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 3, record->kind, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 4, record->id, -1, SQLITE_TRANSIENT);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    assert_int_equal(sqlite3_changes(plain), 1);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(plain), SQLITE_OK);
}

static bool has_record(const struct scene *scene, const char *kind)
{
    for (size_t i = 0; i < scene->records.count; i++)
        if (text_equal(scene->records.items[i].kind, kind))
            return true;
    return false;
}

/* Kinds that this world does not come to write by itself. */
static void add_rare_kinds(const struct scene *scene)
{
    struct service *service = scene->rehearsal->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    owned(json) json_t *route = json_make("{si si si ss}", "failures", 1, "served", 0, "failed", 5,
                                          "why", "no room");
    struct wall_time soon = { loop_wall(service->world->loop).ms + DAY_MS };
    owned(json) json_t *host = json_make("{sI ss ss}", "until", (json_int_t)soon.ms, "pool",
                                         "prod-a-east", "text", "slow");
    owned(json)
        json_t *gang = json_make("{ss ss ss s[]}", "cluster", "research-a", "path",
                                 "/apis/batch/v1/namespaces/ml/jobs/j", "uid", "u-1", "transfers");
    owned(json) json_t *counts = json_make("{si si}", "violations", 0, "emergencies", 3);
    owned(json) json_t *node = json_make("{ss ss ss ss so}", "cluster", "research-a", "node", "n",
                                         "reason", "", "by", "ada", "until", json_wall(soon));
    struct error err = { 0 };

    journal_put(batch, "node_freeze", "research-a/n", 0, node);
    journal_put(batch, "route", "research-a-east", 0, route);
    journal_put(batch, "quarantine", "google/host-7", 0, host);
    journal_put(batch, "suspension", "research-a /apis/batch/v1/namespaces/ml/jobs/j", 0, gang);
    if (service->runner->notices.rev == 0)
        journal_put(batch, "notice", "counts", 0, counts);
    if (journal_commit(service->world->journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
}

static void freeze(struct scene *scene)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss ss ss}", "cluster", "prod-a", "reason", "audit",
                                            "until", "2026-11-17T09:30:00Z");
    owned(json) json_t *answer = service_freeze(scene->rehearsal->service, request, "test", &err);

    if (!answer)
        fail_msg("%s", err.text);
}

static void put_queue(const struct scene *scene)
{
    owned(json) json_t *queue = json_make("{s{s[{s[s] s[{ss s[{ss si}]}]}]}}", "spec",
                                          "resourceGroups", "coveredResources", "nvidia.com/gpu",
                                          "flavors", "name", "ephemeral", "resources", "name",
                                          "nvidia.com/gpu", "nominalQuota", 80);

    simulator_put_object(scene->rehearsal->simulator, "research-a",
                         "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/shared", queue);
}

/* One whole move for the lead times, and another one in the middle of draining. */
static void open_scene(struct scene *scene)
{
    struct error err = { 0 };
    owned(json) json_t *answer = NULL;

    *scene = (struct scene){ .folder = test_folder_new() };
    scene->path = text_format("%s/journal.db", scene->folder);
    scene->rehearsal = small_rehearsal_with(scene->folder, 7, "", quota, "");
    put_queue(scene);
    rehearsal_kill(scene->rehearsal);
    journal_close(scene->rehearsal->journal);
    if (start(scene, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_run(scene->rehearsal, MINUTE_MS);
    apply(scene->rehearsal, 7, 7);
    rehearsal_run(scene->rehearsal, HOUR_MS);
    answer = reclaim(scene->rehearsal, 2);
    apply(scene->rehearsal, 9, 9);
    rehearsal_run(scene->rehearsal, 8 * SECOND_MS);
    assert_int_equal(transfers_of(scene->rehearsal, false), 2);
    freeze(scene);
    add_rare_kinds(scene);
    keep(scene);
}

static void close_scene(struct scene *scene)
{
    scene->rehearsal->journal = journal_memory_new();
    rehearsal_close(scene->rehearsal);
    for (size_t i = 0; i < scene->records.count; i++) {
        mem_free(scene->records.items[i].kind);
        mem_free(scene->records.items[i].id);
        mem_free(scene->records.items[i].value);
    }
    array_clear(&scene->records);
    text_free(scene->file);
    text_free(scene->tally);
    mem_free(scene->path);
    test_folder_free(scene->folder);
}

struct sweep {
    struct scene scene;
    struct sweep_part part;
    int cases;
    int refused;
    int set_aside;
};

/* The sentence of the status that names the record; its advice can be followed. */
static bool is_named(struct rehearsal *rehearsal, const struct record *record)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(chars) char *name = text_format("record %s %s cannot be read", record->kind, record->id);
    const json_t *warning;
    size_t i;

    json_array_foreach(json_object_get(status, "warnings"), i, warning) {
        if (strstr(json_string_value(warning), name))
            return strstr(json_string_value(warning), "stop the service") != NULL;
    }
    return false;
}

static bool acts_on(struct rehearsal *rehearsal, const struct record *record)
{
    const struct runner *runner = rehearsal->service->runner;

    for (size_t i = 0; i < runner->transfers.count; i++)
        if (text_equal(record->kind, "transfer") &&
            text_equal(runner->transfers.items[i]->id, record->id))
            return true;
    return false;
}

enum outcome { REFUSED, SET_ASIDE, TAKEN };

static enum outcome try(struct sweep *sweep, const struct record *record, const char *value,
                        bool is_ours)
{
    struct error err = { 0 };
    enum outcome outcome = REFUSED;

    sweep->cases++;
    put_back(&sweep->scene, record, value, is_ours);
    if (start(&sweep->scene, &err) < 0) {
        sweep->refused++;
        if (!strstr(err.text, record->id) ||
            (!strstr(err.text, "journal repair") && !strstr(err.text, "put it back")))
            fail_msg("%s %s = %s: %s", record->kind, record->id, value, err.text);
        return REFUSED;
    }
    outcome = is_named(sweep->scene.rehearsal, record) ? SET_ASIDE : TAKEN;
    sweep->set_aside += outcome == SET_ASIDE;
    if (outcome == SET_ASIDE && acts_on(sweep->scene.rehearsal, record))
        fail_msg("%s %s = %s: set aside, and acted on", record->kind, record->id, value);
    end(&sweep->scene);
    return outcome;
}

static void expect(struct sweep *sweep, const struct record *record, const char *value,
                   bool is_ours, enum outcome expected)
{
    enum outcome outcome = sweep_plays(&sweep->part) ? try(sweep, record, value, is_ours)
                                                     : expected;

    if (outcome != expected)
        fail_msg("%s %s = %s: outcome %d, not %d", record->kind, record->id, value, (int)outcome,
                 (int)expected);
}

/* One member away, or of another type: what has a default may be taken. */
static void try_members(struct sweep *sweep, const struct record *record)
{
    struct error err = { 0 };
    owned(json) json_t *value = json_parse(record->value, strlen(record->value), "record", &err);
    const char *key;
    void *next;
    json_t *member;

    json_object_foreach_safe(value, next, key, member) {
        owned(json) json_t *less = json_copy(value);
        owned(json) json_t *wrong = json_copy(value);
        owned(chars) char *less_chars = NULL;
        owned(chars) char *wrong_chars = NULL;

        json_object_del(less, key);
        json_put(wrong, key, json_is_string(member) ? json_integer(7) : json_text("x"));
        less_chars = json_print(less);
        wrong_chars = json_print(wrong);
        if (sweep_plays(&sweep->part))
            try(sweep, record, less_chars, true);
        if (sweep_plays(&sweep->part))
            try(sweep, record, wrong_chars, true);
    }
}

static void damage(struct sweep *sweep, const struct record *record, bool is_first)
{
    owned(chars) char *half = text_format("%.*s", (int)strlen(record->value) / 2, record->value);
    owned(chars) char *flipped = mem_copy_chars(record->value);

    flipped[strlen(flipped) / 2] ^= 1;
    expect(sweep, record, flipped, false, REFUSED);
    expect(sweep, record, half, true, SET_ASIDE);
    expect(sweep, record, "{}", true, SET_ASIDE);
    if (!is_first)
        return;
    expect(sweep, record, "[]", true, SET_ASIDE);
    expect(sweep, record, "7", true, SET_ASIDE);
    expect(sweep, record, "\xc3(", true, SET_ASIDE);
    try_members(sweep, record);
}

static void each_record_is_damaged_in_turn(void **state)
{
    static const char *const kinds[] = { "transfer", "effect",     "leads",      "route",
                                         "freeze",   "quarantine", "suspension", "schedule",
                                         "notice",   "reclaim",    "scale",      "losses",
                                         "clock",    "quota",      "named",      "node_freeze" };
    struct sweep sweep = { .part = sweep_part(SAMPLE) };
    const struct record *before = NULL;

    (void)state;
    open_scene(&sweep.scene);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (!has_record(&sweep.scene, kinds[i]))
            fail_msg("no record of the kind %s", kinds[i]);
    for (size_t i = 0; i < sweep.scene.records.count; i++) {
        const struct record *record = &sweep.scene.records.items[i];

        damage(&sweep, record, !before || !text_equal(before->kind, record->kind));
        before = record;
    }
    print_message(
        "sweep store: %d of %zu cases, each of %zu records damaged: %d refused, %d set aside\n",
        sweep.cases, sweep.part.at, sweep.scene.records.count, sweep.refused, sweep.set_aside);
    close_scene(&sweep.scene);
}

static const struct record *find_record(const struct scene *scene, const char *kind,
                                        const char *part)
{
    for (size_t i = 0; i < scene->records.count; i++)
        if (text_equal(scene->records.items[i].kind, kind) &&
            strstr(scene->records.items[i].value, part))
            return &scene->records.items[i];
    fail_msg("there is no %s with %s", kind, part);
    return NULL;
}

static void start_damaged(struct scene *scene, const struct record *record)
{
    struct error err = { 0 };

    put_back(scene, record, "{}", true);
    if (start(scene, &err) < 0)
        fail_msg("%s", err.text);
}

static int64_t operators(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    return json_int_or(status, "steps/needs_operator", -1);
}

static bool has_machine(const struct pool *pool, const char *name)
{
    for (size_t i = 0; i < pool->machines.count; i++)
        if (text_equal(pool->machines.items[i]->name, name))
            return true;
    return false;
}

/* The node of a transfer that cannot be read stays as it is, and nothing else stands still. */
static void a_live_transfer_is_left_to_a_person(void **state)
{
    struct scene scene;
    const struct record *record;
    struct error err = { 0 };
    owned(json) json_t *value = NULL;
    const struct pool *research;
    struct service *service;

    (void)state;
    open_scene(&scene);
    record = find_record(&scene, "transfer", "\"step\":\"drain\"");
    value = json_parse(record->value, strlen(record->value), "record", &err);
    assert_string_equal(json_text_or(value, "state", ""), "live");
    start_damaged(&scene, record);
    research = pool_of(scene.rehearsal, "research-a-east");
    for (int i = 0; i < 2; i++) {
        rehearsal_run(scene.rehearsal, 50 * MINUTE_MS);
        service = scene.rehearsal->service;
        assert_int_equal(operators(scene.rehearsal), 1);
        assert_true(has_machine(research, json_text_or(value, "instance", "")));
        assert_true(unreadable_holds(service, config_pool(service->config, "research-a-east"),
                                     json_text_or(value, "instance", ""), ""));
        end(&scene); /* it stays so over a restart */
        if (start(&scene, &err) < 0)
            fail_msg("%s", err.text);
    }
    /* the other transfer of the move arrived, and one in the place of the lost one */
    assert_int_equal(transfers_of(scene.rehearsal, false), 0);
    assert_int_equal(nodes_of(scene.rehearsal, "prod-a-east"), 9);
    assert_int_equal(rehearsal_violations(scene.rehearsal), 0);
    end(&scene);
    close_scene(&scene);
}

static bool is_frozen(const struct scene *scene)
{
    const struct rehearsal *at = scene->rehearsal;

    return guard_freeze(&at->service->guard, &at->config->clusters[0], loop_wall(at->loop));
}

/* Until when it was is not known: it holds until a person ends it. */
static void a_freeze_that_cannot_be_read_holds(void **state)
{
    struct scene scene;
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss}", "cluster", "prod-a");
    owned(json) json_t *answer = NULL;

    (void)state;
    open_scene(&scene);
    start_damaged(&scene, find_record(&scene, "freeze", "audit"));
    for (int i = 0; i < 2; i++) {
        rehearsal_run(scene.rehearsal, 5 * HOUR_MS);
        assert_true(is_frozen(&scene));
        end(&scene);
        if (start(&scene, &err) < 0)
            fail_msg("%s", err.text);
    }
    answer = service_unfreeze(scene.rehearsal->service, request, "test", &err);
    if (!answer)
        fail_msg("%s", err.text);
    assert_false(is_frozen(&scene));
    end(&scene);
    if (start(&scene, &err) < 0)
        fail_msg("%s", err.text);
    assert_false(is_frozen(&scene));
    end(&scene);
    close_scene(&scene);
}

/* Whether it was sent is not known: it is looked for before it is asked for again. */
static void an_effect_that_cannot_be_read_may_have_happened(void **state)
{
    struct scene scene;
    const struct record *record;
    const struct runner *runner;
    int found = 0;

    (void)state;
    open_scene(&scene);
    record = find_record(&scene, "effect", "\"state\":\"answered\"");
    start_damaged(&scene, record);
    runner = scene.rehearsal->service->runner;
    for (size_t i = 0; i < runner->transfers.count; i++) {
        void *value;

        for (size_t k = 0; map_next(runner->transfers.items[i]->effects, &k, NULL, &value);) {
            const struct effect *effect = value;
            owned(chars) char *id = text_format("%s/%s/%s", effect->transfer->id,
                                                effect->kind->name, effect->object);

            if (!text_equal(id, record->id))
                continue;
            found++;
            assert_int_equal(effect->outcome, ERROR_UNKNOWN_OUTCOME);
            assert_true(effect_may_have_happened(effect));
        }
    }
    assert_int_equal(found, 1);
    rehearsal_run(scene.rehearsal, 3 * HOUR_MS);
    assert_int_equal(transfers_of(scene.rehearsal, false), 0);
    assert_int_equal(rehearsal_violations(scene.rehearsal), 0);
    end(&scene);
    close_scene(&scene);
}

/* A configuration beside the journal that names it. */
static void write_config(const struct scene *scene)
{
    const char *memory = strstr(small_config, "':memory:'");
    owned(chars) char *config = text_format("%.*s%s%s%s", (int)(memory - small_config),
                                            small_config, scene->path,
                                            memory + strlen("':memory:'"), quota);
    owned(chars) char *path = test_folder_write(scene->folder, "file.yaml", config);

    assert_non_null(path);
}

static void expect_found(const struct scene *scene, int code, const char *line, const char *found)
{
    owned(chars) char *whole = text_format("journal %s -c @/file.yaml", line);
    owned(said) struct said said = expect_code(scene->folder, code, whole);

    if (!strstr(said.out->chars, found))
        fail_msg("%s: no \"%s\" in\n%s%s", line, found, said.out->chars, said.err->chars);
}

static void what_is_wrong_is_found_and_mended(void **state)
{
    static const struct {
        const char *kind;
        bool is_ours; /* damaged by our own hand, not on the disk */
        int after;    /* what the repair leaves: a person is needed */
    } cases[] = {
        { "transfer", true, 2 }, { "transfer", false, 2 }, { "freeze", true, 0 },
        { "effect", false, 0 },  { "leads", true, 0 },     { "schedule", false, 0 },
        { "reclaim", false, 0 },
    };
    struct scene scene;
    struct error err = { 0 };

    (void)state;
    open_scene(&scene);
    write_config(&scene);
    put_back(&scene, NULL, NULL, true);
    expect_found(&scene, 0, "check", "nothing is wrong");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct record *record = find_record(
            &scene, cases[i].kind,
            text_equal(cases[i].kind, "transfer") ? "\"state\":\"live\"" : "");
        owned(text) struct text *before = NULL;
        owned(text) struct text *after = NULL;

        put_back(&scene, record, "{\"n\":1}", cases[i].is_ours);
        before = test_file_read(scene.path);
        expect_found(&scene, 2, "check -o json", record->id);
        after = test_file_read(scene.path); /* a check changes nothing */
        assert_int_equal(before->length, after->length);
        assert_memory_equal(before->chars, after->chars, after->length);
        expect_found(&scene, cases[i].after, "repair", record->id);
        if (start(&scene, &err) < 0)
            fail_msg("%s: %s", cases[i].kind, err.text);
        assert_true(is_named(scene.rehearsal, record));
        assert_false(acts_on(scene.rehearsal, record));
        end(&scene);
    }
    close_scene(&scene);
}

static void a_person_ends_what_was_set_aside(void **state)
{
    struct scene scene;
    const struct record *record;
    struct error err = { 0 };
    owned(chars) char *line = NULL;
    owned(chars) char *aside = NULL;

    (void)state;
    open_scene(&scene);
    write_config(&scene);
    record = find_record(&scene, "transfer", "\"state\":\"live\"");
    line = text_format("repair --forget %s", record->id);
    aside = text_format("is set aside (id: missing, expected a string): `sluice journal repair "
                        "--forget %s` removes it\n",
                        record->id);
    put_back(&scene, NULL, NULL, true);
    expect_found(&scene, 2, line, "not set aside: the service ends it");
    put_back(&scene, record, "{}", true);
    expect_found(&scene, 2, "check", "(a repair mends it)");
    expect_found(&scene, 2, "repair", "cannot be read");
    expect_found(&scene, 2, "check", aside);
    expect_found(&scene, 2, "repair", aside); /* its claims need a person */
    expect_found(&scene, 0, line, "is released");
    expect_found(&scene, 0, "check", "nothing is wrong");
    if (start(&scene, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(operators(scene.rehearsal), 0);
    assert_false(is_named(scene.rehearsal, record));
    end(&scene);
    close_scene(&scene);
}

static void a_claim_that_is_lost_is_made_again(void **state)
{
    struct scene scene;
    sqlite3 *plain;

    (void)state;
    open_scene(&scene);
    write_config(&scene);
    put_back(&scene, NULL, NULL, true);
    plain = open_plain(&scene);
    assert_int_equal(sqlite3_exec(plain,
                                  "DELETE FROM claim WHERE name = (SELECT min(name) FROM claim)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(plain), SQLITE_OK);
    expect_found(&scene, 2, "check", "had lost it");
    expect_found(&scene, 0, "repair", "had lost it (mended)");
    expect_found(&scene, 0, "check", "nothing is wrong");
    close_scene(&scene);
}

/* A service has the journal; there is none; there is no such word. */
static void a_journal_in_use_is_left_alone(void **state)
{
    struct scene scene;
    struct error err = { 0 };
    owned(chars) char *lock_path = NULL;
    int lock;

    (void)state;
    open_scene(&scene);
    write_config(&scene);
    put_back(&scene, NULL, NULL, true);
    lock_path = beside(&scene, ".lock");
    lock = file_lock(lock_path, &err);
    assert_true(lock >= 0);
    for (int i = 0; i < 2; i++) {
        owned(said) struct said said = expect_code(scene.folder, 75,
                                                   i == 0 ? "journal check -c @/file.yaml"
                                                          : "journal repair -c @/file.yaml");

        assert_int_equal(said.out->length, 0);
    }
    close(lock);
    unlink(scene.path);
    owned(said) struct said none = expect_code(scene.folder, 1, "journal check -c @/file.yaml");
    owned(said) struct said word = expect_code(scene.folder, 64, "journal mend -c @/file.yaml");
    assert_non_null(strstr(none.err->chars, "journal.db"));
    assert_non_null(strstr(word.err->chars, "check or repair"));
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_is_damaged_in_turn),
        cmocka_unit_test(a_live_transfer_is_left_to_a_person),
        cmocka_unit_test(a_freeze_that_cannot_be_read_holds),
        cmocka_unit_test(an_effect_that_cannot_be_read_may_have_happened),
        cmocka_unit_test(what_is_wrong_is_found_and_mended),
        cmocka_unit_test(a_person_ends_what_was_set_aside),
        cmocka_unit_test(a_claim_that_is_lost_is_made_again),
        cmocka_unit_test(a_journal_in_use_is_left_alone),
    };

    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
