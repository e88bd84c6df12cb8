# SPDX-License-Identifier: Apache-2.0
#
# Reads what strip.awk prints, and names each function, and each pointer to one, that is declared
# with more than parameter_max parameters.  A function's name stands in a line that begins at the
# margin, a pointer's name in brackets with an asterisk.

# How many there are in the brackets with which the text begins; `closed` is where they close, 0:
# in a later line.
function parameters(text,    at, depth, count, c) {
    closed = 0
    count = 1
    for (at = 1; at <= length(text) && !closed; at++) {
        c = substr(text, at, 1)
        if (c ~ /[([{]/)
            depth++
        else if (c ~ /[])}]/ && --depth == 0)
            closed = at
        else if (c == "," && depth == 1)
            count++
    }
    return count
}

# Whether the declaration is complete.
function judge(text,    name, count) {
    while (match(text, /(\(\*[A-Za-z_][A-Za-z_0-9]*\)|[A-Za-z_][A-Za-z_0-9]*)\(/)) {
        name = substr(text, RSTART, RLENGTH - 1)
        gsub(/[(*)]/, "", name)
        text = substr(text, RSTART + RLENGTH - 1)
        count = parameters(text)
        if (!closed)
            return 0
        if (count > parameter_max && name ~ /[a-z]/ && name != "__attribute__")
            found[place ": " name " has " count " parameters"]
        text = substr(text, name == "__attribute__" ? closed + 1 : 2)
    }
    return 1
}
{
    match($0, /:[0-9]+:/)
    here = substr($0, 1, RSTART + RLENGTH - 2)
    code = substr($0, RSTART + RLENGTH)
    if (code ~ /^[A-Za-z_][^=]*\(/) {
        declaration = code
        place = here
    } else if (declaration != "") {
        declaration = declaration " " code
    } else if (match(code, /\(\*[A-Za-z_][A-Za-z_0-9]*\)\(/) && code !~ /=/) {
        declaration = substr(code, RSTART)
        place = here
    }
    if (declaration != "" && judge(declaration))
        declaration = ""
}
END {
    for (line in found) {
        print line ": group those that belong together in a struct"
        bad = 1
    }
    exit bad
}
