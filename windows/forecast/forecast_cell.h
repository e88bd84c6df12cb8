/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The data of a forecast (windows/forecast/forecast.h): one cell for each window of the week, with
 * the window's past occurrences and the predictions of the next ones.
 */
#pragma once

#include "windows/calendar/window.h"
#include "windows/demand/demand.h"
#include "windows/forecast/conformal.h"
#include "windows/forecast/shares.h"
#include "windows/queueing/replay.h"

#define FORECAST_MISSES 0.1 /* of the bound, where nothing else is asked for */

enum forecast_method { FORECAST_LAST_WEEK, FORECAST_PROFILE, FORECAST_METHODS };

enum forecast_stale {
    FORECAST_FRESH,
    FORECAST_NO_DATA, /* less than half of the last day is known */
    FORECAST_OVERRUN, /* half an hour of the last day needed over a tenth more than its bound */
    FORECAST_OLD,     /* the demand ends over two days before now */
};

enum forecast_lack { /* why nothing is said of a window's next days */
                     FORECAST_FORETOLD,
                     FORECAST_NO_DAYS,  /* the demand has no day of the window */
                     FORECAST_UNKNOWN,  /* too little is known of each of its days */
                     FORECAST_IDLE,     /* nothing arrived on any day of which enough is known */
                     FORECAST_NOT_NEAR, /* no day of it lies within a week, or the known ones are
                                           too old */
                     FORECAST_NO_SHAPE, /* of a plan alone: the last seven days cannot be scaled to
                                           the bound */
                     FORECAST_PARTLY,   /* of a plan alone: over a tenth of the window is unknown
                                           each time, and the bound is of the rest */
};

struct forecast_setup {
    const struct demand_series *series;
    const struct window_set *set;
    double service_s;
    double service_cv;
    const struct engine *engine; /* borrowed; NULL: one request at a time */
    double scale;                /* of the arrivals */
    double misses;               /* the share of days that the bound may miss; 0: FORECAST_MISSES */
    struct replay_target target;
    struct wall_time end; /* of the demand: what comes after it is forecast */
    struct wall_time now; /* 0: it is not asked how old the demand is */
    int horizon_days;     /* a plan is made again after so many: 1 to 7 (also for 0) */
    int64_t lead_ms;      /* over 0: again for each window, so long before it begins */
    int64_t again_ms;     /* with a lead, over 0: once more, so long after each window has begun; a
                             shorter one keeps the plan of its beginning */
    bool is_shared;       /* with a lead: for all windows of a day together, as their misses are
                             shared out, when the first of them is planned; at its midnight at
                             the latest */
    int64_t day;          /* local day that is planned so */
    unsigned without;     /* parts that are left out (windows/forecast/forecast_parts.h) */
};

struct forecast_occurrence {
    int64_t day; /* on which it begins, local */
    int weekday; /* the weekday as which that day counts */
    struct wall_time begin;
    struct wall_time end;
    size_t steps; /* known; of `steps_all` */
    size_t steps_all;
    size_t steps_usual; /* but for those that are unknown each time */
    bool is_known;
    double need;
    bool is_scored; /* was predicted, from the data before it: */
    double profile; /* without the level of the last days */
    double points[FORECAST_METHODS];
    double bounds[FORECAST_METHODS]; /* at the share of misses that is asked for */
    double shares[SHARES];           /* at those of shares_grid, of the method in use */
    enum forecast_method method;     /* that was in use */
    enum conformal_basis basis;
    double alike; /* the correlation of the scores of one day, as it was known then */
};

/* The accuracy of the bound on past days; losses are sums of pinball losses at the requested share
   of misses, in servers. */
struct forecast_score {
    size_t scored;
    size_t covered;
    size_t bases[CONFORMAL_BASES]; /* of those scored: what their bound rested on */
    size_t bases_covered[CONFORMAL_BASES];
    double loss;
    double last_week_loss;    /* of planning with last week's need */
    double last_week_10_loss; /* of planning with a tenth more than that */
    double needs;             /* sums, in servers */
    double bounds;
};

struct forecast_cell {
    ARRAY(struct forecast_occurrence) past;
    size_t missing;  /* occurrences */
    size_t idle;     /* occurrences that are known, and in which nothing arrives */
    size_t holidays; /* occurrences, that counted as another day */
    double
        usually_known;   /* share of the window, at its latest known occurrence; 0: there is none */
    double last;         /* need of the last seven days together, as allocate asks for it */
    int64_t away_ms;     /* from the end of the demand to the first occurrence ahead */
    ARRAY(double) ahead; /* points of its occurrences within the horizon, or of its next one */
    double hours;        /* hours of these occurrences together */
    double point;        /* of the neediest of them */
    double lower;
    double upper;
    double misses;         /* the share of days that `upper` may miss */
    double uppers[SHARES]; /* at the shares of shares_grid */
    enum conformal_basis bases[SHARES];
    double scale;   /* factor for the last seven days' arrivals, so that they need `upper`; 1 if
                       unknown */
    bool is_scaled; /* with `scale` they need it, or more */
    double growth;  /* a week, as a factor */
    enum forecast_method method;
    enum conformal_basis basis;
    enum forecast_stale stale;
    struct forecast_score score;
};

struct forecast {
    struct forecast_cell *cells; /* one a window of the week */
    size_t count;
    struct forecast *hours; /* windows/forecast/hours.h; NULL until a plan follows the day */
};
