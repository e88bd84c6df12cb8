/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_scripts.h.  Of a job that is not there scontrol prints nothing, and has exit status 0.
 */
#include "clusters/slurm/slurm_scripts.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

enum { TRIES_MOST = 3 /* of a question that got no answer */ };

struct slurm_scripts {
    struct slurm_client *client;
    void (*news)(void *context);
    void *context;
    struct map *by_key;
    char *asked; /* key of the one that is being read; NULL: none */
};

static void script_free(void *value)
{
    struct slurm_script *script = value;

    mem_free(script->why);
    mem_free(script->job);
    mem_free(script);
}

struct slurm_scripts *slurm_scripts_new(struct slurm_client *client, void (*news)(void *context),
                                        void *context)
{
    struct slurm_scripts *scripts = mem_new(sizeof *scripts);

    *scripts = (struct slurm_scripts){ .client = client, .news = news, .context = context };
    scripts->by_key = map_new(script_free);
    return scripts;
}

void slurm_scripts_free(struct slurm_scripts *scripts)
{
    if (!scripts)
        return;
    map_free(scripts->by_key);
    mem_free(scripts->asked);
    mem_free(scripts);
}

static void answered(void *context, const struct slurm_answer *answer, const struct error *err);

static void ask_next(struct slurm_scripts *scripts)
{
    const char *key;
    void *value;

    for (size_t i = 0; !scripts->asked && map_next(scripts->by_key, &i, &key, &value);) {
        struct slurm_script *script = value;
        const struct slurm_blanks blanks = { .job = script->job };

        if (script->is_known)
            continue;
        script->tries++;
        scripts->asked = mem_copy_chars(key);
        slurm_ask(scripts->client, SLURM_READ_SCRIPT, &blanks, answered, scripts);
    }
}

static bool is_passing(const struct error *err)
{
    return err->kind == ERROR_TRANSIENT || err->kind == ERROR_THROTTLED ||
           err->kind == ERROR_UNKNOWN_OUTCOME;
}

/* The job may be gone meanwhile: then no entry waits for this. */
static void answered(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct slurm_scripts *scripts = context;
    owned(chars) char *key = steal(&scripts->asked);
    struct slurm_script *script = map_get(scripts->by_key, key);
    bool is_read = answer && slurm_script_is_one(answer->text);

    if (script && (answer || !is_passing(err) || script->tries >= TRIES_MOST)) {
        script->is_known = true;
        if (is_read)
            script->signal = slurm_script_signal(answer->text);
        else
            script->why = mem_copy_chars(err ? err->text : "scontrol printed no script");
        if (script->why)
            log_warn("script_unread", FIELD_TEXT("job", script->job),
                     FIELD_TEXT("text", script->why));
    }
    if (script && !script->is_known) /* the next slurm_scripts_ask() tries again */
        return;
    ask_next(scripts);
    scripts->news(scripts->context);
}

void slurm_scripts_ask(struct slurm_scripts *scripts, const char *job, const char *key)
{
    struct slurm_script *script;

    if (!map_get(scripts->by_key, key)) {
        script = mem_new(sizeof *script);
        script->job = mem_copy_chars(job);
        map_set(scripts->by_key, key, script);
    }
    ask_next(scripts);
}

const struct map *slurm_scripts_read(const struct slurm_scripts *scripts)
{
    return slurm_client_command(scripts->client, SLURM_READ_SCRIPT) ? scripts->by_key : NULL;
}

void slurm_scripts_keep(struct slurm_scripts *scripts, const struct map *keys)
{
    const char *key;

    for (size_t i = 0; map_next(scripts->by_key, &i, &key, NULL);)
        if (!map_get(keys, key))
            (void)map_remove(scripts->by_key, key);
}
