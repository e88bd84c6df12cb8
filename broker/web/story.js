/* SPDX-License-Identifier: Apache-2.0
 *
 * Lead times and events. */

import { ask } from "/page/api.js";
import { find, make, say } from "/page/dom.js";
import { Table } from "/page/table.js";
import { number, span, when } from "/page/words.js";

const leads = new Table("Lead times", [
  { title: "Lead key", text: (row) => row.key },
  { title: "Step", text: (row) => row.step ?? "(whole)" },
  { title: "Known", is_number: true, text: (row) => number(row.known) },
  { title: "Still under way", is_number: true, text: (row) => number(row.censored) },
  { title: "p50", is_number: true, text: (row) => span(row.p50_s) },
  { title: "p95", is_number: true, text: (row) => span(row.p95_s) },
]);

/* What an event says beside its name: members that people look for first, then the others. */
const FIRST = ["text", "why", "node", "move", "transfer", "from", "to", "step", "cluster", "pool", "by", "reason"];

const isPlain = (value) => value !== "" && value !== null && typeof value !== "object";

/* Members of a member are told as its own. */
function membersOf(event) {
  return Object.entries(event).flatMap(([name, value]) =>
    (value && typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : [[name, value]]));
}

function tell(event) {
  const members = new Map(membersOf(event).filter(([name, value]) => !["event", "seq", "at"].includes(name) && isPlain(value)));
  const names = [...FIRST.filter((name) => members.has(name)), ...[...members.keys()].filter((name) => !FIRST.includes(name))];
  return names.slice(0, 10).map((name) => (name === "text" ? members.get(name) : `${name} ${members.get(name)}`)).join(", ");
}

const events = new Table("Events", [
  { title: "Time", text: (row) => when(row.at) },
  { title: "Event", text: (row) => row.event },
  { title: "What", text: tell },
]);
const node = make("input", { id: "events-node", type: "search", placeholder: "a node's name" });
const wrong = make("p", { class: "soft" });
const leadNote = make("p", { class: "soft" });

export function setUpStory() {
  const form = make("form", { class: "row" }, make("label", { for: "events-node" }, "Only of node"), node, make("button", { type: "submit" }, "Find"));
  form.addEventListener("submit", (event) => { event.preventDefault(); readEvents(); });
  find("events").append(form, events.element, wrong);
  find("leads").append(leadNote, leads.element);
}

export async function readLeads(status) {
  const answer = await ask("/v1/leads");
  say(leadNote, `From the cordon until the GPUs can be used: ${span(status.lead_p50_s)} (p50), ${span(status.lead_p95_s)} (p95)`
    + `${status.is_lead_learned ? ", learned from the journal." : "; not all of it is learned yet."}`);
  const rows = answer.leads.flatMap((lead) => [{ ...lead, step: undefined }, ...(lead.steps ?? []).map((row) => ({ ...row, key: lead.key }))]);
  leads.show(rows, (row) => `${row.key} ${row.step}`, "No transfer has ended yet.");
}

export async function readEvents() {
  const of = node.value.trim();
  try {
    const answer = await ask(`/v1/events?count=50${of ? `&node=${encodeURIComponent(of)}` : ""}`);
    say(wrong, of && answer.before > 0 ? `Older events may name this node, too: sluice events --node ${of} --since TIME shows all.` : "");
    events.show(answer.events.reverse(), (row) => row.seq, of ? "No event names this node." : "There are no events yet.");
  } catch (error) {
    say(wrong, error.message);
  }
}
