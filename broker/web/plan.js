/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plan of the schedules in force would move now, and what that costs research.  A plan reads
 * all pods, so it is made when a person asks for it. */

import { send } from "/page/api.js";
import { find, make, say } from "/page/dom.js";
import { Table } from "/page/table.js";
import { count, hours, number, when } from "/page/words.js";

const pools = new Table("Pools of the plan", [
  { title: "Pool", text: (row) => row.pool },
  { title: "Nodes", is_number: true, text: (row) => (row.is_known ? `${row.nodes}${row.incoming_nodes ? ` +${row.incoming_nodes}` : ""}` : "not known") },
  { title: "Window wants", is_number: true, text: (row) => number(row.now_nodes) },
  { title: "Wanted", is_number: true, text: (row) => number(row.wanted_nodes) },
  { title: "Due", text: (row) => when(row.due) },
]);
const gangs = new Table("Work that the plan stops", [
  { title: "Job", text: (row) => `${row.kind} ${row.gang}` },
  { title: "Team", text: (row) => row.team },
  { title: "GPUs", is_number: true, text: (row) => number(row.gpus) },
  { title: "GPU-hours lost", is_number: true, text: (row) => hours(row.lost_gpu_hours) },
]);
const button = make("button", { type: "button", onclick: plan }, "Make the plan");
const told = make("p", { role: "status" }, "Not made yet. It reads, and changes nothing.");
const price = make("p");
const rest = make("div", { hidden: true }, price, pools.element, gangs.element);

function priceOf(bill) {
  if (bill.nodes === 0) return "It takes no node of research.";
  const other = bill.alternatives;
  const lines = [`Its price: ${hours(bill.lost_gpu_hours)} GPU-hours of work lost, on ${count(bill.nodes, "research node")}, ${bill.idle_nodes} of them idle.`];
  if (other) lines.push(`Chosen otherwise: ${hours(other.random_gpu_hours)} at random, ${hours(other.oldest_first_gpu_hours)} oldest nodes first, ${hours(other.node_greedy_gpu_hours)} node by node.`);
  if (bill.blocks_broken) lines.push(`${count(bill.blocks_broken, "block")} left in part.`);
  if (bill.teams.length) lines.push(`By team: ${bill.teams.slice(0, 8).map((row) => `${row.team || "-"} ${hours(row.lost_gpu_hours)}`).join(", ")}.`);
  return lines.join(" ");
}

async function plan() {
  button.disabled = true;
  say(told, "Making it …");
  try {
    const answer = await send("/v1/plan", {});
    const lacks = answer.lacks.map((row) => `${row.pool} lacks ${count(row.nodes, "node")}`);
    say(told, [`Plan of ${when(answer.at)}: ${count(answer.transfers.length, "node")} to move now (fingerprint ${answer.fingerprint}).`,
      ...lacks.map((text) => `${text}.`), ...answer.warnings, ...answer.unknown.map((row) => `${row.pool} is left out: ${row.reason}.`)].join(" "));
    say(price, priceOf(answer.bill));
    pools.show(answer.pools, (row) => row.pool, "");
    gangs.show(answer.bill.gangs.slice(0, 50), (row) => `${row.kind} ${row.gang}`, "It stops no job.");
    rest.hidden = false;
  } catch (error) {
    rest.hidden = true;
    say(told, error.message);
  }
  button.disabled = false;
}

export function setUpPlan() {
  find("plan").append(make("div", { class: "row" }, button), told, rest);
}
