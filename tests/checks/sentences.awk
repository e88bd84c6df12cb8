# SPDX-License-Identifier: Apache-2.0
#
# Prints FILE:LINE: N words: "..." for each sentence of Markdown pages with more than -v limit=N words.
# Code blocks are left out; a code span and a link's text count as what a reader sees.  A cell of a
# table, a comma or semicolon in it, and an item of a list end a sentence.

function flush(is_row,   parts, count, i, words, n, k) {
    gsub(/`[^`]*`/, "code", text)
    gsub(/\]\([^)]*\)/, "", text)
    if (is_row)
        gsub(/[,;] /, "|", text)
    count = split(text, parts, /[.!?]["')*]*[ \t]+|[|]/)
    for (i = 1; i <= count; i++) {
        n = 0
        if (parts[i] ~ /^JSON|[{}]/) # members, no sentence
            continue
        k = split(parts[i], words, /[ \t]+/)
        while (k > 0)
            n += words[k--] ~ /[[:alnum:]]/
        if (n > limit) {
            printf "%s:%d: %d words: \"%.60s...\"\n", file, start, n, parts[i]
            bad = 1
        }
    }
    text = ""
}

FNR == 1 {
    flush()
    file = FILENAME
    is_code = 0
}
/^[ \t]*```/ {
    flush()
    is_code = !is_code
    next
}
is_code { next }
/^[ \t]*$/ || /^#/ || /^<!--/ || /^[ \t]*[|]/ || /^[ \t]*([-*]|[0-9]+\.)[ \t]/ { flush() }
/^[ \t]*$/ || /^<!--/ || /^[ \t]*[|][-|: \t]*$/ { next }
{
    if (text == "")
        start = FNR
    sub(/^[ \t]*([-*]|[0-9]+\.)[ \t]+/, "")
    text = text (text == "" ? "" : " ") $0
}
/^#/ { flush() }
/^[ \t]*[|]/ { flush(1) }
END {
    flush()
    exit bad
}
