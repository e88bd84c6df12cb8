/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * storm load SECONDS RATE SOCKET URL: many persons ask the service, RATE requests a second in all.
 * stdin has a line for each person: "uid NUMBER", "certificate FILE KEY" or "token FILE".  A
 * request is due at its own moment, whether the one before was answered or not, and its time counts
 * from then: a slow answer does not make the load smaller.  Prints how many got which status, and
 * how long they took, in ms.
 *
 * storm ticks SOCKET PERIOD_MS: stands in for systemd, whose watchdog the service's loop must feed
 * every PERIOD_MS.  Ends at SIGTERM, and prints by how much the latest feeding was late.
 */
#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 4096, TIMEOUT_MS = 10 * SECOND_MS, US_OF_S = 1000000, NS_OF_US = 1000 };
enum { STATUSES = 600, LATE_US = 100000 };

static const struct {
    const char *target;
    const char *body; /* NULL: a GET */
} requests[] = {
    { "/v1/status", NULL },
    { "/v1/version", NULL },
    { "/v1/transfers", NULL },
    { "/v1/leads", NULL },
    { "/v1/events?count=50", NULL },
    { "/healthz", NULL },
    { "/metrics", NULL },
    { "/v1/whoami", NULL },
    { "/v1/departures", NULL },
    { "/v1/hosts", NULL },
    { "/v1/day", NULL },
    { "/v1/version", NULL },
    { "/v1/status", NULL },
    { "/readyz", NULL },
    { "/v1/reclaims", NULL },
    { "/v1/plan", "{}" },
};

struct sample {
    size_t request;
    int status; /* 0: no answer */
    int64_t us;
};

/* What all share; fixed while they ask. */
struct load {
    const char *socket;
    const char *url;
    int64_t begin_us;
    int64_t end_us;
    int64_t period_us; /* between two requests of one person */
};

struct person {
    const struct load *load;
    int64_t offset_us;
    size_t first; /* of the requests, so that not all ask the same at once */
    unsigned uid; /* 0: over TLS */
    char *certificate, *key, *token;
    pthread_t thread;
    ARRAY(struct sample) samples;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "storm: %s\n", what);
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec spec;

    clock_gettime(CLOCK_MONOTONIC, &spec);
    return (int64_t)spec.tv_sec * US_OF_S + spec.tv_nsec / NS_OF_US;
}

static void sleep_until(int64_t us)
{
    struct timespec spec = { .tv_sec = us / US_OF_S, .tv_nsec = us % US_OF_S * NS_OF_US };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &spec, NULL) == EINTR)
        continue;
}

static size_t forget(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return size * count;
}

/* Of this thread alone: the C library's functions change all threads. */
static void become(unsigned uid)
{
    if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, uid, uid, uid) < 0 ||
        syscall(SYS_setresuid, uid, uid, uid) < 0)
        fail("only root can be other users");
}

static CURL *open_client(const struct person *person, struct curl_slist **headers)
{
    CURL *easy = curl_easy_init();

    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, forget);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    *headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (person->uid)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, person->load->socket);
    if (person->certificate) {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, person->certificate);
        curl_easy_setopt(easy, CURLOPT_SSLKEY, person->key);
    }
    if (person->token) {
        owned(chars) char *line = text_format("Authorization: Bearer %s", person->token);

        *headers = curl_slist_append(*headers, line);
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *headers);
    return easy;
}

static void ask(struct person *person, CURL *easy, size_t request, int64_t due_us)
{
    owned(chars) char *url = text_format(
        "%s%s", person->uid ? "http://localhost" : person->load->url, requests[request].target);
    long status = 0;

    curl_easy_setopt(easy, CURLOPT_URL, url);
    if (requests[request].body)
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, requests[request].body);
    else
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (curl_easy_perform(easy) == CURLE_OK)
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    *array_add(&person->samples) = (struct sample){ request, status < STATUSES ? (int)status : 0,
                                                    now_us() - due_us };
}

static void *play(void *context)
{
    struct person *person = context;
    const struct load *load = person->load;
    struct curl_slist *headers = NULL;
    CURL *easy;

    if (person->uid)
        become(person->uid);
    easy = open_client(person, &headers);
    for (int64_t i = 0;; i++) {
        int64_t due_us = load->begin_us + person->offset_us + i * load->period_us;

        if (due_us >= load->end_us)
            break;
        sleep_until(due_us);
        ask(person, easy, ((size_t)i + person->first) % COUNT_OF(requests), due_us);
    }
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    return NULL;
}

static char *read_token(const char *path)
{
    char token[LINE_SIZE] = "";
    FILE *file = fopen(path, "re");

    if (!file || !fgets(token, sizeof token, file))
        fail(path);
    fclose(file);
    token[strcspn(token, "\n")] = '\0';
    return mem_copy_chars(token);
}

static struct person read_person(char *line)
{
    struct person person = { 0 };
    char *rest = line;
    const char *kind = strtok_r(rest, " \n", &rest);
    char *first = strtok_r(NULL, " \n", &rest);
    char *second = strtok_r(NULL, " \n", &rest);

    if (!kind || !first)
        fail("a person is \"uid NUMBER\", \"certificate FILE KEY\" or \"token FILE\"");
    if (text_equal(kind, "uid"))
        person.uid = (unsigned)strtoul(first, NULL, 10);
    else if (text_equal(kind, "token"))
        person.token = read_token(first);
    else
        person.certificate = mem_copy_chars(first);
    if (second)
        person.key = mem_copy_chars(second);
    return person;
}

static int by_time(const void *a, const void *b)
{
    int64_t first = ((const struct sample *)a)->us, other = ((const struct sample *)b)->us;

    return (first > other) - (first < other);
}

static void print_row(const char *name, struct sample *samples, size_t count)
{
    int statuses[STATUSES] = { 0 };

    if (count == 0)
        return;
    qsort(samples, count, sizeof *samples, by_time);
    for (size_t i = 0; i < count; i++)
        statuses[samples[i].status]++;
    printf("%-22s %6zu  p50 %6.1f  p99 %6.1f  most %6.1f ms ", name, count,
           (double)samples[count / 2].us / SECOND_MS,
           (double)samples[count - 1 - count / 100].us / SECOND_MS,
           (double)samples[count - 1].us / SECOND_MS);
    for (int i = 0; i < STATUSES; i++)
        if (statuses[i])
            printf(" %d:%d", i, statuses[i]);
    printf("\n");
}

static void report(const struct person *persons, size_t count)
{
    ARRAY(struct sample) all = { 0 };

    for (size_t k = 0; k < COUNT_OF(requests); k++) {
        ARRAY(struct sample) row = { 0 };

        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < persons[i].samples.count; j++)
                if (persons[i].samples.items[j].request == k)
                    *array_add(&row) = *array_add(&all) = persons[i].samples.items[j];
        print_row(requests[k].target, row.items, row.count);
        array_clear(&row);
    }
    print_row("all", all.items, all.count);
    array_clear(&all);
}

static int play_load(int seconds, int rate, const char *socket, const char *url)
{
    ARRAY(struct person) persons = { 0 };
    struct load load = { .socket = socket, .url = url };
    char line[LINE_SIZE];

    while (fgets(line, sizeof line, stdin))
        *array_add(&persons) = read_person(line);
    if (persons.count == 0 || rate < 1 || seconds < 1)
        fail("a load has a rate, a time and persons");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    load.begin_us = now_us() + US_OF_S / 10;
    load.end_us = load.begin_us + (int64_t)seconds * US_OF_S;
    load.period_us = (int64_t)persons.count * US_OF_S / rate;
    for (size_t i = 0; i < persons.count; i++) {
        struct person *person = &persons.items[i];

        person->load = &load;
        person->first = i;
        person->offset_us = load.period_us * (int64_t)i / (int64_t)persons.count;
        if (pthread_create(&person->thread, NULL, play, person) != 0)
            fail("no more threads");
    }
    for (size_t i = 0; i < persons.count; i++)
        pthread_join(persons.items[i].thread, NULL);
    report(persons.items, persons.count);
    for (size_t i = 0; i < persons.count; i++) {
        mem_free(persons.items[i].certificate);
        mem_free(persons.items[i].key);
        mem_free(persons.items[i].token);
        array_clear(&persons.items[i].samples);
    }
    array_clear(&persons);
    return 0;
}

static volatile sig_atomic_t is_over;

static void on_terminate(int number)
{
    (void)number;
    is_over = 1;
}

static int watch_ticks(const char *path, int period_ms)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct sigaction action = { .sa_handler = on_terminate };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int64_t before_us = 0, worst_us = 0, count = 0, late = 0;
    char state[256];

    if (!text_copy(address.sun_path, sizeof address.sun_path, path) ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        fail(path);
    sigaction(SIGTERM, &action, NULL);
    while (!is_over) {
        ssize_t got = recv(fd, state, sizeof state - 1, 0);
        int64_t at_us = now_us();

        if (got <= 0 || strncmp(state, "WATCHDOG=1", strlen("WATCHDOG=1")) != 0)
            continue;
        if (before_us > 0) {
            int64_t late_us = at_us - before_us - (int64_t)period_ms * US_OF_S / SECOND_MS;

            count++;
            late += late_us > LATE_US;
            worst_us = late_us > worst_us ? late_us : worst_us;
        }
        before_us = at_us;
    }
    printf("ticks %lld late %lld worst_ms %.1f\n", (long long)count, (long long)late,
           (double)worst_us / SECOND_MS);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && text_equal(argv[1], "load"))
        return play_load(atoi(argv[2]), atoi(argv[3]), argv[4], argv[5]);
    if (argc == 4 && text_equal(argv[1], "ticks"))
        return watch_ticks(argv[2], atoi(argv[3]));
    fail("storm load SECONDS RATE SOCKET URL | storm ticks SOCKET PERIOD_MS");
}
