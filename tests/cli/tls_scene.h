/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A service whose TLS port is asked by curl, with certificates that openssl made.
 */
#pragma once

#include "tests/cli/door_scene.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* NAME AUTHORITY SUBJECT-ALTERNATIVE-NAME: a certificate and its key. */
static const char tls_issue[] =
    "set -e; cd \"$1\"; mkdir -p certificates\n"
    "authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    " -subj \"/CN=$1\" -keyout $1.key -out $1.pem; }\n"
    "issue() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days ${4:-2}"
    " -subj \"/CN=$1\" -CA $2.pem -CAkey $2.key -addext basicConstraints=critical,CA:FALSE"
    " ${3:+-addext} ${3:+$3} ${5:+-addext} ${5:+$5} -keyout $1.key -out $1.pem; }\n"
    /* Of the company's two authorities only one is for people who may ask. */
    "below() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    " -subj \"/CN=$1\" -CA $2.pem -CAkey $2.key -addext basicConstraints=critical,CA:TRUE"
    " -keyout $1.key -out $1.pem; }\n"
    "authority machines; authority company; authority strangers\n"
    "below people company; below visitors company\n"
    "issue server machines subjectAltName=IP:127.0.0.1,DNS:sluice.test\n"
    "issue ada people subjectAltName=DNS:laptop.example.com,email:ada@example.com\n"
    "issue ben people subjectAltName=URI:https://example.com/oncall\n"
    "issue carol people\n"
    "issue dave people\n"
    "issue robot people subjectAltName=IP:10.0.0.7\n"
    "issue server-only people '' 2 extendedKeyUsage=serverAuth\n"
    "issue mallory strangers subjectAltName=email:ada@example.com\n"
    "issue trudy visitors subjectAltName=email:ada@example.com\n"
    "cat visitors.pem company.pem >> trudy.pem\n"
    "for name in none viewer operator dispatcher admin; do issue role-$name people; done\n"
    "chmod 600 *.key\n";

static inline void run(const char *script, const char *folder)
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

        dup2(fd, 2);
        execlp("sh", "sh", "-c", script, "sh", folder, NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static inline bool has_programs(void)
{
    const char *const paths[] = { "/usr/bin/curl", "/usr/bin/openssl" };

    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (access(paths[i], X_OK) < 0)
            return false;
    return true;
}

static inline void make_certificates(const char *folder)
{
    run(tls_issue, folder);
}

/* curl's answer with the status as its last line. */
static inline char *ask_curl(struct scene *scene, const char *words)
{
    owned(chars) char *line = text_format(
        "cd '%s'; curl -sS --max-time 60 -w '\n%%{http_code}' --cacert machines.pem --resolve "
        "'*:%d:127.0.0.1' %s 2>&1",
        scene->folder, doors_tls_port(scene->doors), words);

    return run_beside(scene, line);
}

/* "@" in words stands for https://sluice.test:PORT. */
static inline char *ask(struct scene *scene, const char *words)
{
    owned(text) struct text *line = text_new(TEXT_UNBOUNDED);

    for (const char *at = words; *at; at++)
        if (*at == '@')
            text_add(line, "https://sluice.test:%d", doors_tls_port(scene->doors));
        else
            text_add_bytes(line, at, 1);
    return ask_curl(scene, line->chars);
}

#define AS(name) "--cert " name ".pem --key " name ".key "
#define JSON "-H 'Content-Type: application/json' "
#define FREEZE JSON "-d '{\"for_s\":3600,\"reason\":\"r\"}' @/v1/freeze"

/* Within one second the same freeze of another person changes nothing, and the first one stands. */
#define LONGER_FREEZE JSON "-d '{\"for_s\":7200,\"reason\":\"r\"}' @/v1/freeze"
