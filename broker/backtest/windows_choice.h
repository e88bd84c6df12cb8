/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The windows that policies plan by, chosen on the demand's own past.  Finer windows follow smooth
 * demand more closely.  On bursty demand they cost more, as each of them has to be right for the
 * judged window to meet its target.  So the nightly plan is played on the last weeks before the
 * judged ones: with the judged windows, and with proposals of several sizes.  What took the fewest
 * GPU-hours at the wanted attainment is used; the judged windows stay if they do not reach it
 * themselves, or no others save two per cent.  After a single week nothing can be played: the most
 * windows are used if its weekdays are alike, else the judged ones.
 */
#pragma once

#include "windows/backtest/backtest.h"

enum {
    WINDOWS_TRIALS = 5,
    WINDOWS_REGULAR = 80, /* per cent; weekdays that are alike: measured, smooth demand has 82 and
                             more, bursty demand 75 and less */
};

struct windows_trial {
    size_t windows; /* at most so many were proposed; 0: the judged ones */
    bool is_played; /* false: so many could not be proposed, or there was no week to play */
    double hours;   /* GPU-hours a week; HUGE_VAL: it does not meet the attainment */
};

struct windows_choice {
    struct windows_trial trials[WINDOWS_TRIALS]; /* the first: the judged windows */
    size_t chosen;                               /* of them */
    size_t weeks;      /* that were played; 0: there was one week only, or none of them could be
                          judged */
    double regularity; /* of a single week (backtest_regularity()) */
};

/* Plays the weeks before `setup->first_week`, which begins at `first`; `setup->planned` may be
   unset.  Nothing from `first` on is read. */
void windows_choose(const struct backtest_setup *setup, struct wall_time first,
                    struct windows_choice *ret_choice);
