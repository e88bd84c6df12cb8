/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * conformance [KUBECONFIG [BROKER PID]]: plays the cases on the simulator, or on the API server of
 * the kubeconfig, where the product has the rights of another (and whose controller manager is the
 * process).  Without a server the table of README.md is checked, too.  SLUICE_CASE=T12 plays one.
 */
#include "base/file.h"
#include "base/log.h"
#include "tests/conformance/conformance.h"
#include "tests/support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

static struct stage_choice choice;

static void play(void **state)
{
    const struct conformance_case *it = *state;
    struct stage *stage = stage_open(&choice, it->id);

    it->play(stage);
    stage_close(stage);
}

/* If a whole transfer is played only on the simulator, the case's requests on real servers prove
   only the verbs. */
static const char *on_real(const struct conformance_case *it)
{
    if (it->on_real)
        return "yes";
    if (!it->play || !(it->where & ON_REAL))
        return "no";
    return it->elsewhere ? "verbs" : "yes";
}

static void add_place(struct text *out, const char *before, const char *place)
{
    const char *space = strchr(place, ' ');

    text_add(out, "%s%.*s: `%s`", before, (int)(space - place), place, space + 1);
}

static void add_row(struct text *out, const struct conformance_case *it)
{
    bool on_simulator = (it->play && it->where & ON_SIMULATOR) || it->elsewhere;

    text_add(out, "| %s | %s | %s | %s | ", it->id, it->what, on_simulator ? "yes" : "no",
             on_real(it));
    if (it->elsewhere)
        add_place(out, "", it->elsewhere);
    if (it->on_real)
        add_place(out, it->elsewhere ? ". " : "", it->on_real);
    text_add(out, "%s%s |\n", it->note && (it->elsewhere || it->on_real) ? ". " : "",
             it->note ?: "");
}

static void the_table_is_this_one(void **state)
{
    owned(text) struct text *out = text_new(64 * 1024);

    (void)state;
    text_add(
        out, "%s",
        "# Conformance\n\n"
        "This page lists what sluice relies on in Kubernetes. A case is a function that sends "
        "sluice's\n"
        "own requests (`clusters/`). It runs on the simulator's API server (`test_conformance`, "
        "in\n"
        "`tools/test`), and on a real kube-apiserver with its controllers, etcd and kwok\n"
        "(`tools/test real`, see `tests/real/control_plane`; kwok plays the kubelets). So\n"
        "the tests show that the simulator is as strict as a real server. If a case needs a cloud "
        "or a\n"
        "whole transfer, another test plays it; the last column names that test.\n\n"
        "| column \"real\" | meaning |\n|---|---|\n"
        "| `yes` | the whole case runs on real API servers, if need be with the simulator's cloud "
        "|\n"
        "| `verbs` | only the case's requests run on real servers, each by itself; the whole "
        "transfer runs on the simulator |\n"
        "| `no` | the case runs only on the simulator |\n\n"
        "A test checks that each named test exists.\n\n"
        "To write this page again from the table (`table.c`), run `test_conformance` with\n"
        "`SLUICE_ACCEPT_GOLDENS=1` in the environment.\n\n"
        "| case | what | simulator | real | where else, and what was found |\n"
        "|---|---|---|---|---|\n");
    for (size_t i = 0; i < conformance_case_count; i++)
        add_row(out, &conformance_cases[i]);
    golden_check("conformance/README.md", out->chars);
}

/* The test that a case names exists: its name is in the file. */
static void check_place(const char *id, const char *place)
{
    const char *space = place ? strchr(place, ' ') : NULL;
    struct error err = { 0 };

    if (!place)
        return;

    owned(chars) char *path = text_format("%s/%.*s", SLUICE_SOURCE, (int)(space - place), place);
    owned(text) struct text *file = file_read(path, FILE_LIMIT, &err);

    if (!file || !strstr(file->chars, space + 1))
        fail_msg("%s: %s is not there", id, place);
}

/* All cases are there, in order, and each is played here or in an existing test. */
static void the_table_is_right(void **state)
{
    (void)state;
    assert_int_equal(conformance_case_count, 62);
    for (size_t i = 0; i < conformance_case_count; i++) {
        const struct conformance_case *it = &conformance_cases[i];
        owned(chars) char *id = text_format("T%zu", i + 1);

        assert_string_equal(it->id, id);
        assert_true(!it->play == !it->where);
        if (!(it->play && it->where & ON_SIMULATOR) && !it->elsewhere)
            fail_msg("%s is played nowhere", id);
        check_place(id, it->elsewhere);
        check_place(id, it->on_real);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest of_the_table[] = {
        cmocka_unit_test(the_table_is_this_one),
        cmocka_unit_test(the_table_is_right),
    };
    struct CMUnitTest *tests;
    const char *only = getenv("SLUICE_CASE");
    size_t count = argc > 1 || only ? 0 : COUNT_OF(of_the_table);
    int failures;
    long long pid = 0;

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    if (argc == 3 || argc > 4 || (argc == 4 && !text_to_int(argv[3], 1, INT32_MAX, &pid))) {
        fprintf(stderr, "usage: test_conformance [KUBECONFIG [BROKER_KUBECONFIG"
                        " PID_OF_CONTROLLER_MANAGER]]\n");
        return 64;
    }
    choice = (struct stage_choice){ argc > 1 ? argv[1] : NULL, argc > 3 ? argv[2] : NULL,
                                    (pid_t)pid };
    tests = mem_new_array(COUNT_OF(of_the_table) + conformance_case_count, sizeof *tests);
    memcpy(tests, of_the_table, sizeof of_the_table);
    for (size_t i = 0; i < conformance_case_count; i++) {
        const struct conformance_case *it = &conformance_cases[i];

        if (!it->play || !(it->where & (choice.kubeconfig ? ON_REAL : ON_SIMULATOR)) ||
            (only && !text_equal(only, it->id)))
            continue;
        tests[count++] = (struct CMUnitTest){
            .name = it->id,
            .test_func = play,
            .initial_state = (void *)(uintptr_t)it,
        };
    }
    failures = _cmocka_run_group_tests(choice.kubeconfig ? "real" : "simulator", tests, count, NULL,
                                       NULL);
    mem_free(tests);
    return failures;
}
