/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See watch.h.
 */
#include "broker/terminal/watch.h"

#include "base/input/json.h"
#include "broker/terminal/client.h"
#include "broker/terminal/output.h"
#include "broker/terminal/screen.h"
#include "broker/terminal/times.h"

#include <stdio.h>
#include <unistd.h>

enum { LOOK_MS = 2 * SECOND_MS };

/* For programs: each answer on a line of its own. */
static int print_lines(const struct command_call *call, const struct config *config,
                       const struct watched *watched)
{
    for (;;) {
        struct error err = { 0 };
        owned(json) json_t *answer = client_ask(config, HTTP_GET, watched->path, NULL, &err);
        owned(chars) char *line = answer ? json_print(answer) : NULL;

        if (!answer)
            return client_fail(call, &err);
        printf("%s\n", line);
        if (fflush(stdout) != 0 || ferror(stdout))
            return EXIT_ERROR;
        client_rest(LOOK_MS);
    }
}

static void draw(struct screen *screen, const struct watched *watched, const json_t *answer,
                 bool is_open, const struct error *err)
{
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    owned(chars) char *local = NULL;

    if (err->kind != ERROR_NONE)
        text_add(out, "NO ANSWER       %s; below is the last answer\n", err->text);
    watched->draw(answer, (struct watch_view){ is_open, screen_columns(screen) }, out);
    local = times_local(out->chars);
    text_reset(out);
    text_add(out, "%s", local);
    screen_show(screen, out, watched->is_tail);
}

static int draw_screens(struct screen *screen, const struct config *config,
                        const struct watched *watched, json_t *answer)
{
    owned(json) json_t *last = answer;
    enum screen_key key = SCREEN_OTHER;
    struct error err = { 0 };
    bool is_open = false;

    while (key != SCREEN_QUIT) {
        if (key == SCREEN_NONE) {
            struct error why = { 0 };
            json_t *next = client_ask(config, HTTP_GET, watched->path, NULL, &why);

            err = why;
            if (next) {
                json_decref(last);
                last = next;
            }
        }
        is_open ^= key == SCREEN_OPEN;
        draw(screen, watched, last, is_open, &err);
        key = screen_wait(screen, LOOK_MS);
    }
    return EXIT_DONE;
}

int watch_run(const struct command_call *call, const struct config *config,
              const struct watched *watched)
{
    struct error err = { 0 };
    struct screen *screen;
    json_t *answer;
    int code;

    if (client_wants_json(call) || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return print_lines(call, config, watched);
    answer = client_ask(config, HTTP_GET, watched->path, NULL, &err);
    if (!answer)
        return client_fail(call, &err);
    screen = screen_open(STDOUT_FILENO, STDIN_FILENO, output_has_colors(call));
    if (!screen) {
        json_decref(answer);
        return print_lines(call, config, watched);
    }
    code = draw_screens(screen, config, watched, answer);
    screen_close(screen);
    return code;
}
