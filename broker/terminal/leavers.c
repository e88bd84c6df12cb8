/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See leavers.h.
 */
#include "broker/terminal/leavers.h"

#include "base/input/json.h"
#include "base/timestamp.h"

#include <inttypes.h>

enum { BLOCKERS_SHOWN = 3 };

/* The number of blockers of each verdict, and the longest of the expected times. */
struct tally {
    int never;
    int slow;
    int notes;
    int64_t longest_s;
};

static void count(struct tally *tally, const json_t *blocker)
{
    const char *verdict = json_text_or(blocker, "verdict", "");
    int64_t expected_s = json_int_or(blocker, "expected_s", 0);

    tally->never += text_equal(verdict, "never");
    tally->slow += text_equal(verdict, "slow");
    tally->notes += text_equal(verdict, "note");
    if (expected_s > tally->longest_s)
        tally->longest_s = expected_s;
}

static void print_blocker(const json_t *blocker, struct text *out)
{
    const char *owner = json_text_or(blocker, "owner", "");
    const char *words = json_text_or(blocker, "text", "");
    const char *server = json_text_or(blocker, "server", words);
    char expected[DURATION_TEXT_SIZE];

    text_add(out, "      %-5s  %s (%s%s%s): %s", json_text_or(blocker, "verdict", "-"),
             json_text_or(blocker, "pod", "-"), json_text_or(blocker, "class", "-"),
             owner[0] ? " " : "", owner, words);
    if (json_at(blocker, "expected_s"))
        text_add(out, "; gone %s after the cordon at most",
                 duration_format(json_int_or(blocker, "expected_s", 0) * SECOND_MS, expected));
    if (!text_equal(words, server))
        text_add(out, "\n             its server: %s", server);
    text_add(out, "\n             to do: %s\n", json_text_or(blocker, "advice", "-"));
}

void leavers_blockers(const json_t *blockers, struct text *out)
{
    const json_t *blocker;
    size_t i;

    json_array_foreach(blockers, i, blocker)
        print_blocker(blocker, out);
}

static void print_blockers(const json_t *blockers, struct tally *all, struct text *out)
{
    struct tally mine = { 0 };
    const json_t *blocker;
    int holds;
    size_t i;

    json_array_foreach(blockers, i, blocker) {
        count(&mine, blocker);
        count(all, blocker);
        if (i < BLOCKERS_SHOWN && mine.notes == 0)
            print_blocker(blocker, out);
    }
    holds = mine.never + mine.slow;
    require(mine.never <= all->never && mine.slow <= all->slow);
    if (holds > BLOCKERS_SHOWN)
        text_add(out, "      and %d more that hold it (-o json)\n", holds - BLOCKERS_SHOWN);
}

/* Prints what the dry runs could not find out, and nothing if they found all. */
static void print_dry_runs(const json_t *answer, struct text *out)
{
    const json_t *names = json_at(answer, "dry_runs/unheard");
    const json_t *name;
    size_t i;

    if (json_int_or(answer, "dry_runs/unanswered", 0) > 0)
        text_add(out, "dry runs: %" PRId64 " evictions asked about, %" PRId64 " not answered\n",
                 json_int_or(answer, "dry_runs/asked", 0),
                 json_int_or(answer, "dry_runs/unanswered", 0));
    json_array_foreach(names, i, name)
        text_add(out, "dry runs: cluster %s could not be asked in time, or knows none\n",
                 json_string_value(name));
}

void leavers_print(const json_t *answer, struct text *out)
{
    struct tally all = { 0 };
    char longest[DURATION_TEXT_SIZE];
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        text_add(out, "  > node %s  %s -> %s  loses %.1f GPU-h%s\n", json_text_or(row, "node", "-"),
                 json_text_or(row, "from", "-"), json_text_or(row, "to", "-"),
                 json_number_value(json_object_get(row, "lost_gpu_hours")),
                 json_bool_or(row, "is_emergency", false) ? "  (reclaim)" : "");
        print_blockers(json_object_get(row, "blockers"), &all, out);
    }
    if (all.never + all.slow + all.notes > 0)
        text_add(
            out, "blockers: %d never, %d slow, %d notes (-o json); the longest that is known %s\n",
            all.never, all.slow, all.notes, duration_format(all.longest_s * SECOND_MS, longest));
    print_dry_runs(answer, out);
}
