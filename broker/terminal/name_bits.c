/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See name_bits.h.
 */
#include "broker/terminal/name_bits.h"

#include "base/array.h"
#include "windows/forecast/forecast_parts.h"

#include <string.h>

enum { NAMES_LIMIT = 1024, NAME_SHOWN = 60 };

static int refuse(const char *option, const char *name, size_t length, const struct name_bit *names,
                  struct error *err)
{
    owned(text) struct text *known = text_new(NAMES_LIMIT);

    for (size_t i = 0; names[i].name; i++)
        text_add(known, "%s%s", i > 0 ? ", " : "", names[i].name);
    return error_set(err, ERROR_INVALID, "--%s: unknown name \"%.*s\"; known are %s", option,
                     (int)text_cut(name, length < NAME_SHOWN ? length : NAME_SHOWN), name,
                     known->chars);
}

/* NULL: there is no such name. */
static const struct name_bit *find_name(const char *chars, size_t length,
                                        const struct name_bit *names)
{
    for (; names->name; names++)
        if (strlen(names->name) == length && strncmp(names->name, chars, length) == 0)
            return names;
    return NULL;
}

int name_bits(const struct command_call *call, const char *option, const struct name_bit *names,
              unsigned *ret_bits, struct error *err)
{
    unsigned bits = *ret_bits;

    require(names->name);
    for (size_t value = 0; value < call_repeat(call, option); value++) {
        const char *name = call_text_at(call, option, value);

        while (name) {
            size_t length = strcspn(name, ",");
            const struct name_bit *found = find_name(name, length, names);

            if (!found)
                return refuse(option, name, length, names, err);
            require(found->bit != 0);
            bits |= found->bit;
            name = name[length] == ',' ? name + length + 1 : NULL;
        }
    }
    *ret_bits = bits;
    return 0;
}

int name_bits_without(const struct command_call *call, unsigned *ret_parts, struct error *err)
{
    ARRAY(struct name_bit) names = { 0 };
    int result;

    for (const struct forecast_part_row *row = forecast_parts; row->name; row++)
        *array_add(&names) = (struct name_bit){ row->name, row->part };
    array_add(&names); /* without a name: the end */
    result = name_bits(call, "without", names.items, ret_parts, err);
    array_clear(&names);
    return result;
}
