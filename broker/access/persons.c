/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See persons.h.
 */
#include "broker/access/persons.h"

#include "base/memory.h"
#include "base/text.h"

#include <string.h>

/* The part of a mail address before its @; a URI is taken whole. */
static size_t length_of(const char *name)
{
    const char *at = strchr(name, '@');

    return at && at > name && !strstr(name, "://") ? (size_t)(at - name) : strlen(name);
}

char *person_behind(const char *name)
{
    static const char login[] = " (login ";
    const char *begin = strstr(name, login);
    size_t length;
    char *person;

    begin = begin ? begin + strlen(login) : name;
    length = begin == name ? length_of(name) : strcspn(begin, ")");
    person = text_format("%.*s", (int)length, begin);
    for (char *at = person; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    if (text_equal(person, "root") || text_starts_with(person, "uid ") ||
        (begin != name && text_equal(person, "unknown")))
        person[0] = '\0';
    return person;
}

/* Whether both are of persons who are known. */
static bool compare(const char *name, const char *other, bool *ret_are_same)
{
    owned(chars) char *left = person_behind(name);
    owned(chars) char *right = person_behind(other);

    *ret_are_same = text_equal(left, right);
    return left[0] != '\0' && right[0] != '\0';
}

bool persons_differ(const char *name, const char *other)
{
    bool are_same;

    return compare(name, other, &are_same) && !are_same;
}

bool persons_are_same(const char *name, const char *other)
{
    bool are_same;

    return compare(name, other, &are_same) && are_same;
}
