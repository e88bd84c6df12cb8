/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See real_server.h.
 */
#include "tests/slurm/real_server.h"

#include "base/text.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_LIMIT = 64 << 20 };

char *real_server_run(const struct real_server *server, const char *line)
{
    owned(chars) char *command = text_format("'%s/run' \"$LINE\" 2>&1", server->folder);
    struct text *out = text_new(OUTPUT_LIMIT);
    char bytes[4096];
    size_t size;
    FILE *pipe;

    assert_int_equal(setenv("LINE", line, 1), 0);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    while ((size = fread(bytes, 1, sizeof bytes, pipe)) > 0)
        text_add_bytes(out, bytes, size);
    (void)pclose(pipe);
    return text_take(out);
}

void real_server_do(const struct real_server *server, const char *verb, const char *rest)
{
    owned(chars) char *line = text_format(
        "SLUICE_FEATURE=ephemeral '%s/tests/slurm/server' %s '%s' %s >>'%s' 2>&1", SLUICE_SOURCE,
        verb, server->folder, rest, server->log);

    assert_int_equal(system(line), 0);
}

json_t *real_server_list(const struct real_server *server, const char *line, const char *name)
{
    owned(chars) char *chars = real_server_run(server, line);
    owned(json) json_t *body = json_loads(chars, 0, NULL);
    json_t *list = json_object_get(body, name);

    if (!json_is_array(list))
        fail_msg("%s: %.300s", line, chars);
    return json_incref(list);
}

/* A drained node counts as idle for sinfo's own filter, so the states are read. */
int real_server_serving(const struct real_server *server)
{
    owned(chars) char *lines = real_server_run(server, "sinfo -h -N -p train -o %T");
    int count = 0;

    for (const char *at = lines; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        count += text_starts_with(at, "idle") || text_starts_with(at, "mixed") ||
                 text_starts_with(at, "allocated");
    return count;
}
