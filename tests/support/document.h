/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables of pages that are made from the code's tables.
 */
#pragma once

/* What the page has between "<!-- generated: NAME -->" and "<!-- end -->" must be want.  A
   difference fails the test; with SLUICE_ACCEPT_GOLDENS=1 in the environment the page is rewritten
   instead. path: below the root of the sources, which is the working folder. */
void document_check(const char *path, const char *name, const char *want);
