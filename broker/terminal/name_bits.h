/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Options whose value is a choice of names out of a table: `--policy sluice,oracle`, or
 * `--policy sluice --policy oracle`.
 */
#pragma once

#include "base/input/options.h"

struct name_bit {
    const char *name;
    unsigned bit;
};

/* Adds the bits of all names that the option gives; leaves *ret_bits untouched when it is not
   given.  The table ends with a row without a name.  ERROR_INVALID for an unknown name: the
   sentence lists the known ones. */
int name_bits(const struct command_call *call, const char *option, const struct name_bit *names,
              unsigned *ret_bits, struct error *err) __attribute__((warn_unused_result));

/* The parts of a forecast that --without gives (windows/forecast/forecast_parts.h). */
int name_bits_without(const struct command_call *call, unsigned *ret_parts, struct error *err)
    __attribute__((warn_unused_result));
