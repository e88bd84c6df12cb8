/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice-simulator: the simulated world behind real sockets, until it is told to stop.
 */
#include "tools/simulator/command.h"

#include "base/file.h"
#include "tools/simulator/model/simulator.h"
#include "tools/simulator/rehearse.h"

#include <stdio.h>
#include <string.h>

enum { PEM_LIMIT = 64 << 10 };

static const struct command_option options[] = {
    { "config", 'c', "FILE", "sluice.yaml: clusters, reservations, pools, workloads", false },
    { "world", 'w', "FILE", "world.yaml: sizes, latencies, jobs, demand, faults", false },
    { "rehearse", 0, "FOLDER",
      "rehearse that sluice.yaml: write world.yaml and a sluice.yaml of the simulator there",
      false },
    { "port", 'p', "PORT", "port on 127.0.0.1; default: any", false },
    { "write-kubeconfigs", 0, "FOLDER",
      "write NAME.kubeconfig for each cluster, and admin.kubeconfig for kubectl", false },
    { "tls", 0, NULL,
      "serve TLS too, which kubectl needs; its certificate is written into that folder", false },
    { "tls-port", 0, "PORT", "port of TLS on 127.0.0.1; default: any", false },
    { "report", 0, "FILE", "write the report there at the end", false },
    { "for", 0, "DURATION", "end after that long", false },
    { 0 },
};

static void end(void *context)
{
    loop_stop(context);
}

static int write_report(struct simulator *simulator, const char *path, struct error *err)
{
    owned(json) json_t *report = simulator_report(simulator);
    owned(chars) char *chars = json_print_pretty(report);

    return file_write(path, chars, strlen(chars), 0644, err);
}

enum { REHEARSAL_PORT = 8900 };

/* Where the kubeconfigs go; NULL: nowhere. */
static const char *folder_of(const struct command_call *call)
{
    return call_text(call, "write-kubeconfigs") ?: call_text(call, "rehearse");
}

/* The port of plain http; 0: any. */
static int read_port(const struct command_call *call, int *ret_port, struct error *err)
{
    int64_t port = call_text(call, "rehearse") ? REHEARSAL_PORT : 0;

    if (call_int(call, "port", (struct int_range){ 0, 65535 }, &port, err) < 0)
        return -1;
    *ret_port = (int)port;
    return 0;
}

/* API servers over TLS, and the kubeconfigs that trust its certificate. */
static int announce_tls(struct command_call *call, struct simulator *simulator, struct error *err)
{
    const char *folder = folder_of(call);
    owned(chars) char *certificate = text_format("%s/simulator.crt", folder);
    owned(chars) char *key = text_format("%s/simulator.key", folder);
    struct simulator_tls tls = { .certificate_path = certificate, .key_path = key };
    owned(text) struct text *pem = NULL;
    int64_t wanted = 0;
    int port;

    if (call_int(call, "tls-port", (struct int_range){ 0, 65535 }, &wanted, err) < 0 ||
        file_make_folder(folder, 0755, err) < 0)
        return -1;
    tls.port = (int)wanted;
    if (simulator_listen_tls(simulator, &tls, &port, err) < 0 ||
        (pem = file_read(certificate, PEM_LIMIT, err)) == NULL)
        return -1;

    owned(chars) char *url = text_format("https://127.0.0.1:%d", port);

    if (simulator_write_access(
            simulator, folder,
            &(struct simulator_urls){ .base_url = url, .ca_pem = pem->chars, .has_admin = true },
            err) < 0)
        return -1;
    printf("TLS on %s, with %s\n", url, certificate);
    printf("kubectl --kubeconfig %s/admin.kubeconfig get nodes\n", folder);
    return 0;
}

static int announce(struct command_call *call, struct simulator *simulator, struct error *err)
{
    const char *folder = folder_of(call);
    int wanted, port;

    if (read_port(call, &wanted, err) < 0)
        return -1;
    if (simulator_listen(simulator, wanted, &port, err) < 0)
        return error_context(err, "give another --port than %d", wanted);

    owned(chars) char *url = text_format("http://127.0.0.1:%d", port);

    if (call_flag(call, "tls")) {
        if (announce_tls(call, simulator, err) < 0)
            return -1;
    } else if (folder &&
               simulator_write_access(
                   simulator, folder,
                   &(struct simulator_urls){ .base_url = url, .has_admin = true }, err) < 0) {
        return -1;
    }
    printf("listening on %s\n", url);
    fflush(stdout);
    return 0;
}

/* Writes the folder of a rehearsal; the paths are then those of its files. */
static int prepare(struct command_call *call, char **config, char **world, struct error *err)
{
    const char *folder = call_text(call, "rehearse");
    owned(text) struct text *left_out = text_new(1 << 16);
    owned(chars) char *url = NULL;
    int port;

    if (!folder)
        return 0;
    if (read_port(call, &port, err) < 0)
        return -1;
    url = text_format("http://127.0.0.1:%d", port);
    if (rehearse_write(&(struct rehearse){ *config, folder, url }, left_out, err) < 0)
        return -1;
    mem_free(*config);
    *config = text_format("%s/sluice.yaml", folder);
    if (!*world)
        *world = text_format("%s/world.yaml", folder);
    for (char *at = left_out->chars, *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
        printf("left out: %.*s\n", (int)(end - at), at);
    printf("rehearse with: sluice serve --config %s\n", *config);
    return 0;
}

static int play(struct command_call *call, struct loop *loop, struct simulator *simulator,
                struct error *err)
{
    const char *report = call_text(call, "report");
    int64_t for_ms = 0;

    if (call_duration(call, "for", &for_ms, err) < 0)
        return -1;
    loop_on_terminate(loop, end, loop);
    if (for_ms > 0)
        loop_run_until(loop, loop_now(loop) + for_ms);
    else
        loop_run(loop);
    return report ? write_report(simulator, report, err) : 0;
}

static int check_usage(struct command_call *call)
{
    bool has_tls = call_flag(call, "tls");
    int64_t for_ms = 0;
    struct error err = { 0 };

    if (!call_text(call, "config") || (!call_text(call, "world") && !call_text(call, "rehearse")))
        return call_usage_error(call, "--config and --world are needed; --rehearse writes a world");
    if (call_text(call, "rehearse") && text_equal(call_text(call, "port"), "0"))
        return call_usage_error(call, "--rehearse needs a --port: its sluice.yaml names it");
    if (call_text(call, "tls-port") && !has_tls)
        return call_usage_error(call, "--tls-port needs --tls");
    if (has_tls && !folder_of(call))
        return call_usage_error(call, "--tls needs --write-kubeconfigs FOLDER: its certificate and "
                                      "the kubeconfigs that trust it go there");
    return call_duration(call, "for", &for_ms, &err) < 0 ? call_fail(call, EXIT_USAGE, &err) : 0;
}

static int run(struct command_call *call)
{
    struct error err = { 0 };
    const char *named = call_text(call, "world");
    owned(chars) char *config = mem_copy_chars(call_text(call, "config") ?: "");
    owned(chars) char *world = named ? mem_copy_chars(named) : NULL;
    int code = check_usage(call);

    if (code)
        return code;
    if (prepare(call, &config, &world, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);

    owned(loop) struct loop *loop = loop_libevent_new(&err);

    if (!loop)
        return call_fail(call, EXIT_ERROR, &err);

    owned(simulator) struct simulator *simulator = simulator_new(loop, config, world, &err);

    if (!simulator || (call_text(call, "rehearse") && rehearse_fill(simulator, config, &err) < 0) ||
        announce(call, simulator, &err) < 0 || play(call, loop, simulator, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    return EXIT_DONE;
}

static const struct command_help help = {
    .summary = "a simulated world of clusters and clouds on loopback sockets",
    .examples = "sluice-simulator --config sluice.yaml --world world.yaml\n"
                "sluice-simulator -c sluice.yaml -w world.yaml --port 8900 --for 10m\n"
                "sluice-simulator -c sluice.yaml -w world.yaml --tls --write-kubeconfigs kube\n"
                "sluice-simulator -c sluice.yaml --rehearse try --tls",
};

const struct command simulator_command = {
    .name = "sluice-simulator",
    .options = options,
    .help = &help,
    .run = run,
};
