/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Least squares for profile.c: up to three terms, no intercept of its own, and a trim for
 * disturbances that only ever make the seconds more.
 */
#pragma once

#include "windows/servers/profile.h"

struct profile_row {
    double x[PROFILE_TERMS];
    double y;
    double weight; /* of the row in `explained` */
    double batch;
    size_t interval; /* its place among the intervals */
    size_t instance;
    bool is_kept;
};

struct profile_table {
    struct profile_row *rows;
    size_t count;
    int terms;         /* 2: without prefill */
    bool is_disturbed; /* idle moments add to y */
};

struct profile_fit {
    double value[PROFILE_TERMS];
    double covariance[PROFILE_TERMS][PROFILE_TERMS];
    size_t used;
    double residual;  /* standard deviation, over y */
    double explained; /* share of the variance of y over the weight */
};

/* Fits the rows that are kept. false: singular, or fewer than two more than terms. */
bool profile_fit_solve(const struct profile_table *table, struct profile_fit *ret)
    __attribute__((warn_unused_result));

/* The same; in a disturbed table rows whose y is too great for the others are dropped first,
   because disturbances only add to y.  In the end rows that differ from the fit only by chance are
   kept. */
bool profile_fit_table(struct profile_table *table, struct profile_fit *ret)
    __attribute__((warn_unused_result));

/* Variance of the sum of terms times `at`. */
double profile_fit_variance(const struct profile_fit *fit, const double at[PROFILE_TERMS]);

/* Rows that are kept, and how far their batches lie apart. */
size_t profile_kept(const struct profile_table *table);
struct profile_spread profile_batch_spread(const struct profile_table *table);
