/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the columns of Tables share.
 */
#pragma once

#include "tools/simulator/apiserver/resources.h"

/* How long ago a time was; "<unknown>" for NULL. */
json_t *api_since(const struct sim_call *call, const char *time);
json_t *api_text_or_none(const char *chars); /* "<none>" for NULL and "" */
json_t *api_name_cell(const struct sim_call *call, const json_t *object);
json_t *api_age_cell(const struct sim_call *call, const json_t *object);

/* A cell that shows a member. */
#define TEXT_CELL(function, path)                                                                  \
    static json_t *function(const struct sim_call *call, const json_t *object)                     \
    {                                                                                              \
        (void)call;                                                                                \
        return api_text_or_none(json_text_or(object, path, NULL));                                 \
    }
#define NUMBER_CELL(function, path)                                                                \
    static json_t *function(const struct sim_call *call, const json_t *object)                     \
    {                                                                                              \
        (void)call;                                                                                \
        return json_integer(json_int_or(object, path, 0));                                         \
    }
