/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See tls_identity.h.
 */
#include "base/world/tls_identity.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/trust.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>

enum { PEM_LIMIT = 256 << 10, NAME_MAX_LENGTH = 253 };

struct tls_identity {
    SSL_CTX *context;
    struct wall_time authorities_end;
    struct wall_time lists_end;
};

/* A PEM text as OpenSSL reads it.  Freed with BIO_free(). */
static BIO *open_pem(const char *path, struct text **ret_text, struct error *err)
{
    struct text *text = trust_read(path, PEM_LIMIT, err);
    BIO *bio;

    if (!text)
        return NULL;
    bio = BIO_new_mem_buf(text->chars, (int)text->length);
    require(bio);
    *ret_text = text;
    return bio;
}

static int refuse(const char *path, const char *what, struct error *err)
{
    char why[256] = "";
    unsigned long code = ERR_peek_last_error();

    if (code)
        ERR_error_string_n(code, why, sizeof why);
    ERR_clear_error();
    return error_set(err, ERROR_INVALID, "%s: %s%s%s", path, what, code ? ": " : "", why);
}

/* After the last certificate there is nothing but the end of the file: one that is cut, as while it
   is being copied, would be read in part. */
static int check_end(const char *path, struct error *err)
{
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return refuse(path, "is damaged after its first certificates", err);
    ERR_clear_error();
    return 0;
}

/* The first certificate is the server's, the others are its issuers'. */
static int use_certificate(SSL_CTX *context, const char *path, struct error *err)
{
    owned(text) struct text *text = NULL;
    BIO *bio = open_pem(path, &text, err);
    X509 *certificate;
    int count = 0;
    bool is_good = true;

    if (!bio)
        return -1;
    while (is_good && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        is_good = count++ == 0 ? SSL_CTX_use_certificate(context, certificate) == 1
                               : SSL_CTX_add1_chain_cert(context, certificate) == 1;
        X509_free(certificate);
    }
    BIO_free(bio);
    if (!is_good || count == 0)
        return refuse(path, "has no certificate that can be used", err);
    return check_end(path, err);
}

/* Never asks a terminal for a password. */
static int no_password(char *buffer, int size, int writes, void *context)
{
    (void)buffer;
    (void)size;
    (void)writes;
    (void)context;
    return -1;
}

static int use_key(SSL_CTX *context, const char *path, struct error *err)
{
    struct text *text = NULL;
    BIO *bio = trust_check_secrecy(path, err) == 0 ? open_pem(path, &text, err) : NULL;
    EVP_PKEY *key;
    bool fits;

    if (!bio)
        return -1;
    key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    fits = key && SSL_CTX_use_PrivateKey(context, key) == 1 &&
           SSL_CTX_check_private_key(context) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    secret_free(text_take(text));
    return fits ? 0 : refuse(path, "is not an unencrypted key of the certificate", err);
}

/* A time that cannot be read is long ago. */
static struct wall_time wall_of(const ASN1_TIME *time)
{
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days = 0;
    int seconds = 0;

    require(epoch);
    if (ASN1_TIME_diff(&days, &seconds, epoch, time) != 1)
        days = -1;
    ASN1_TIME_free(epoch);
    return (struct wall_time){ days * (int64_t)DAY_MS + seconds * (int64_t)SECOND_MS };
}

static struct wall_time end_of(const X509 *certificate)
{
    return wall_of(X509_get0_notAfter(certificate));
}

static int use_client_ca(struct tls_identity *identity, const char *path, struct error *err)
{
    owned(text) struct text *text = NULL;
    BIO *bio = open_pem(path, &text, err);
    SSL_CTX *context = identity->context;
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    X509 *authority;
    int count = 0;
    bool is_good = true;

    if (!bio)
        return -1;
    while (is_good && (authority = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        is_good = X509_STORE_add_cert(store, authority) == 1 &&
                  SSL_CTX_add_client_CA(context, authority) == 1;
        if (end_of(authority).ms < identity->authorities_end.ms)
            identity->authorities_end = end_of(authority);
        count++;
        X509_free(authority);
    }
    BIO_free(bio);
    if (!is_good || count == 0)
        return refuse(path, "has no certificate of an authority", err);
    /* An authority that another one issued is trusted for itself: not for the other's people, too.
     */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    if (check_end(path, err) < 0)
        return -1;
    return 0;
}

/* The lists are for the clients' own certificates.  OpenSSL refuses a certificate whose issuer has
   no list here, or one that has ended: what is not known to be good is not accepted. */
static int use_client_crl(struct tls_identity *identity, const char *path, struct error *err)
{
    owned(text) struct text *text = NULL;
    BIO *bio = open_pem(path, &text, err);
    X509_STORE *store = SSL_CTX_get_cert_store(identity->context);
    X509_CRL *list;
    int count = 0;
    bool is_good = true;

    if (!bio)
        return -1;
    while (is_good && (list = PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL))) {
        const ASN1_TIME *next = X509_CRL_get0_nextUpdate(list);
        struct wall_time end = next ? wall_of(next) : (struct wall_time){ 0 };

        is_good = next && X509_STORE_add_crl(store, list) == 1;
        if (end.ms < identity->lists_end.ms)
            identity->lists_end = end;
        count++;
        X509_CRL_free(list);
    }
    BIO_free(bio);
    if (!is_good || count == 0)
        return refuse(path, "has no revocation list that says when its next one comes", err);
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(identity->context), X509_V_FLAG_CRL_CHECK);
    return check_end(path, err);
}

static int fill(struct tls_identity *identity, const struct tls_files *files, struct error *err)
{
    SSL_CTX *context = identity->context;
    int verify = SSL_VERIFY_NONE;

    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    require(SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1);
    if (use_certificate(context, files->certificate, err) < 0 ||
        use_key(context, files->key, err) < 0)
        return -1;
    if (!files->client_ca)
        return 0;
    if (use_client_ca(identity, files->client_ca, err) < 0 ||
        (files->client_crl && use_client_crl(identity, files->client_crl, err) < 0))
        return -1;
    verify = SSL_VERIFY_PEER | (files->needs_client ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    SSL_CTX_set_verify(context, verify, NULL);
    return 0;
}

struct tls_identity *tls_identity_read(const struct tls_files *files, struct error *err)
{
    owned(tls_identity) struct tls_identity *identity = mem_new(sizeof *identity);

    ERR_clear_error();
    identity->context = SSL_CTX_new(TLS_server_method());
    require(identity->context && files->certificate && files->key);
    identity->authorities_end.ms = INT64_MAX;
    identity->lists_end.ms = INT64_MAX;
    return fill(identity, files, err) < 0 ? NULL : steal(&identity);
}

void tls_identity_free(struct tls_identity *identity)
{
    if (!identity)
        return;
    SSL_CTX_free(identity->context);
    mem_free(identity);
}

struct ssl_ctx_st *tls_identity_context(const struct tls_identity *identity)
{
    return identity->context;
}

bool tls_identity_is_for(const struct tls_identity *identity, const char *host)
{
    X509 *certificate = SSL_CTX_get0_certificate(identity->context);
    bool is_bracketed = host[0] == '[';
    size_t length = is_bracketed ? strcspn(++host, "]") : strcspn(host, ":");
    owned(chars) char *name = text_format("%.*s", (int)length, host);

    if (length == 0 || length > NAME_MAX_LENGTH)
        return false;
    return X509_check_ip_asc(certificate, name, 0) == 1 ||
           X509_check_host(certificate, name, length, 0, NULL) == 1;
}

static struct wall_time first_end(struct wall_time first, const STACK_OF(X509) * certificates)
{
    for (int i = 0; i < sk_X509_num(certificates); i++) {
        struct wall_time end = end_of(sk_X509_value(certificates, i));

        if (end.ms < first.ms)
            first = end;
    }
    return first;
}

struct wall_time tls_identity_ends(const struct tls_identity *identity)
{
    STACK_OF(X509) *issuers = NULL;

    require(SSL_CTX_get0_chain_certs(identity->context, &issuers) == 1);
    return first_end(end_of(SSL_CTX_get0_certificate(identity->context)), issuers);
}

struct wall_time tls_identity_authorities_end(const struct tls_identity *identity)
{
    return identity->authorities_end;
}

struct wall_time tls_identity_lists_end(const struct tls_identity *identity)
{
    return identity->lists_end;
}

struct wall_time tls_peer_ends(struct ssl_st *connection)
{
    X509 *certificate = SSL_get0_peer_certificate(connection);

    if (!certificate)
        return (struct wall_time){ 0 };
    return first_end(end_of(certificate), SSL_get0_verified_chain(connection));
}

/* One name: printable, of one line. */
static void add_name(struct text *out, const unsigned char *bytes, int size)
{
    bool is_good = size > 0 && size <= NAME_MAX_LENGTH;

    for (int i = 0; is_good && i < size; i++)
        is_good = bytes[i] >= ' ' && bytes[i] != 0x7f;
    if (is_good)
        text_add(out, "%.*s\n", size, (const char *)bytes);
}

static void add_alternatives(struct text *out, const GENERAL_NAMES *names, int type)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        if (name->type == type) /* these three types are IA5 strings */
            add_name(out, ASN1_STRING_get0_data(name->d.ia5), ASN1_STRING_length(name->d.ia5));
    }
}

static void add_common_name(struct text *out, const X509 *certificate)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    unsigned char *bytes = NULL;
    int size;

    if (at < 0)
        return;
    size = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size > 0)
        add_name(out, bytes, size);
    OPENSSL_free(bytes);
}

struct text *tls_peer_names(struct ssl_st *connection)
{
    X509 *certificate = SSL_get1_peer_certificate(connection);
    struct text *out;
    GENERAL_NAMES *names;

    if (!certificate)
        return NULL;
    require(SSL_get_verify_result(connection) == X509_V_OK);
    out = text_new(TEXT_UNBOUNDED);
    names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    add_alternatives(out, names, GEN_EMAIL);
    add_alternatives(out, names, GEN_URI);
    add_alternatives(out, names, GEN_DNS);
    if (!names)
        add_common_name(out, certificate);
    GENERAL_NAMES_free(names);
    X509_free(certificate);
    return out;
}
