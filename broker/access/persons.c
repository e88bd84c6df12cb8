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

bool persons_differ(const char *name, const char *other)
{
    owned(chars) char *left = person_behind(name);
    owned(chars) char *right = person_behind(other);

    return left[0] != '\0' && right[0] != '\0' && !text_equal(left, right);
}

bool persons_agree(const char *name, const char *other)
{
    owned(chars) char *left = person_behind(name);
    owned(chars) char *right = person_behind(other);

    return text_equal(name, other) || (left[0] != '\0' && text_equal(left, right));
}
