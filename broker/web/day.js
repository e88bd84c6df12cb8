/* SPDX-License-Identifier: Apache-2.0
 *
 * The section of the day: what was, what the schedules want, and the moves. */

import { find, make, say } from "/page/dom.js";
import { picture, swatch } from "/page/picture.js";
import { Table } from "/page/table.js";
import { count, number, when, zoneName } from "/page/words.js";

const ALL = "", LANES = 12, HOUR = 3600000;
const READY = 1, WANTED = 2, LENT = 3;

const chooser = make("select", { id: "day-cluster", onchange: () => render() });
const frame = make("div", { class: "picture" });
const note = make("p", { class: "soft" });
const hidden = make("p", { class: "soft" });
const windows = new Table("What the windows want", [
  { title: "From", text: (row) => when(row.from) },
  { title: "Window", text: (row) => row.window },
  { title: "Nodes wanted", is_number: true, text: (row) => number(row.nodes) },
]);
let facts = { day: null, status: null, departures: null, forecast: null };

/* Looks of several clusters are of the same times: their sum, unknown if one of them is. */
function sum(clusters, column, now) {
  const first = clusters[0]?.course ?? [];
  return first.map((look, i) => {
    const values = clusters.map((cluster) => cluster.course[i]?.[column] ?? null);
    return [now - look[0] * 1000, values.includes(null) ? null : values.reduce((a, b) => a + b, 0)];
  });
}

/* The stairs of the hours to come; a cluster whose number is not known leaves a gap. */
function ahead(clusters, now, until) {
  const rows = clusters[0]?.ahead ?? [];
  const points = rows.map((row, i) => {
    const values = clusters.map((cluster) => cluster.ahead[i]?.nodes ?? null);
    return [Math.max(Date.parse(row.from), now), values.includes(null) ? null : values.reduce((a, b) => a + b, 0)];
  });
  const last = points.at(-1);
  if (last) points.push([until, last[1]]);
  return points;
}

/* The need that the forecast says of the windows to come: of all production together, so not of one
 * cluster of several.  A window of which it says nothing is a gap. */
function needs(production, chosen, windows) {
  const whole = facts.day.clusters.filter((c) => c.role === "production").length;
  if (!facts.forecast || production.length === 0 || (chosen !== ALL && whole > 1)) return [];
  return windows.map((window) => {
    const found = facts.forecast.windows.find((row) => row.window === window.name);
    const is_late = found && Date.parse(found.use_until) <= window.from;
    return { from: Math.max(window.from, facts.now), to: window.to, need: is_late ? null : found?.need?.nodes ?? null };
  });
}

/* Why some of it is not drawn; "" when all is. */
function lackOf(course, chosen) {
  const { forecast } = facts;
  if (!forecast) return "";
  if (course.needs.length === 0)
    return chosen === ALL ? "" : "The bound of demand is of all clusters together: choose all clusters to see it.";
  if (forecast.state === "none" || forecast.state === "not-asked") return "There is no bound of demand: these schedules were made without a forecast (see Forecast).";
  if (course.needs.every((row) => row.need)) return "";
  if (forecast.windows.some((row) => row.need && !row.need.nodes)) return "The bound of demand is known in GPUs only: production has nodes of several sizes (see Forecast).";
  const names = new Set(course.windows.filter((window, i) => !course.needs[i].need).map((window) => window.name));
  return `No bound of demand is drawn for ${[...names].join(", ")}${forecast.state === "outdated" ? ": the forecast is OUTDATED" : ""} (see Forecast).`;
}

function clusterOf(status, pool) {
  return status.pools.find((row) => row.pool === pool)?.cluster ?? pool;
}

/* One bar for each pair of clusters and time; those under way first. */
function moves(chosen, from, to) {
  const bars = new Map();
  const { status, departures } = facts;
  const add = (key, bar) => {
    const known = bars.get(key);
    if (!known) bars.set(key, { ...bar, nodes: 1 });
    else Object.assign(known, { nodes: known.nodes + 1, from: Math.min(known.from, bar.from), to: Math.max(known.to, bar.to) });
  };
  const fits = (...names) => chosen === ALL || names.includes(chosen);

  for (const row of status?.transfers ?? []) {
    const origin = clusterOf(status, row.from), target = clusterOf(status, row.to);
    const begin = Date.parse(row.created), end = row.expected ? Date.parse(row.expected) : facts.now;
    if (fits(origin, target))
      add(`running ${origin} ${target} ${row.due ?? ""} ${row.is_emergency}`,
        { is_running: true, from: begin, to: Math.max(end, begin), way: `${origin} to ${target}${row.is_emergency ? ", reclaim" : ""}` });
  }
  for (const row of departures?.departures ?? []) {
    const begin = Date.parse(row.leaves);
    if (row.certainty === "planned" && !row.held && begin >= facts.now && fits(row.cluster, row.to))
      add(`planned ${row.cluster} ${row.to} ${row.leaves}`,
        { is_running: false, from: begin, to: begin + (status?.lead_p50_s ?? 0) * 1000, way: `${row.cluster} to ${row.to}, planned` });
  }
  return [...bars.values()].filter((bar) => bar.to >= from && bar.from <= to)
    .sort((a, b) => b.is_running - a.is_running || a.from - b.from)
    .map((bar) => ({ ...bar, text: `${bar.nodes} ${bar.way}` }));
}

function courseOf(chosen) {
  const { day } = facts, now = Date.parse(day.at);
  const production = day.clusters.filter((c) => c.role === "production" && (chosen === ALL || c.cluster === chosen));
  const research = day.clusters.filter((c) => c.role === "research" && (chosen === ALL || c.cluster === chosen));
  const until = Date.parse(day.until), since = day.since ? Date.parse(day.since) : now;
  /* A young service has seen little: the picture then begins an hour ago, and the future has more room. */
  const from = Math.max(now - 24 * HOUR, Math.min(since, now - HOUR));
  const rows = (day.clusters.find((c) => c.ahead) ?? { ahead: [] }).ahead;
  const course = {
    from, to: until, now,
    windows: rows.map((row, i) => ({ name: row.window, from: Date.parse(row.from), to: rows[i + 1] ? Date.parse(rows[i + 1].from) : until })),
    ready: sum(production.length ? production : research, READY, now),
    wanted: sum(production, WANTED, now),
    lent: sum(research, LENT, now),
    ahead: ahead(production, now, until),
    moves: moves(chosen, from, until),
  };
  course.needs = needs(production, chosen, course.windows);
  course.hidden = Math.max(course.moves.length - LANES, 0);
  course.moves.length = Math.min(course.moves.length, LANES);
  const all = [...course.ready, ...course.wanted, ...course.lent, ...course.ahead].map((point) => point[1] ?? 0)
    .concat(course.needs.map((row) => row.need?.bound ?? 0));
  course.most = Math.max(Math.ceil(Math.max(...all, 1) * 1.1), 4);
  return course;
}

function titleOf(course, chosen) {
  const last = (points) => number(points.at(-1)?.[1] ?? null);
  const bound = course.needs[0]?.need?.bound;
  return `${chosen || "All clusters"}: ${last(course.ready)} nodes ready, ${last(course.wanted)} wanted now, `
    + `${bound === undefined ? "no bound of demand" : `the demand's bound needs ${bound.toFixed(1)}`}, ` + `${last(course.lent)} lent, ${count(course.moves.length + course.hidden, "move")} planned or under way. `
    + "The table below has what the windows want.";
}

function render() {
  const { day } = facts;
  if (!day) return;
  const chosen = chooser.value, course = courseOf(chosen);
  course.width = Math.max(Math.min(frame.clientWidth || 960, 1200), 320);
  course.title = titleOf(course, chosen);
  frame.replaceChildren(picture(course));
  say(hidden, course.hidden ? `${count(course.hidden, "further move")} not drawn: the section Transfers has all.` : "");
  say(note, `Times in ${zoneName()}. ${day.since
    ? `Ready, lent and wanted nodes are what this service saw since ${when(day.since)}; it keeps 24 hours, and forgets them when it restarts.`
    : "The service has not seen its clusters yet."} ${lackOf(course, chosen)}`.trim());
  const rows = day.clusters.filter((c) => c.ahead && (chosen === ALL || c.cluster === chosen))
    .flatMap((c) => c.ahead.map((row) => ({ ...row, window: `${row.window}, ${c.cluster}` })));
  windows.show(rows, (row) => `${row.from} ${row.window}`, "No schedule is in force.");
}

export function setUpDay() {
  const legend = make("ul", { class: "legend" },
    make("li", null, swatch("wanted"), "wanted by the schedule"),
    make("li", null, swatch("wanted ahead"), "wanted next"),
    make("li", null, swatch("bound"), "bound of demand"),
    make("li", null, swatch("interval"), "its interval"),
    make("li", null, swatch("ready"), "ready"),
    make("li", null, swatch("lent"), "lent to research"),
    make("li", null, swatch("running"), "moves under way"),
    make("li", null, swatch("planned"), "moves planned"));
  find("day").append(
    make("div", { class: "row" }, make("label", { for: "day-cluster" }, "Show"), chooser),
    frame, legend, hidden, note,
    make("details", null, make("summary", null, "What the windows want, as a table"), windows.element));
  addEventListener("resize", render);
}

export function showDay(next) {
  Object.assign(facts, next);
  const { day } = facts;
  if (!day) return;
  facts.now = Date.parse(day.at);
  const names = [ALL, ...day.clusters.map((c) => c.cluster)];
  if ([...chooser.options].map((option) => option.value).join("\n") !== names.join("\n")) {
    const chosen = chooser.value;
    chooser.replaceChildren(...names.map((name) => make("option", { value: name }, name || "all clusters")));
    chooser.value = names.includes(chosen) ? chosen : ALL;
  }
  render();
}
