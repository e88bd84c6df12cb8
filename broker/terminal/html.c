/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See html.h.
 */
#include "broker/terminal/html.h"

void html_add_text(const char *chars, struct text *out)
{
    for (; *chars; chars++)
        switch (*chars) {
        case '&':
            text_add(out, "&amp;");
            break;
        case '<':
            text_add(out, "&lt;");
            break;
        case '>':
            text_add(out, "&gt;");
            break;
        case '"':
            text_add(out, "&quot;");
            break;
        default:
            if ((unsigned char)*chars >= ' ')
                text_add_bytes(out, chars, 1);
        }
}
