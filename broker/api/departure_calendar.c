/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See departure_calendar.h.
 */
#include "broker/api/departure_calendar.h"

#include "base/input/json.h"

#include <string.h>

char *departure_jobs(const json_t *row, const char *between)
{
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(row, "jobs"), i, job)
        text_add(out, "%s%s %s", i ? between : "", json_text_or(job, "kind", ""),
                 json_text_or(job, "job", ""));
    return text_take(steal(&out));
}

/* "20261117T073000Z" of "2026-11-17T07:30:00.250Z": a DATE-TIME has whole seconds (RFC 5545,
   section 3.3.5). */
static void add_stamp(struct text *out, const char *key, const char *time)
{
    text_add(out, "%s:", key);
    for (; *time && *time != '.' && *time != 'Z'; time++)
        if (*time != '-' && *time != ':')
            text_add(out, "%c", *time);
    text_add(out, "Z\r\n");
}

/* A content line: TEXT is escaped, and folded before its 75th octet (never inside a character).  A
   control character, which TEXT has no form for, becomes a space. */
static void add_line(struct text *out, const char *key, const char *chars)
{
    size_t width = strlen(key) + 1;

    text_add(out, "%s:", key);
    for (; *chars; chars++) {
        bool is_escaped = strchr("\\;,", *chars) != NULL;
        bool is_control = (unsigned char)*chars < ' ' || *chars == 0x7f;
        bool begins_character = ((unsigned char)*chars & 0xC0) != 0x80;

        if (begins_character && width + 6 > 75) {
            text_add(out, "\r\n ");
            width = 1;
        }
        text_add(out, "%s%c", is_escaped ? "\\" : "", is_control ? ' ' : *chars);
        width += is_escaped ? 2 : 1;
    }
    text_add(out, "\r\n");
}

/* A calendar has at least one component (RFC 5545, section 3.6), and programs refuse one that has
   none.  The definition of a time zone is no event. */
static const char no_events[] = "BEGIN:VTIMEZONE\r\nTZID:UTC\r\nBEGIN:STANDARD\r\n"
                                "DTSTART:19700101T000000\r\nTZOFFSETFROM:+0000\r\n"
                                "TZOFFSETTO:+0000\r\nTZNAME:UTC\r\nEND:STANDARD\r\n"
                                "END:VTIMEZONE\r\n";

/* The UID stays when the time changes, so that a calendar moves the event.  A node is on the board
   once at most. */
void departures_ical(const json_t *answer, struct text *out)
{
    const json_t *row;
    size_t i;

    text_add(out, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//sluice//departures//EN\r\n");
    if (json_array_size(json_object_get(answer, "departures")) == 0)
        text_add(out, "%s", no_events);
    json_array_foreach(json_object_get(answer, "departures"), i, row) {
        const char *node = json_text_or(row, "node", "");
        owned(chars) char *jobs = departure_jobs(row, ", ");
        owned(chars) char *uid = text_format("%s.%s@sluice", node,
                                             json_text_or(row, "cluster", ""));
        owned(chars) char *summary = text_format("%s leaves %s", node,
                                                 json_text_or(row, "cluster", ""));
        owned(chars) char *told = text_format("to %s (%s). Jobs: %s", json_text_or(row, "to", ""),
                                              json_text_or(row, "certainty", ""),
                                              jobs[0] ? jobs : "none");

        text_add(out, "BEGIN:VEVENT\r\n");
        add_line(out, "UID", uid);
        add_stamp(out, "DTSTAMP", json_text_or(answer, "at", ""));
        add_stamp(out, "DTSTART", json_text_or(row, "leaves", ""));
        add_line(out, "SUMMARY", summary);
        add_line(out, "DESCRIPTION", told);
        text_add(out, "STATUS:%s\r\nTRANSP:TRANSPARENT\r\nEND:VEVENT\r\n",
                 text_equal(json_text_or(row, "certainty", ""), "planned") ? "TENTATIVE"
                                                                           : "CONFIRMED");
    }
    text_add(out, "END:VCALENDAR\r\n");
}
