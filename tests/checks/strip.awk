# SPDX-License-Identifier: Apache-2.0
#
# Prints FILE:LINE:CODE for each line of C, without what stands in comments and between quotes, so
# that the checks see code only.  "//" is left in place: it is an offence of its own.
FNR == 1 { in_comment = 0 }
{
    code = ""
    line = $0
    while (length(line) > 0) {
        if (in_comment) {
            end = index(line, "*/")
            if (end == 0)
                break
            line = substr(line, end + 2)
            in_comment = 0
        } else if (substr(line, 1, 2) == "/*") {
            line = substr(line, 3)
            in_comment = 1
        } else if (match(line, /^"([^"\\]|\\.)*"/) || match(line, /^'([^'\\]|\\.)*'/)) {
            code = code "\"\""
            line = substr(line, RLENGTH + 1)
        } else {
            code = code substr(line, 1, 1)
            line = substr(line, 2)
        }
    }
    print FILENAME ":" FNR ":" code
}
