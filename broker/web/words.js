/* SPDX-License-Identifier: Apache-2.0
 *
 * Times and numbers as the commands write them: one zone for all, the one of the windows. */

let zone = "UTC";
let clock, day, date, year, stamp, zoned;

export function useZone(name) {
  try {
    clock = new Intl.DateTimeFormat("en-GB", { timeZone: name, hour: "2-digit", minute: "2-digit" });
    day = new Intl.DateTimeFormat("en-GB", { timeZone: name, weekday: "short", hour: "2-digit", minute: "2-digit" });
    date = new Intl.DateTimeFormat("en-GB", { timeZone: name, weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
    year = new Intl.DateTimeFormat("en-GB", { timeZone: name, day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
    stamp = new Intl.DateTimeFormat("sv-SE", { timeZone: name, dateStyle: "short", timeStyle: "medium" });
    zoned = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "short" });
    zone = name;
  } catch {
    if (name !== "UTC") useZone("UTC"); /* a zone that this browser does not know */
  }
}
useZone("UTC");

export const zoneName = () => zone;

/* "07:12" of milliseconds or of an RFC 3339 text. */
export const hour = (time) => clock.format(typeof time === "string" ? Date.parse(time) : time);

const DAY_MS = 86400000;

/* "Tue 07:12" within six days, beyond them "Tue 24 Nov 07:12", and "24 Nov 2027 07:12" beyond half a
 * year; "-" for null. */
export function when(time) {
  if (!time) return "-";
  const ms = typeof time === "string" ? Date.parse(time) : time;
  const days = Math.abs(ms - Date.now()) / DAY_MS;
  return (days < 6 ? day : days < 180 ? date : year).format(ms).replaceAll(",", "");
}

/* A sentence of the service with its times in UTC as those of the zone: "2026-11-17 07:12 EST". */
export const local = (text) => String(text ?? "").replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b/g, (time) => {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return time;
  return `${stamp.format(ms).replace(/:00$/, "")} ${zoned.formatToParts(ms).find((part) => part.type === "timeZoneName").value}`;
});

/* "18m", "1h18m", "2d4h" of seconds; "-" for null. */
export function span(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "-";
  const s = Math.abs(Math.round(seconds)), sign = s > 0 && seconds < 0 ? "-" : "";
  if (s < 60) return `${sign}${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${sign}${m}m`;
  const h = Math.floor(m / 60);
  if (h < 24) return `${sign}${h}h${m % 60 ? `${m % 60}m` : ""}`;
  return `${sign}${Math.floor(h / 24)}d${h % 24 ? `${h % 24}h` : ""}`;
}

/* Between two RFC 3339 texts. */
export const between = (from, to) => (from && to ? span((Date.parse(to) - Date.parse(from)) / 1000) : "-");

export const number = (value) => (value === null || value === undefined ? "-" : String(value));

export const hours = (value) => (typeof value === "number" ? value.toFixed(1) : "-");

export const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
