/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of the page and the list of conditions: the same facts as the head of `sluice status`. */

import { find, List, make, mark, say } from "/page/dom.js";
import { between, count, span, when } from "/page/words.js";

const DEGRADED = ["warning", "critical"];

/* Whether every pool has what it wants: one that has too many nodes has none for another. */
const isEven = (status) => status.pools.every((p) => p.wanted_nodes === null || p.nodes === null || p.nodes === p.wanted_nodes);

/* {severity, word, sentence, advice}: what `sluice status` says first. */
export function headline(status) {
  const health = status.health;
  const worst = health.conditions[0];
  const live = status.live_transfers;
  if (DEGRADED.includes(health.severity))
    return {
      severity: health.severity,
      word: health.word || health.severity.toUpperCase(),
      sentence: `${worst.text} (for ${between(worst.since, status.at)})`,
      advice: worst.advice,
    };
  const calm = { severity: "ok", advice: "" };
  const freeze = status.overrides.freezes[0];
  if (live === 0 && freeze)
    return {
      severity: "note",
      word: "FROZEN",
      sentence: `${freeze.cluster || "all"} until ${when(freeze.until)} by ${freeze.by}: ${freeze.reason}`,
      advice: "",
    };
  if (live === 0)
    return isEven(status)
      ? { ...calm, word: "SETTLED", sentence: "no node is moving" }
      : { ...calm, word: "WAITING", sentence: "no node is moving yet: replicas go down first, nodes come when they can be had" };
  if (status.margin_s === null) return { ...calm, word: "MOVING", sentence: `${count(live, "transfer")} under way` };
  return {
    ...calm,
    word: status.margin_s >= 0 ? "READY IN TIME" : "LATE",
    severity: status.margin_s >= 0 ? "ok" : "warning",
    sentence: `${count(live, "transfer")} under way, margin ${span(status.margin_s)} (p95)`,
  };
}

const conditions = new List(
  make("ul", { class: "conditions" }),
  () => make("li", null, make("strong"), " ", make("span"), make("p", { class: "soft" })),
  (item, row) => {
    const [word, text, more] = item.children;
    mark(item, row.severity);
    say(word, row.word || row.severity);
    say(text, row.text);
    say(more, `${row.advice}. Affects ${row.affects}. Since ${when(row.since)}.`);
  });

let told = "";

/* For screen readers: only another word or another set of conditions is announced, not each number
 * that changes. */
function announce(key, text) {
  if (key === told) return;
  told = key;
  say(find("said"), text);
}

/* Nothing is green that is not known: also in the title, which is all that a hidden tab shows. */
export function showUnknown() {
  mark(find("headline"), "headline note");
  say(find("word"), "UNKNOWN");
  say(find("sentence"), "the service does not answer; what is shown is old");
  say(find("advice"), "");
  announce("UNKNOWN", "UNKNOWN: the service does not answer; what is shown is old");
  document.title = "UNKNOWN: sluice";
}

export function showHead(status) {
  const head = headline(status);
  mark(find("headline"), `headline ${head.severity}`);
  say(find("word"), head.word);
  say(find("sentence"), head.sentence);
  say(find("advice"), head.advice);
  announce([head.word, ...status.health.conditions.map((row) => `${row.id} ${row.what}`)].join("\n"), `${head.word}: ${head.sentence}`);
  const next = status.window_until ? `, next ${status.next_window} in ${between(status.at, status.window_until)}` : "";
  say(find("clock"), `${status.local}, window ${status.window}${next}`);
  document.title = `${head.word}: sluice`;
  find("health").hidden = status.health.conditions.length === 0;
  if (!conditions.parent.isConnected) find("health").append(conditions.parent);
  conditions.show(status.health.conditions, (row) => `${row.id} ${row.what} ${row.text}`);
}
