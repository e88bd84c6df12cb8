/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The caller works too, so one thread means that none is begun.
 */
#include "base/parallel.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>

struct crew {
    int (*work)(void *context, size_t at, struct error *err);
    void *context;
    struct error *errors; /* one an item */
    size_t count;
    atomic_size_t next;
};

static void *take_items(void *context)
{
    struct crew *crew = context;

    for (size_t at; (at = atomic_fetch_add(&crew->next, 1)) < crew->count;)
        (void)crew->work(crew->context, at,
                         &crew->errors[at]); /* parallel_run() reads errors[at] */
    return NULL;
}

int parallel_run(int threads, size_t count,
                 int (*work)(void *context, size_t at, struct error *err), void *context,
                 struct error *err)
{
    struct crew crew = { .work = work, .context = context, .count = count };
    pthread_t *others = mem_new_array((size_t)threads, sizeof *others);
    int begun = 0;
    int result = 0;

    crew.errors = mem_new_array(count, sizeof *crew.errors);
    while (begun < threads - 1 && pthread_create(&others[begun], NULL, take_items, &crew) == 0)
        begun++;
    take_items(&crew);
    for (int i = 0; i < begun; i++)
        pthread_join(others[i], NULL);
    for (size_t i = 0; i < count && result == 0; i++)
        if (crew.errors[i].kind != ERROR_NONE) {
            *err = crew.errors[i];
            result = -1;
        }
    mem_free(crew.errors);
    mem_free(others);
    return result;
}
