/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a TLS server shows and asks for: its certificate and key, and the authorities of client
 * certificates.  TLS 1.2 or later; no session is resumed, so a certificate is checked with each
 * connection.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <stdbool.h>

struct ssl_ctx_st;
struct ssl_st;
struct tls_identity;

struct tls_files {
    const char *certificate; /* PEM: the server's certificate, then those of its issuers */
    const char *key;         /* PEM, not encrypted, and closed to other users */
    const char *client_ca;   /* PEM: who may issue client certificates; NULL: none are asked for */
    const char *client_crl;  /* PEM: the revocation list of each of these; NULL: none are read */
    bool needs_client;       /* a client without a certificate is refused in the handshake */
};

/* Reads the files once.  ERROR_DENIED when other users may change one of them, or read the key;
   ERROR_INVALID when one does not fit. */
struct tls_identity *tls_identity_read(const struct tls_files *files, struct error *err)
    __attribute__((warn_unused_result));
void tls_identity_free(struct tls_identity *identity);

/* For the connections of a server; borrowed. */
struct ssl_ctx_st *tls_identity_context(const struct tls_identity *identity);

/* Whether the server's certificate is for this value of a header Host: "sluice.example.com:8443",
   "10.0.0.7", "[fd00::7]:8443". */
bool tls_identity_is_for(const struct tls_identity *identity, const char *host);

/* When the first of its certificates ends: the server's own, or one of its issuers' in the same
   file. */
struct wall_time tls_identity_ends(const struct tls_identity *identity);

/* When the first of the authorities in client_ca ends: OpenSSL believes no client certificate of it
   from then on.  INT64_MAX: there are none. */
struct wall_time tls_identity_authorities_end(const struct tls_identity *identity);

/* When the first of the revocation lists ends: OpenSSL believes no client certificate of its
   authority from then on.  INT64_MAX: there are none. */
struct wall_time tls_identity_lists_end(const struct tls_identity *identity);

/* When the first of the certificates ends by which the client is believed; 0: it showed none.  The
   handshake has checked them once; a connection may live longer. */
struct wall_time tls_peer_ends(struct ssl_st *connection);

/* The names in the client's certificate, a line each: those of its subjectAltName of the types
   email, URI and DNS, else its common name.  Names with control characters are left out.  NULL: the
   client showed no certificate.  OpenSSL has verified it by then.  The caller frees it. */
struct text *tls_peer_names(struct ssl_st *connection);

static inline void owned_tls_identity(struct tls_identity **identity)
{
    tls_identity_free(*identity);
}
