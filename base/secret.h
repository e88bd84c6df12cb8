/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Texts that must not stay in memory after their use: keys, tokens, and requests that carry them.
 */
#pragma once

/* Overwrites the text, then frees it.  NULL is legal. */
void secret_free(char *chars);
