/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * cmocka with the headers that it wants before itself; in one place, because sorted includes would
 * put them after it.
 */
#pragma once

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
