/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See selector.h.  The grammar and its sentences follow k8s.io/apimachinery/pkg/labels.
 */
#include "tools/simulator/apiserver/selector.h"

#include "base/array.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum operation { HAS, HAS_NOT, IS_IN, IS_NOT_IN, IS_ABOVE, IS_BELOW };
enum token { END, WORD, COMMA, OPEN, CLOSE, NOT, EQUALS, UNEQUAL, ABOVE, BELOW };

struct requirement {
    char *key;
    enum operation operation;
    ARRAY(char *) values;
};

struct selector {
    ARRAY(struct requirement) items;
};

struct reader {
    const char *at;
    enum token token; /* the one that is next */
    char literal[320];
    struct error *err;
};

#define NAME_RULE                                                                                  \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE_RULE                                                                                 \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', " \
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define PREFIX_RULE                                                                                \
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "          \
    "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "         \
    "'example.com', regex used for validation is "                                                 \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

static bool is_word(const char *chars, size_t length, const char *inner)
{
    if (length == 0 || !isalnum((unsigned char)chars[0]) ||
        !isalnum((unsigned char)chars[length - 1]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)chars[i]) && !strchr(inner, chars[i]))
            return false;
    return true;
}

const char *label_value_fault(const char *value)
{
    if (strlen(value) > 63)
        return "must be no more than 63 bytes";
    return value[0] == '\0' || is_word(value, strlen(value), "-_.") ? NULL : VALUE_RULE;
}

const char *label_key_fault(const char *key)
{
    const char *slash = strchr(key, '/');
    const char *name = slash ? slash + 1 : key;

    if (slash && slash == key)
        return "prefix part must be non-empty";
    if (slash && !is_word(key, (size_t)(slash - key), "-."))
        return PREFIX_RULE;
    if (name[0] == '\0')
        return "name part must be non-empty";
    if (strlen(name) > 63)
        return "name part must be no more than 63 bytes";
    return is_word(name, strlen(name), "-_.") ? NULL : NAME_RULE;
}

/* Reads the next token. */
static void advance(struct reader *reader)
{
    static const struct {
        const char *chars;
        enum token token;
    } symbols[] = {
        { "==", EQUALS }, { "!=", UNEQUAL }, { "=", EQUALS }, { "!", NOT },   { ",", COMMA },
        { "(", OPEN },    { ")", CLOSE },    { ">", ABOVE },  { "<", BELOW },
    };
    size_t length;

    reader->at += strspn(reader->at, " \t\r\n");
    if (*reader->at == '\0') {
        reader->token = END;
        reader->literal[0] = '\0';
        return;
    }
    for (size_t i = 0; i < COUNT_OF(symbols); i++)
        if (text_starts_with(reader->at, symbols[i].chars)) {
            text_copy(reader->literal, sizeof reader->literal, symbols[i].chars);
            reader->at += strlen(symbols[i].chars);
            reader->token = symbols[i].token;
            return;
        }
    length = strcspn(reader->at, " \t\r\n=!(),><");
    text_print(reader->literal, sizeof reader->literal, "%.*s", (int)length, reader->at);
    reader->at += length;
    reader->token = WORD;
}

static int expected(struct reader *reader, const char *what)
{
    return error_set(reader->err, ERROR_INVALID, "found '%s', expected: %s", reader->literal, what);
}

static int add_value(struct reader *reader, struct requirement *item, const char *value)
{
    const char *fault = label_value_fault(value);

    if (fault)
        return error_set(reader->err, ERROR_INVALID, "values[%zu][%s]: Invalid value: \"%s\": %s",
                         item->values.count, item->key, value, fault);
    *array_add(&item->values) = mem_copy_chars(value);
    return 0;
}

/* "(a, b)" */
static int read_values(struct reader *reader, struct requirement *item)
{
    if (reader->token != OPEN)
        return error_set(reader->err, ERROR_INVALID, "found '%s' expected: '('", reader->literal);
    advance(reader);
    while (reader->token != CLOSE) {
        bool is_word_next = reader->token == WORD;

        if (!is_word_next && reader->token != COMMA)
            return expected(reader,
                            item->values.count ? "',', or identifier" : "',', ')' or identifier");
        if (add_value(reader, item, is_word_next ? reader->literal : "") < 0)
            return -1;
        advance(reader);
        if (!is_word_next)
            continue;
        if (reader->token == COMMA)
            advance(reader);
        else if (reader->token != CLOSE)
            return expected(reader, "',' or ')'");
    }
    advance(reader);
    return 0;
}

static int read_exact(struct reader *reader, struct requirement *item)
{
    long long number;

    if (reader->token == END || reader->token == COMMA)
        return add_value(reader, item, "");
    if (reader->token != WORD)
        return expected(reader, "identifier");
    if ((item->operation == IS_ABOVE || item->operation == IS_BELOW) &&
        !text_to_int(reader->literal, INT64_MIN, INT64_MAX, &number))
        return error_set(reader->err, ERROR_INVALID,
                         "values[0]: Invalid value: \"%s\": for 'Gt', 'Lt' operators, the value "
                         "must be an integer",
                         reader->literal);
    if (add_value(reader, item, reader->literal) < 0)
        return -1;
    advance(reader);
    return 0;
}

static int read_operation(struct reader *reader, struct requirement *item)
{
    enum token token = reader->token;
    bool is_in = token == WORD && text_equal(reader->literal, "in");

    if (is_in || (token == WORD && text_equal(reader->literal, "notin"))) {
        item->operation = is_in ? IS_IN : IS_NOT_IN;
        advance(reader);
        return read_values(reader, item);
    }
    if (token != EQUALS && token != UNEQUAL && token != ABOVE && token != BELOW)
        return expected(reader, "in, notin, =, ==, !=, gt, lt");
    item->operation = token == EQUALS    ? IS_IN
                      : token == UNEQUAL ? IS_NOT_IN
                      : token == ABOVE   ? IS_ABOVE
                                         : IS_BELOW;
    advance(reader);
    return read_exact(reader, item);
}

static int read_requirement(struct reader *reader, struct requirement *item)
{
    bool is_negated = reader->token == NOT;
    const char *fault;

    if (is_negated)
        advance(reader);
    if (reader->token != WORD)
        return expected(reader, "identifier");
    item->key = mem_copy_chars(reader->literal);
    item->operation = is_negated ? HAS_NOT : HAS;
    fault = label_key_fault(item->key);
    if (fault)
        return error_set(reader->err, ERROR_INVALID, "<nil>: Invalid value: \"%s\": %s", item->key,
                         fault);
    advance(reader);
    if (is_negated || reader->token == END || reader->token == COMMA)
        return 0;
    return read_operation(reader, item);
}

struct selector *selector_of_labels(const char *chars, struct error *err)
{
    owned(selector) struct selector *selector = mem_new(sizeof *selector);
    struct reader reader = { .at = chars ?: "", .err = err };

    advance(&reader);
    while (reader.token != END) {
        if (reader.token != WORD && reader.token != NOT) {
            (void)expected(&reader, selector->items.count ? "identifier after ','"
                                                          : "!, identifier, or 'end of string'");
            return NULL;
        }
        if (read_requirement(&reader, array_add(&selector->items)) < 0) {
            error_context(err, "unable to parse requirement");
            return NULL;
        }
        if (reader.token == END)
            break;
        if (reader.token != COMMA) {
            (void)expected(&reader, "',' or 'end of string'");
            return NULL;
        }
        advance(&reader);
        if (reader.token == END) {
            (void)expected(&reader, "identifier after ','");
            return NULL;
        }
    }
    return steal(&selector);
}

struct selector *selector_of_fields(const char *chars, struct error *err)
{
    owned(selector) struct selector *selector = mem_new(sizeof *selector);
    const char *at = chars ?: "";

    while (*at) {
        size_t length = strcspn(at, ",");
        owned(chars) char *term = text_format("%.*s", (int)length, at);
        char *sign = strstr(term, "!=") ?: strchr(term, '=');
        struct requirement *item;

        at += length + (at[length] == ',');
        if (!term[0])
            continue;
        if (!sign) {
            error_set(err, ERROR_INVALID, "invalid selector: '%s'; can't understand '%s'", chars,
                      term);
            return NULL;
        }
        item = array_add(&selector->items);
        item->operation = *sign == '!' ? IS_NOT_IN : IS_IN;
        item->key = text_format("%.*s", (int)(sign - term), term);
        sign += strspn(sign, "!");
        sign += strspn(sign, "=");
        *array_add(&item->values) = mem_copy_chars(sign);
    }
    return steal(&selector);
}

void selector_free(struct selector *selector)
{
    if (!selector)
        return;
    for (size_t i = 0; i < selector->items.count; i++) {
        struct requirement *item = &selector->items.items[i];

        mem_free(item->key);
        for (size_t k = 0; k < item->values.count; k++)
            mem_free(item->values.items[k]);
        array_clear(&item->values);
    }
    array_clear(&selector->items);
    mem_free(selector);
}

static bool is_one_of(const struct requirement *item, const char *value)
{
    for (size_t i = 0; i < item->values.count; i++)
        if (text_equal(item->values.items[i], value))
            return true;
    return false;
}

static bool is_beyond(const struct requirement *item, const char *value)
{
    long long own, limit;

    if (!value || !text_to_int(value, INT64_MIN, INT64_MAX, &own) ||
        !text_to_int(item->values.items[0], INT64_MIN, INT64_MAX, &limit))
        return false;
    return item->operation == IS_ABOVE ? own > limit : own < limit;
}

/* value NULL: the label is absent. */
static bool takes(const struct requirement *item, const char *value)
{
    switch (item->operation) {
    case HAS:
        return value != NULL;
    case HAS_NOT:
        return value == NULL;
    case IS_IN:
        return value && is_one_of(item, value);
    case IS_NOT_IN:
        return !value || !is_one_of(item, value);
    case IS_ABOVE:
    case IS_BELOW:
        return is_beyond(item, value);
    }
    return false;
}

bool selector_takes_labels(const struct selector *selector, const json_t *labels)
{
    for (size_t i = 0; i < selector->items.count; i++) {
        const struct requirement *item = &selector->items.items[i];

        if (!takes(item, json_string_value(json_object_get(labels, item->key))))
            return false;
    }
    return true;
}

bool selector_takes_fields(const struct selector *selector, const json_t *object,
                           selector_value_fn value_of)
{
    for (size_t i = 0; i < selector->items.count; i++) {
        const struct requirement *item = &selector->items.items[i];

        if (!takes(item, value_of(object, item->key)))
            return false;
    }
    return true;
}

const char *selector_strange_field(const struct selector *selector, const char *const *known,
                                   size_t count)
{
    for (size_t i = 0; i < selector->items.count; i++) {
        bool is_known = false;

        for (size_t k = 0; k < count; k++)
            is_known |= text_equal(known[k], selector->items.items[i].key);
        if (!is_known)
            return selector->items.items[i].key;
    }
    return NULL;
}
