/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text within a page.
 */
#pragma once

#include "base/text.h"

/* Appends characters that mean themselves there, in an attribute too; control characters are left
   out. */
void html_add_text(const char *chars, struct text *out);
