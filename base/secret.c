/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See secret.h.
 */
#include "base/secret.h"

#include "base/memory.h"

#include <string.h>

void secret_free(char *chars)
{
    if (chars)
        explicit_bzero(chars, strlen(chars));
    mem_free(chars);
}
