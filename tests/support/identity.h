/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys and certificates for tests of TLS, made as they are needed; good from an hour ago for an
 * hour.
 */
#pragma once

#include "base/memory.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

struct identity {
    EVP_PKEY *key;
    X509 *certificate;
    char *certificate_pem;
    char *key_pem;
};

static inline char *identity_pem(BIO *bio)
{
    char *chars;
    long size = BIO_get_mem_data(bio, &chars);
    char *copy = mem_new((size_t)size + 1);

    memcpy(copy, chars, (size_t)size);
    BIO_free(bio);
    return copy;
}

static inline void identity_extend(X509 *certificate, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

    require(extension && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static inline void identity_name(X509 *certificate, const char *name)
{
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
}

/* issuer NULL: signs itself, as an authority. */
static inline struct identity identity_make(const char *name, const char *alternatives,
                                            const struct identity *issuer)
{
    static long serial;
    struct identity self = { EVP_EC_gen("P-256"), X509_new(), NULL, NULL };
    BIO *certificate = BIO_new(BIO_s_mem()), *key = BIO_new(BIO_s_mem());

    X509_set_version(self.certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(self.certificate), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(self.certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(self.certificate), 3600);
    X509_set_pubkey(self.certificate, self.key);
    identity_name(self.certificate, name);
    X509_set_issuer_name(self.certificate,
                         X509_get_subject_name(issuer ? issuer->certificate : self.certificate));
    identity_extend(self.certificate, NID_basic_constraints, issuer ? "CA:FALSE" : "CA:TRUE");
    if (alternatives)
        identity_extend(self.certificate, NID_subject_alt_name, alternatives);
    require(X509_sign(self.certificate, issuer ? issuer->key : self.key, EVP_sha256()) > 0);
    PEM_write_bio_X509(certificate, self.certificate);
    PEM_write_bio_PrivateKey(key, self.key, NULL, NULL, 0, NULL, NULL);
    self.certificate_pem = identity_pem(certificate);
    self.key_pem = identity_pem(key);
    return self;
}

static inline void identity_clear(struct identity *self)
{
    EVP_PKEY_free(self->key);
    X509_free(self->certificate);
    mem_free(self->certificate_pem);
    mem_free(self->key_pem);
}
