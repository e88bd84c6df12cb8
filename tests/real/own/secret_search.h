/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Looks for secrets in files, in a journal's tables, and in the arguments and environments of all
 * processes.
 */
#pragma once

#include "base/array.h"
#include "base/text.h"

struct secret_search {
    ARRAY(struct text *) secrets;
    int processes;         /* that were looked at */
    bool has_seen_join;    /* of them: `kubeadm join`, */
    bool has_seen_service; /* and `sluice serve` */
    char found[256];       /* where the first secret was found; "": nowhere */
};

void secret_search_clear(struct secret_search *search);

/* Bytes that must be nowhere. */
void secret_search_add(struct secret_search *search, const void *bytes, size_t size);

/* A private key of OpenSSH: the lines of its file, and the 32 bytes that are secret, also in
   hexadecimal. */
void secret_search_add_key(struct secret_search *search, const char *path);

/* What is in all processes now. */
void secret_search_processes(struct secret_search *search);

/* Each file of the folder, byte by byte; how many files. */
int secret_search_files(struct secret_search *search, const char *folder);

/* Each value of each table of a database of SQLite that no other process has open; how many
   values. */
int secret_search_tables(struct secret_search *search, const char *path);
