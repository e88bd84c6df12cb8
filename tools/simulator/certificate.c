/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See certificate.h.
 */
#include "tools/simulator/certificate.h"

#include "base/file.h"
#include "base/memory.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

enum { VALID_S = 366 * 24 * 3600 };

static bool add_extension(X509 *certificate, int which, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;
    bool is_added;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, which, value);
    is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

/* It is its own authority, so that clients can be told to trust it. */
static bool fill(X509 *certificate, EVP_PKEY *key)
{
    static const unsigned char name[] = "sluice-simulator";
    X509_NAME *subject = X509_get_subject_name(certificate);
    uint64_t serial = 0;

    return RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
           X509_set_version(certificate, 2) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -300) &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_S) &&
           X509_set_pubkey(certificate, key) == 1 &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, subject) == 1 &&
           add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE") &&
           add_extension(certificate, NID_key_usage,
                         "critical,digitalSignature,keyEncipherment,keyCertSign") &&
           add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
           add_extension(certificate, NID_subject_key_identifier, "hash") &&
           add_extension(certificate, NID_subject_alt_name, "IP:127.0.0.1,IP:::1,DNS:localhost") &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

/* Takes the bytes of a memory BIO to a file. */
static int write_file(BIO *bio, const char *path, mode_t mode, struct error *err)
{
    char *chars;
    long size = BIO_get_mem_data(bio, &chars);

    return file_write(path, chars, (size_t)size, mode, err);
}

int certificate_write(const char *certificate_path, const char *key_path, struct error *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    BIO *pem = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_mem());
    int code = -1;

    require(key && certificate && pem && secret);
    if (!fill(certificate, key) || PEM_write_bio_X509(pem, certificate) != 1 ||
        PEM_write_bio_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL) != 1)
        error_set(err, ERROR_INVALID, "a certificate could not be made");
    else if (write_file(secret, key_path, 0600, err) == 0)
        code = write_file(pem, certificate_path, 0644, err);
    BIO_free(pem);
    BIO_free(secret);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return code;
}
