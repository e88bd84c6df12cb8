/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One table binds the keys of a YAML mapping to the fields of a struct: type, default, limits and
 * the sentence that the documentation prints.  Unknown keys, absent required keys and wrong types
 * are errors with file, line and key.
 *
 *     static const struct setting drain_settings[] = {
 *         { "deadline", SETTING_DURATION, offsetof(struct drain, deadline_ms), "10m",
 *           MINUTE_MS, DAY_MS, "how long pods may take to leave" },
 *     };
 */
#pragma once

#include "base/error.h"
#include "base/input/yaml.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

enum setting_type {
    SETTING_TEXT,     /* char *, owned by the struct: free with settings_clear() */
    SETTING_PATH,     /* the same, of a file: settings_next_path() finds it */
    SETTING_URL,      /* the same, an absolute http or https URL */
    SETTING_INT,      /* int64_t, within [min, max] */
    SETTING_DOUBLE,   /* double, within [min, max] */
    SETTING_BOOL,     /* bool */
    SETTING_DURATION, /* int64_t milliseconds, within [min, max] */
    SETTING_SECONDS,  /* double seconds, written as 250us, 0.5ms or 20s; limits in microseconds */
    SETTING_NODE,     /* const struct yaml_node *, any kind; for what the caller reads itself */
};

struct setting {
    const char *key;
    enum setting_type type;
    size_t offset;
    const char *otherwise; /* default as text; NULL: required; "" with TEXT or NODE: may be absent
                              and the field is NULL then */
    int64_t min;
    int64_t max; /* min == max == 0: no limits */
    const char *help;
};

/* Fills object from the mapping, defaults first.  On failure object is as settings_clear() leaves
   it. */
int settings_read(const struct yaml_node *mapping, const struct setting *table, size_t count,
                  void *object, struct error *err) __attribute__((warn_unused_result));

/* One of the tables that share a mapping, and the struct that it fills. */
struct settings_part {
    const struct setting *settings;
    size_t count;
    void *object;
};

/* The same for a mapping whose keys are in several tables.  No key may be in two of them. */
int settings_read_parts(const struct yaml_node *mapping, const struct settings_part *parts,
                        size_t count, struct error *err) __attribute__((warn_unused_result));

/* The keys that the entries of one kind have of their own: a kind of provider, source or cluster.
 */
struct settings_kind {
    const char *name;  /* "cloudwatch" */
    const char *maker; /* for the documentation: "AWS"; NULL: the name says enough */
    const struct setting *settings;
    size_t count;
    size_t size;         /* of the struct that they fill */
    const char *no_file; /* a text other than a path that a SETTING_PATH may have; NULL: none */
    /* Checks that concern more than one key; NULL: none. *ret_key is the wrong key. */
    int (*check)(const void *object, const char **ret_key, struct error *err);
};

/* Kinds by number; NULL after the last. */
typedef const struct settings_kind *(*settings_kinds_fn)(size_t at);

/* The fields of type SETTING_PATH, one a call; *at is 0 at first.  NULL: there are no more. */
char **settings_next_path(const struct setting *table, size_t count, void *object, size_t *at);

/* The setting of that key; NULL: none. */
const struct setting *settings_find(const struct setting *table, size_t count, const char *key);

/* The key's value; NULL and an error at the mapping when it is absent. */
const struct yaml_node *settings_need(const struct yaml_node *mapping, const char *key,
                                      struct error *err) __attribute__((warn_unused_result));

/* Sets only the keys in the mapping; the rest of object stays as it is.  On failure keys before the
   wrong one may be set. */
int settings_change(const struct yaml_node *mapping, const struct setting *table, size_t count,
                    void *object, struct error *err) __attribute__((warn_unused_result));

/* Fills object with the defaults alone; required fields stay empty. */
void settings_default(const struct setting *table, size_t count, void *object);

/* Frees the texts. */
void settings_clear(const struct setting *table, size_t count, void *object);

/* Appends one row a setting as Markdown: key, type, default, help. */
void settings_document(const struct setting *table, size_t count, struct text *out);
