/* SPDX-License-Identifier: Apache-2.0
 *
 * What the schedules in force were planned for: the need of each window with its interval, and how well
 * such bounds held.  What is not known is said, and never shown as a number. */

import { find, make, say } from "/page/dom.js";
import { Table } from "/page/table.js";
import { number, when } from "/page/words.js";

const STATES = {
  current: "The schedules in force were planned for this forecast.",
  outdated: "OUTDATED: these schedules were to be planned again by now. What the forecast says of later days is not drawn.",
  "not-asked": "The schedules in force were planned from last week's demand, without a forecast: there is no bound and no interval. `sluice allocate --forecast` plans for one.",
  none: "The schedules in force came without a forecast: there is no bound, no interval and no scorecard. `sluice allocate --forecast` writes one beside the schedules, and `sluice apply` sends it with them.",
};

const digits = (value, n) => (typeof value === "number" ? value.toFixed(n) : "-");
const percent = (value) => (typeof value === "number" ? `${(100 * value).toFixed(0)} %` : "-");
const needOf = (window, key) => (window.need ? digits(window.need.nodes ? window.need.nodes[key] : window.need.gpus[key], 1) : "-");

const needs = new Table("What the windows need, by the forecast", [
  { title: "Window", text: (row) => row.window },
  { title: "Expected need", is_number: true, text: (row) => needOf(row, "point") },
  { title: "From", is_number: true, text: (row) => needOf(row, "lower") },
  { title: "Bound", is_number: true, text: (row) => needOf(row, "bound") },
  { title: "To plan again by", text: (row) => when(row.use_until) },
  { title: "Why there is none", text: (row) => row.why ?? "" },
]);
const queues = new Table("Forecast by queue, in replicas", [
  { title: "Queue", text: (row) => row.queue },
  { title: "Window", text: (row) => row.window },
  { title: "Expected need", is_number: true, text: (row) => digits(row.point, 1) },
  { title: "From", is_number: true, text: (row) => digits(row.lower, 1) },
  { title: "Bound", is_number: true, text: (row) => (row.no_forecast ? "-" : number(row.replicas)) },
  { title: "Holds on", is_number: true, text: (row) => percent(row.share) },
  { title: "By", text: (row) => (row.no_forecast ? `no forecast (${row.no_forecast}); planned for ${row.replicas}` : `${row.method}, ${row.basis}${row.stale ? `, STALE: ${row.stale}` : ""}`) },
]);
const scores = new Table("Scorecard of past bounds", [
  { title: "Queue", text: (row) => row.queue },
  { title: "Occurrences", is_number: true, text: (row) => number(row.score?.occurrences) },
  { title: "Stayed under the bound", is_number: true, text: (row) => percent(row.score?.coverage) },
  { title: "Promised", is_number: true, text: (row) => percent(row.score?.coverage_promised) },
  { title: "Surely between", text: (row) => (row.score ? `${percent(row.score.coverage_low)} and ${percent(row.score.coverage_high)}` : "not scored yet") },
  { title: "Pinball loss", is_number: true, text: (row) => digits(row.score?.loss, 2) },
  { title: "Best simple rule", is_number: true, text: (row) => (row.score ? `${digits(row.score.baseline_loss, 2)} (${row.score.baseline})` : "-") },
  { title: "Verdict", text: verdictOf, mark: (row) => (verdictOf(row).startsWith("NOT") ? "warning" : "") },
]);
const state = make("p");
const unit = make("p", { class: "soft" });
const detail = make("details", null, make("summary", null, "Each queue and window"), queues.element);
const score = make("div", null, make("h3", null, "Scorecard"), scores.element, make("p", { class: "soft" },
  "An occurrence is a past day of a window, predicted from the data before it. The pinball loss counts a replica too few much more than one too many; less is better. ",
  "The simple rules are last week's need, and that plus a tenth."));

/* Whether the past speaks against the bounds, as far as so few days can say. */
function verdictOf({ score: found }) {
  if (!found) return "-";
  if (found.coverage_high < found.coverage_promised) return "NOT kept: the bounds were too low";
  return found.loss > found.baseline_loss ? "NOT better than the simple rule" : "kept, and better than the simple rule";
}

export function setUpForecast() {
  find("forecast").append(state, unit, needs.element, detail, score);
}

export function showForecast(forecast) {
  const { windows } = forecast;
  const is_nodes = windows.some((window) => window.need?.nodes);
  const stale = windows.flatMap((window) => window.queues.filter((row) => row.stale).map((row) => `${row.queue} in ${window.window} (${row.stale})`));
  say(state, (stale.length ? `STALE for ${stale.slice(0, 4).join(", ")}${stale.length > 4 ? `, and ${stale.length - 4} more` : ""}. ` : "") + (STATES[forecast.state] ?? forecast.state));
  state.className = forecast.state === "outdated" ? "wrong" : "";
  say(unit, windows.some((window) => window.need)
    ? `In ${is_nodes ? "nodes" : "GPUs"}, all queues together, at least: before packing, spare nodes and static nodes. The need of a day is meant to lie between From and Bound.` : "");
  needs.show(windows, (row) => row.window, "");
  const rows = windows.flatMap((window) => window.queues.map((row) => ({ ...row, window: window.window })));
  queues.show(rows, (row) => `${row.window} ${row.queue}`, "");
  detail.hidden = rows.length === 0;
  score.hidden = !windows.some((window) => window.is_forecast);
  scores.show([...forecast.scores, ...(forecast.scores.length > 1 ? [{ queue: "all", score: forecast.score }] : [])], (row) => row.queue, "No bound has been scored yet.");
}
