/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A certificate for the loopback address that no authority has signed: kubectl sends a token over
 * TLS alone.
 */
#pragma once

#include "base/error.h"

/* Writes a new key and its certificate, valid for 127.0.0.1, ::1 and localhost for a year, as PEM.
 */
int certificate_write(const char *certificate_path, const char *key_path, struct error *err)
    __attribute__((warn_unused_result));
