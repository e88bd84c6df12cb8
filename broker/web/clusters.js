/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters, and the freezes and reclaims in force. */

import { mayFreeze, mayReclaim, openEndReclaim, openFreeze, openReclaim, openUnfreeze } from "/page/acts.js";
import { find, List, make, mark, say } from "/page/dom.js";
import { Table } from "/page/table.js";
import { number, span, when } from "/page/words.js";

const BAD = new Set(["SHORT", "STALE", "UNREACHABLE", "BLOCKED", "BEHIND", "OPERATOR"]);
const UNEASY = new Set(["FILLING", "LATE", "CLOSED", "DRIFT", "DOUBT", "CONFIG"]);

const tone = (word) => (BAD.has(word) ? "critical" : UNEASY.has(word) ? "warning" : word === "OK" ? "ok" : "note");

function fillStates(cell, cluster) {
  cell.list ??= (() => {
    const words = make("span", { class: "states" }), trouble = make("span", { class: "wait" });
    cell.append(words, trouble);
    cell.trouble = trouble;
    return new List(words, () => make("span"), (element, word) => {
      mark(element, `state ${tone(word)}`);
      say(element, word);
    });
  })();
  cell.list.show(cluster.states, (word) => word);
  say(cell.trouble, cluster.trouble);
}

let givers = []; // names of the research clusters

/* The buttons of a row read the row's newest item. */
function fillActs(cell, cluster) {
  if (!cell.buttons) {
    cell.buttons = [
      make("button", { type: "button", onclick: () => openReclaim(cell.item.cluster, givers) }, "Reclaim"),
      make("button", { type: "button", onclick: () => openFreeze(cell.item.cluster) }, "Freeze"),
    ];
    cell.append(make("div", { class: "row" }, ...cell.buttons));
  }
  cell.item = cluster;
  const [reclaim, freeze] = cell.buttons;
  reclaim.hidden = cluster.role !== "production" || !mayReclaim();
  freeze.hidden = !mayFreeze();
  reclaim.setAttribute("aria-label", `Reclaim nodes for ${cluster.cluster}`);
  freeze.setAttribute("aria-label", `Freeze ${cluster.cluster}`);
}

const plain = (title, key) => ({ title, is_number: true, text: (row) => number(row[key]) });

const table = new Table("Clusters", [
  { title: "Cluster", text: (row) => row.cluster },
  { title: "Role", text: (row) => row.role },
  plain("Nodes", "nodes"), plain("Wanted", "wanted_nodes"), plain("Static", "static_nodes"),
  plain("Ephemeral", "ephemeral_nodes"), plain("In", "incoming_nodes"), plain("Out", "outgoing_nodes"),
  plain("GPUs ready", "ready_gpus"),
  { title: "Seen before", is_number: true, text: (row) => (row.age_s === null ? "never" : span(row.age_s)) },
  { title: "State", fill: fillStates },
  { title: "Actions", fill: fillActs },
]);

const reservations = new Table("Reservations", [
  { title: "Reservation", text: (row) => row.reservation },
  { title: "Machine", text: (row) => row.machine },
  { title: "Zone", text: (row) => row.zone },
  { title: "Nodes", is_number: true, text: (row) => `${row.nodes} of ${row.reserved_nodes}` },
  { title: "Moving", is_number: true, text: (row) => number(row.moving_nodes) },
]);

function override(text, label, isAllowed, act) {
  return { text, label, isAllowed, act };
}

const overrides = new List(
  make("ul", { class: "conditions" }),
  () => {
    const button = make("button", { type: "button" });
    const item = make("li", { class: "note" }, make("span"), make("div", { class: "row" }, button));
    button.addEventListener("click", () => item.act());
    return item;
  },
  (item, row) => {
    item.act = row.act;
    say(item.firstChild, row.text);
    const button = item.lastChild.firstChild;
    say(button, row.label);
    button.hidden = !row.isAllowed;
  });

const title = make("h3", null, "Freezes, reclaims and approvals");
const freezeAll = make("button", { type: "button", onclick: () => openFreeze("") }, "Freeze all clusters");

export function setUpClusters() {
  find("clusters").append(table.element, make("div", { class: "row" }, freezeAll), title, overrides.parent,
    make("h3", null, "Reservations"), reservations.element);
}

const freezeOf = (row) => (row.node ? `node ${row.node} of ${row.cluster}` : row.cluster || "all clusters");

/* reclaims: the rows of /v1/reclaims. */
export function showClusters(status, reclaims) {
  givers = status.clusters.filter((row) => row.role === "research").map((row) => row.cluster);
  table.show(status.clusters, (row) => row.cluster, "No cluster is configured.");
  reservations.show(status.reservations, (row) => row.reservation, "");
  const rows = [
    ...[...status.overrides.freezes, ...status.overrides.frozen_nodes].map((row) => override(
      `${freezeOf(row)}: frozen until ${when(row.until)} by ${row.by}: ${row.reason}`,
      `Unfreeze ${freezeOf(row)}`, mayFreeze(), () => openUnfreeze(row, freezeOf(row)))),
    ...status.overrides.approvals.map((row) => override(
      `${row.act === "apply" ? "An apply" : `A reclaim for ${row.cluster}`} (${row.nodes} nodes, asked by ${row.by}) waits until ${when(row.ends)} for a second person: sluice approve ${row.id}`,
      row.id, false, () => {})),
    ...reclaims.map((row) => override(
      `Reclaim ${row.id} for ${row.cluster}${row.from ? `, from ${row.from}` : ""}: ${row.accepted_nodes} of ${row.wanted_nodes} nodes until ${when(row.until)} by ${row.by}: ${row.reason}`,
      `End ${row.id}`, mayReclaim(), () => openEndReclaim(row))),
  ];
  title.hidden = rows.length === 0;
  freezeAll.hidden = !mayFreeze();
  overrides.show(rows, (row) => row.label);
}
