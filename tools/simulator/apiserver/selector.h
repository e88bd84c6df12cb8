/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Label and field selectors as an API server reads them, and the rules for labels.  The sentences
 * of the errors are those of Kubernetes 1.36.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

struct selector;

/* NULL or "" selects everything.  ERROR_INVALID: the server's sentence.  Free with
   selector_free(). */
struct selector *selector_of_labels(const char *chars, struct error *err)
    __attribute__((warn_unused_result));
struct selector *selector_of_fields(const char *chars, struct error *err)
    __attribute__((warn_unused_result));
void selector_free(struct selector *selector);

bool selector_takes_labels(const struct selector *selector, const json_t *labels);

/* value_of: the field's value, "" when it is absent; borrowed. */
typedef const char *(*selector_value_fn)(const json_t *object, const char *field);
bool selector_takes_fields(const struct selector *selector, const json_t *object,
                           selector_value_fn value_of);

/* The first field that `is_known` refuses; NULL: none. */
const char *selector_strange_field(const struct selector *selector, const char *const *known,
                                   size_t count);

/* What is wrong with a label's key or value; NULL: nothing. */
const char *label_key_fault(const char *key);
const char *label_value_fault(const char *value);

static inline void owned_selector(struct selector **selector)
{
    selector_free(*selector);
}
