# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the plays with a SIGKILL at each commit of a move have reached; sourced, not run.  Point 2 n - 2
# is before commit n, point 2 n - 1 right after it.  Their logs have a line for each move:
#
#   pair-3: there, commit 12 before: drain, 1 deaths, 70 commits, 21.3 s

# tell_points EACH FROM LOG...: these lines in order, and how many of the points from FROM on, each
# EACH-th, were left out; false: some were.
tell_points() {
    local each=$1 from=$2
    shift 2
    cat "$@" | grep '^[^ ]*: .* deaths, ' | sort -t' ' -k2,2r -k4,4n -k5,5r
    cat "$@" | awk -v each="$each" -v from="$from" '
        /^[^ ]+: .* deaths, / {
            way = $2
            sub(/,$/, "", way)
            sub(/:$/, "", $5)
            sub(/,$/, "", $6)
            if ($7 == 0) {
                # Not every move has as many commits as the longest.
                commits[way] = commits[way] == 0 || $9 < commits[way] ? $9 : commits[way]
            } else {
                seen[way, ($4 - 1) * 2 + ($5 == "after")] = 1
                last[way] = $4 > last[way] ? $4 : last[way]
                deaths[way]++
                in_step[way, $6]++
                steps[$6]
            }
            slowest = $11 > slowest ? $11 : slowest
        }
        END {
            split("there back", ways)
            for (i = 1; i <= 2; i++) {
                way = ways[i]
                missing = 0
                for (point = from; point < 2 * commits[way]; point += each)
                    missing += !seen[way, point]
                in_all = ""
                for (step in steps)
                    if (in_step[way, step])
                        in_all = in_all sprintf("%s%s %d", in_all ? ", " : "", step, in_step[way, step])
                printf "killed on the way %s, in moves of at least %d commits: %s\n", way, commits[way], in_all
                printf "%s %s: %d kills by SIGKILL, before and after commits %d to %d; points left out: %d\n", \
                    missing || !deaths[way] ? "FAILED" : "ok", way, deaths[way], from / 2 + 1, last[way], missing
                bad += missing > 0 || deaths[way] == 0
            }
            printf "slowest move: %.1f s\n", slowest
            exit bad > 0
        }'
}
