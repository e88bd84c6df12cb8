/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * As sbatch reads a script: options stand in lines that begin with #SBATCH, before the first line
 * that is neither empty nor a comment; a later one takes the place of an earlier one.
 */
#include "clusters/slurm/slurm_script.h"

#include "base/memory.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

static const char option[] = "--signal";

enum { NUMBER_MOST = 64, NUMBER_KILL = 9, NUMBER_STOP = 19 };

/* Those of Slurm 24.11, without KILL and STOP: no program can trap them, so that they end or stop
   the job instead of asking it. */
static const char *const names[] = {
    "HUP",  "INT",  "QUIT", "ABRT", "USR1", "USR2", "PIPE", "ALRM",
    "TERM", "CHLD", "CONT", "TSTP", "TTIN", "TTOU", "URG",  "XCPU"
};

/* "usr1", "SIGUSR1", "10".  False: unknown, or no program can trap it. */
static bool read_name(const char *chars, char out[SLURM_SIGNAL_SIZE])
{
    const char *bare = strncasecmp(chars, "SIG", 3) == 0 ? chars + 3 : chars;
    long long number;

    if (text_to_int(chars, 1, NUMBER_MOST, &number)) {
        text_print(out, SLURM_SIGNAL_SIZE, "%lld", number);
        return number != NUMBER_KILL && number != NUMBER_STOP;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcasecmp(bare, names[i]) == 0) {
            text_copy(out, SLURM_SIGNAL_SIZE, names[i]);
            return true;
        }
    return false;
}

/* "[{R|B}:]SIGNAL[@SECONDS]".  The seconds are before the job's end, which a requeue does not wait
   for.  False: it is something else. */
static bool read_value(const char *value, struct slurm_signal *ret)
{
    const char *colon = strchr(value, ':');
    const char *bare = colon ? colon + 1 : value;
    const char *at = strchr(bare, '@') ?: bare + strlen(bare);
    owned(chars) char *name = text_format("%.*s", (int)(at - bare), bare);
    size_t flags = strspn(value, "RrBb");
    struct slurm_signal signal = { .is_for_steps = true };

    if (colon && flags != (size_t)(colon - value))
        return false;
    if (*at == '@' && strspn(at + 1, "0123456789") != strlen(at + 1))
        return false;
    if (!read_name(name, signal.name))
        return false;
    if (colon && strcspn(value, "Bb") < flags)
        signal.is_for_steps = false;
    *ret = signal;
    return true;
}

/* The next word of a line, without its quotes; NULL: there is none, or a comment begins.  The
   caller frees it. */
static char *next_word(const char **at, const char *end)
{
    struct text *word;
    char quote = '\0';

    while (*at < end && strchr(" \t\r", **at))
        (*at)++;
    if (*at == end || **at == '#')
        return NULL;
    word = text_new(TEXT_UNBOUNDED);
    for (; *at < end && (quote != '\0' || !strchr(" \t\r", **at)); (*at)++) {
        if (quote == '\0' && (**at == '"' || **at == '\''))
            quote = **at;
        else if (**at == quote)
            quote = '\0';
        else
            text_add(word, "%c", **at);
    }
    return text_take(word);
}

/* One line of options.  False: the options of another component of a heterogeneous job follow. */
static bool read_line(const char *at, const char *end, struct slurm_signal *signal)
{
    bool is_value = false;
    char *word;

    while ((word = next_word(&at, end))) {
        bool is_end = text_equal(word, "hetjob") || text_equal(word, "packjob");

        if (is_value)
            (void)read_value(word, signal);
        else if (text_starts_with(word, option) && word[strlen(option)] == '=')
            (void)read_value(word + sizeof option, signal);
        is_value = text_equal(word, option);
        mem_free(word);
        if (is_end)
            return false;
    }
    return true;
}

struct slurm_signal slurm_script_signal(const char *script)
{
    static const char mark[] = "#SBATCH";
    struct slurm_signal signal = { .name = "" };

    for (const char *at = script; *at;) {
        const char *end = at + strcspn(at, "\n");
        const char *first = at + strspn(at, " \t\r");

        if (text_starts_with(at, mark)) {
            if (!read_line(at + strlen(mark), end, &signal))
                break;
        } else if (first < end && *first != '#') {
            break;
        }
        at = end + (*end != '\0');
    }
    return signal;
}

bool slurm_script_is_one(const char *text)
{
    return text_starts_with(text, "#!");
}
