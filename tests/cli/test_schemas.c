/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What programs read.  The published schemas (docs/schemas): each command has one, each says the
 * type of all its members, and what the acts of people answer fits; the answers of other commands
 * are checked wherever a test gives them (said.h).  CSV and names of commands whose table is a
 * page.
 */
#include "base/file.h"
#include "tests/cli/programs.h"

#include <stdio.h>

/* Commands that have no schema. */
static const struct {
    const char *command;
    const char *why;
} exceptions[] = {
    { "serve", "it answers nothing" },
};

/* Answers of routes that no command shows. */
static const char *const routes[] = { "day", "whoami" };

static bool is_excepted(const char *command)
{
    for (size_t i = 0; i < COUNT_OF(exceptions); i++)
        if (text_equal(exceptions[i].command, command))
            return true;
    return false;
}

static bool has_schema(const char *name)
{
    owned(chars) char *path = schema_path(name);

    return file_exists(path);
}

/* Some commands have schemas by a word alone, such as `config show`. */
static bool has_schema_by_word(const char *command)
{
    for (size_t i = 0; i < COUNT_OF(schema_names); i++)
        if (text_equal(schema_names[i].command, command) &&
            text_equal(schema_names[i].name, command))
            return false;
    for (size_t i = 0; i < COUNT_OF(schema_names); i++)
        if (text_equal(schema_names[i].command, command) && schema_names[i].name)
            return has_schema(schema_names[i].name);
    return false;
}

static void each_command_has_a_schema(void **state)
{
    (void)state;
    for (const struct command *command = sluice_commands.children; command->name; command++) {
        bool has_one = has_schema(command->name) || has_schema_by_word(command->name);

        if (has_one == is_excepted(command->name))
            fail_msg("docs/schemas/v1/%s.json is %s", command->name,
                     has_one ? "there, and excepted" : "missing");
    }
    for (size_t i = 0; i < COUNT_OF(schema_names); i++)
        if (schema_names[i].name && !has_schema(schema_names[i].name))
            fail_msg("docs/schemas/v1: there is no schema of %s", schema_names[i].name);
}

/* Whether a command or a route answers so. */
static bool is_answer(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (text_equal(routes[i], name))
            return true;
    for (size_t i = 0; i < COUNT_OF(schema_names); i++)
        if (text_equal(schema_names[i].name, name))
            return true;
    for (const struct command *command = sluice_commands.children; command->name; command++)
        if (text_equal(command->name, name))
            return true;
    return false;
}

static bool is_type(const json_t *types)
{
    static const char *const known[] = { "object", "array",   "string", "integer",
                                         "number", "boolean", "null" };
    const json_t *type;
    size_t i;
    size_t good = 0;

    json_array_foreach(types, i, type)
        for (size_t k = 0; k < COUNT_OF(known); k++)
            good += text_equal(known[k], json_string_value(type));
    return good == json_array_size(types) && good > (size_t)schema_has(types, "null");
}

/* Other programs read the files, too: nothing may stand there that only our tests understand. */
static void check_types(const json_t *schema, const struct schema_place *place, bool is_member)
{
    const json_t *types = json_object_get(schema, "type");
    const json_t *items = json_object_get(schema, "items");
    const char *key;
    json_t *member;

    if (!is_type(types))
        schema_refuse(place, "has no type");
    if (is_member && !text_equal(place->key, "api_version") && !schema_has(types, "null"))
        schema_refuse(place, "cannot be null, which each member may be");
    if (schema_has(types, "array") != (items != NULL))
        schema_refuse(place, "needs items if it is a list, and only then");
    if (schema_has(types, "object") !=
        (json_object_get(schema, "properties") || schema_of_any(schema)))
        schema_refuse(place, "needs members if it is an object, and only then");
    json_object_foreach(json_object_get(schema, "properties"), key, member)
        check_types(member, &(struct schema_place){ place, key }, true);
    if (schema_of_any(schema))
        check_types(schema_of_any(schema), &(struct schema_place){ place, "*" }, true);
    if (items)
        check_types(items, &(struct schema_place){ place, NULL }, false);
}

static void each_schema_says_the_type_of_all_members(void **state)
{
    struct error err = { 0 };
    struct file_list list;

    (void)state;
    assert_int_equal(file_list(SLUICE_SOURCE "/docs/schemas/v1", ".json", &list, &err), 0);
    for (size_t i = 0; i < list.count; i++) {
        owned(chars) char *path = text_format(SLUICE_SOURCE "/docs/schemas/v1/%s", list.names[i]);
        owned(json) json_t *schema = schema_read(path, &err);
        const char *title = json_text_or(schema, "title", "");
        owned(chars) char *named = schema_path(title);
        const json_t *key;
        size_t at;

        if (!text_equal(path, named) || !is_answer(title))
            fail_msg("%s: \"%s\" is another file, or no answer of that name is known", path, title);
        check_types(schema, &(struct schema_place){ NULL, title }, false);
        json_array_foreach(json_object_get(schema, "required"), at, key)
            if (!json_object_get(json_object_get(schema, "properties"), json_string_value(key)))
                fail_msg("%s: requires %s, which it does not have", path, json_string_value(key));
        if (!schema_has(json_object_get(schema, "required"), "api_version"))
            fail_msg("%s: does not require api_version", path);
    }
    file_list_free(&list);
}

static json_t *ask(int code, const char *line)
{
    owned(chars) char *full = text_format("%s -o json -c @/sluice.yaml", line);
    owned(said) struct said said = expect_code(folder, code, full);
    struct error err = { 0 };
    json_t *answer = json_parse(said.out->chars, said.out->length, line, &err);

    if (!answer)
        fail_msg("sluice %s: %s", line, err.text);
    return answer;
}

static void play(int code, const char *line)
{
    owned(json) json_t *answer = ask(code, line);

    assert_non_null(answer);
}

/* The member of the list's first row, as soon as there is one. */
static char *await_first(const char *line, const char *list, const char *member)
{
    for (int64_t end_ms = now_ms() + START_MS; now_ms() < end_ms; pause_a_little()) {
        owned(json) json_t *answer = ask(0, line);
        const json_t *row = json_array_get(json_object_get(answer, list), 0);

        if (row)
            return mem_copy_chars(json_text_or(row, member, "-"));
    }
    fail_msg("sluice %s: %s stays empty", line, list);
    return NULL;
}

/* A webhook without a receiver. */
static void add_webhook(void)
{
    owned(chars) char *path = text_format("%s/sluice.yaml", folder);
    owned(text) struct text *text = said_file(folder, "sluice.yaml");

    text_add(text, "webhooks:\n  oncall: {url: 'http://127.0.0.1:1/x', format: slack}\n");
    mem_free(test_folder_write(folder, "sluice.yaml", text->chars));
}

static pid_t programs[2]; /* the simulator, the service */

static int open_world(void **state)
{
    (void)state;
    folder = test_folder_new();
    programs[0] = start_simulator();
    add_webhook();
    programs[1] = start_service();
    return await_service() ? 0 : -1;
}

static int close_world(void **state)
{
    int code = end_program(programs[1]);

    (void)state;
    if (end_program(programs[0]) != 0 || code != 0)
        return -1;
    test_folder_free(folder);
    return 0;
}

/* What programs read of commands whose table is a page. */
static const struct {
    int code;
    const char *line;
    const char *begins;
    const char *says;
    const char *lacks;
} forms[] = {
    { 0, "status -o csv", "cluster,role,nodes,", "\r\nresearch-a,research,", "[" },
    { 0, "status -o csv --no-headers", "prod-a,production,", "\r\nresearch-a,", "cluster," },
    { 0, "status -o name", "prod-a\nresearch-a\n", "", "cluster" },
    { 0, "status -o wide --no-headers", "", "research-a-east  research-a  us-east5-a", "CLUSTER" },
    { 2, "plan --exit-code -o csv", "node,from,to,", ",research-a-east,prod-a-east,", "Plan:" },
    { 0, "plan -o csv --no-headers", "", ",research-a-east,prod-a-east,", "node," },
    { 0, "plan -o name", "", "\n", "east," },
    { 0, "plan --no-headers", "window ", "\nPlan: 2 nodes to move now", "WANTED" },
    { 0, "windows -o csv", "window,days,from,to,within,", "\r\nnight,MTWTFSS,", "time zone" },
    { 0, "windows -o csv --no-headers", "day,MTWTFSS,", "\r\nnight,", "days" },
    { 0, "windows -o name", "day\nnight\n", "", "MTWTFSS" },
    { 0, "windows --no-headers", "day  ", "\ntime zone    ", "WITHIN" },
    { 0, "doctor -o csv", "part,name,verdict,", "\r\ncluster,prod-a,right,", "findings" },
    { 0, "doctor --all --no-headers", "cluster ", " 0 wrong, ", "VERDICT" },
    { 0, "audit -o csv", "seq,at,who,act,", ",schedules_applied,", "ACT" },
    { 0, "audit -o csv --no-headers", "", ",schedules_applied,", "reason" },
};

static void pages_have_forms_for_programs(void **state)
{
    (void)state;
    play(0, "apply");
    write_schedules(8);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        owned(chars) char *line = text_format("%s -c @/sluice.yaml", forms[i].line);
        owned(said) struct said said = expect_code(folder, forms[i].code, line);

        if (!text_starts_with(said.out->chars, forms[i].begins) ||
            !strstr(said.out->chars, forms[i].says) || strstr(said.out->chars, forms[i].lacks))
            fail_msg("sluice %s:\n%s", forms[i].line, said.out->chars);
    }
    write_schedules(6);
}

static void acts_fit_their_schemas(void **state)
{
    (void)state;
    play(0, "doctor");
    play(0, "windows");
    play(0, "windows --at 2026-11-17T12:12:05Z --check-year 2026");
    play(0, "apply");
    write_schedules(8);
    play(0, "plan");
    play(0, "apply");

    owned(chars) char *node = await_first("transfers", "transfers", "node");
    owned(chars) char *transfer = await_first("transfers", "transfers", "transfer");
    static const struct {
        int code;
        const char *line; /* % is the node, # the transfer */
    } acts[] = {
        /* first what must come before the transfer ends */
        { 0, "hold % --for 10m --reason x" },
        { 0, "status" },
        { 0, "transfers #" },
        { 0, "abort # --for 1h --reason x" },
        { 0, "departures" },
        { 0, "status" },
        { 0, "resume %" },
        { 0, "transfers #" },
        { 0, "freeze --node % --for 1h --reason x" },
        { 0, "plan" },
        { 0, "status" },
        { 0, "unfreeze --node %" },
        { 5, "wait --for settled --timeout 1s" },
        { 0, "reclaim --to prod-a --nodes 1 --reason x" },
        { 0, "plan --in-force" },
        { 0, "webhooks" },
        { 1, "webhooks test oncall" },
        { 0, "events" },
        { 0, "audit" },
        { 0, "leads" },
        { 0, "reload" },
    };
    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        owned(text) struct text *line = text_new(TEXT_UNBOUNDED);

        for (const char *at = acts[i].line; *at; at++)
            text_add(line, *at == '%' || *at == '#' ? "%s" : "%.1s",
                     *at == '%'   ? node
                     : *at == '#' ? transfer
                                  : at);
        play(acts[i].code, line->chars);
    }

    owned(chars) char *id = await_first("reclaim list", "reclaims", "id");
    owned(chars) char *end = text_format("reclaim end %s --reason x", id);

    play(0, end);
    play(0, "reclaim list --all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_forms_for_programs),
        cmocka_unit_test(acts_fit_their_schemas),
        cmocka_unit_test(each_command_has_a_schema),
        cmocka_unit_test(each_schema_says_the_type_of_all_members),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, open_world, close_world);
}
