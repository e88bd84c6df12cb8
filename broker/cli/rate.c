/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The unit is required: a bare number has been taken for requests a minute too often.
 */
#include "broker/cli/rate.h"

#include "base/text.h"

#include <string.h>

bool rate_parse(const char *text, double *ret_per_s)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = { { "s", 1 }, { "m", 60 }, { "h", 3600 } };
    const char *slash = strchr(text, '/');
    char number[64];
    double value;

    if (!slash || slash - text >= (ptrdiff_t)sizeof number)
        return false;
    text_copy(number, (size_t)(slash - text) + 1, text);
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (text_equal(slash + 1, units[i].unit) && text_to_double(number, &value) && value >= 0) {
            *ret_per_s = value / units[i].seconds;
            return true;
        }
    return false;
}
