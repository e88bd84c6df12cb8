/* SPDX-License-Identifier: Apache-2.0
 *
 * Transfers: those that wait for the same thing are one row, which opens.  A closed row has no
 * element for its nodes, so that 800 moves are some ten rows. */

import { find, List, make, say } from "/page/dom.js";
import { Table } from "/page/table.js";
import { between, count, when } from "/page/words.js";

const GROUPS = 60, NODES = 100;
let at = null;
let groupsShown = GROUPS;
let last = null;

/* Words with digits (pods, nodes, counts) differ from node to node, what they wait for does not. */
const pattern = (text) => text.replace(/\S*\d\S*/g, "…");

function groupsOf(transfers) {
  const groups = new Map();
  for (const row of transfers) {
    const key = `${row.needs_operator} ${row.from} ${row.to} ${row.step} ${row.is_undoing} ${row.is_emergency} ${pattern(row.waits_for)}`;
    const group = groups.get(key);
    if (!group) groups.set(key, { key, first: row, rows: [row], is_same: true });
    else {
      group.rows.push(row);
      group.is_same &&= row.waits_for === group.first.waits_for;
    }
  }
  return [...groups.values()].sort((a, b) => b.first.needs_operator - a.first.needs_operator || b.rows.length - a.rows.length);
}

function lastOf(rows, key) {
  return rows.reduce((latest, row) => (row[key] && (!latest || row[key] > latest) ? row[key] : latest), null);
}

/* A transfer whose end is not known makes the end of all unknown. */
export function expectedBy(rows) {
  const known = rows.filter((row) => row.expected).length, latest = lastOf(rows, "expected");
  if (known === 0) return "";
  return known === rows.length ? `, all expected by ${when(latest)}` : `, ${known} of ${rows.length} expected by ${when(latest)}`;
}

const columns = [
  { title: "Node", text: (row) => row.node },
  { title: "Transfer", text: (row) => row.transfer },
  { title: "At this step for", is_number: true, text: (row) => between(row.since, at) },
  { title: "Leaves", text: (row) => when(row.departure) },
  { title: "Expected (p95)", text: (row) => when(row.expected) },
  { title: "Due", text: (row) => when(row.due) },
  { title: "Waits for", text: (row) => `${row.waits_for}${row.held ? `; held: ${row.held}` : ""}` },
];

/* The table of an open group. */
function showNodes(item) {
  const { rows } = item.group;
  if (!item.open) return;
  if (!item.table) {
    item.table = new Table("Nodes of this group", columns);
    item.shown = NODES;
    item.more = make("button", { type: "button", onclick: () => { item.shown += NODES; showNodes(item); } });
    item.append(make("div", null, item.table.element, item.more));
  }
  item.table.show(rows.slice(0, item.shown), (row) => row.transfer, "");
  item.more.hidden = rows.length <= item.shown;
  say(item.more, `Show more of ${rows.length} nodes`);
}

function newGroup() {
  const parts = { many: make("span", { class: "many" }), way: make("span"), wait: make("span", { class: "wait" }) };
  const item = make("details", null, make("summary", null, parts.many, " ", parts.way, parts.wait));
  item.parts = parts;
  item.addEventListener("toggle", () => showNodes(item));
  return make("li", null, item);
}

function update(li, group) {
  const item = li.firstChild, { first, rows } = group;
  const kind = [first.is_emergency && "reclaim", first.is_undoing && "going back", first.needs_operator && "needs an operator"].filter(Boolean).join(", ");
  const due = lastOf(rows, "due");
  item.group = group;
  say(item.parts.many, count(rows.length, "node"));
  say(item.parts.way, `${first.from} to ${first.to}, step ${first.step}${kind ? ` (${kind})` : ""}`
    + `${expectedBy(rows)}${due ? `, due ${when(due)}` : ""}`);
  say(item.parts.wait, `waits for: ${(group.is_same ? first.waits_for : pattern(first.waits_for)) || "nothing"}`);
  showNodes(item);
}

const sum = make("p");
const list = new List(make("ul", { class: "groups" }), newGroup, update);
const more = make("button", { type: "button", hidden: true, onclick: () => { groupsShown += GROUPS; showTransfers(last); } });

export function setUpTransfers() {
  find("transfers").append(sum, list.parent, more);
}

function stepsOf(status) {
  const steps = Object.entries(status.steps).filter(([name, n]) => n > 0 && name !== "needs_operator");
  return steps.map(([name, n]) => `${n} ${name.replace("_", " ")}`).join(", ");
}

export function showTransfers(status) {
  const groups = groupsOf(status.transfers);
  last = status;
  at = status.at;
  say(sum, status.live_transfers === 0 ? "No node is moving."
    : `${count(status.live_transfers, "transfer")}: ${stepsOf(status)}.${status.steps.needs_operator ? ` ${status.steps.needs_operator} need an operator.` : ""}`);
  list.show(groups.slice(0, groupsShown), (group) => group.key);
  more.hidden = groups.length <= groupsShown;
  say(more, `Show more of ${groups.length} groups`);
}
