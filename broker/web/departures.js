/* SPDX-License-Identifier: Apache-2.0
 *
 * The departure board for researchers, and the same as a calendar. */

import { askBlob } from "/page/api.js";
import { find, make, say } from "/page/dom.js";
import { Table } from "/page/table.js";
import { between, count, span, when } from "/page/words.js";

const ROWS = 50;
let board = null;
let shown = ROWS;

const jobsOf = (row) => row.jobs.map((job) => `${job.namespace}/${job.job} (${job.gpus} GPUs)`.replace(`${job.namespace}/${job.namespace}/`, `${job.namespace}/`)).join(", ");

const table = new Table("Departures", [
  { title: "Node", text: (row) => row.node },
  { title: "Leaves", text: (row) => when(row.leaves) },
  { title: "In", is_number: true, text: (row) => between(board.at, row.leaves) },
  { title: "Certainty", text: (row) => row.certainty + (row.held ? `, held: ${row.held}` : "") },
  { title: "From", text: (row) => row.cluster },
  { title: "To", text: (row) => row.to },
  { title: "For window", text: (row) => row.window },
  { title: "Work on it", text: (row) => jobsOf(row) || "none" },
]);

const filter = make("input", { id: "departures-filter", type: "search", placeholder: "node, job or cluster", oninput: () => { shown = ROWS; render(); } });
const more = make("button", { type: "button", hidden: true, onclick: () => { shown += ROWS; render(); } });
const note = make("p", { class: "soft" });

/* A link would not send the token. */
async function download() {
  const link = make("a", { download: "departures.ics" });
  try {
    link.href = URL.createObjectURL(await askBlob("/v1/departures.ics"));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  } catch (error) {
    say(note, error.message);
  }
}

function render() {
  if (!board) return;
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = board.departures.filter((row) => {
    if (words.length === 0) return true;
    const text = `${row.node} ${row.cluster} ${row.to} ${row.window} ${jobsOf(row)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const total = board.departures.length;
  const unknown = board.unknown.map((row) => row.pool).join(", ");
  table.show(rows.slice(0, shown), (row) => `${row.cluster} ${row.node}`,
    total > 0 ? "No departure fits these words."
      : unknown ? "No departure is known in the next 24 hours, but not all pools are known."
        : "No node that is here leaves in the next 24 hours.");
  more.hidden = rows.length <= shown;
  say(more, `Show more of ${rows.length}`);
  say(note, `${count(total, "departure")} until ${when(board.until)}; notice is ${span(board.notice_s)}.`
    + (board.unnamed_nodes ? ` ${count(board.unnamed_nodes, "further departure")} of nodes that are still to come.` : "")
    + (unknown ? ` Left out, because they were not seen lately: ${unknown}.` : ""));
}

export function setUpDepartures() {
  find("departures").append(
    make("div", { class: "row" }, make("label", { for: "departures-filter" }, "Find"), filter,
      make("button", { type: "button", onclick: download }, "Save as calendar (iCal)")),
    table.element, more, note);
}

export function showDepartures(next) {
  board = next;
  render();
}
