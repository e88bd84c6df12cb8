/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The unit is required: a bare number has been taken for requests a minute too often.
 */
#include "broker/terminal/rate.h"

#include "base/text.h"
#include "windows/demand/column_unit.h"

#include <string.h>

bool rate_parse(const char *text, double *ret_per_s)
{
    const char *slash = strchr(text, '/');
    char number[64];
    double seconds;
    double value;

    if (!slash || slash - text >= (ptrdiff_t)sizeof number)
        return false;
    text_copy(number, (size_t)(slash - text) + 1, text);
    seconds = column_unit_seconds(slash + 1);
    if (seconds == 0 || !text_to_double(number, &value) || value < 0)
        return false;
    require(seconds > 0);
    *ret_per_s = value / seconds;
    return true;
}
