/* SPDX-License-Identifier: Apache-2.0
 *
 * What a person may do here: freeze and unfreeze, reclaim and end reclaims.  Each act asks for a
 * reason, says what it will do, and is sent only after the cluster's name was typed. */

import { hasToken, keepToken, Refusal, send } from "/page/api.js";
import { make, say } from "/page/dom.js";
import { count, hours, span, when } from "/page/words.js";

let may = [];
let onDone = () => {};

export const mayFreeze = () => may.includes("POST /v1/freeze");
export const mayReclaim = () => may.includes("POST /v1/reclaim");

export function setUpActs(done) {
  onDone = done;
}

export function setRights(list) {
  may = list;
}

let fields = 0;

function field(parent, label, input) {
  input.id = `act-${++fields}`;
  parent.append(make("label", { for: input.id }, label), input);
  return input;
}

const choices = (...rows) => make("select", null, ...rows.map(([value, text]) => make("option", { value }, text)));

const DURATIONS = [[3600, "1 hour"], [7200, "2 hours"], [14400, "4 hours"], [43200, "12 hours"], [86400, "24 hours"]];

/* A dialog with a form; `submit` returns a text to show, or nothing to close it. */
function openDialog(title, build) {
  const told = make("p", { class: "told", role: "status" });
  const wrong = make("p", { class: "told wrong", role: "alert" });
  const go = make("button", { type: "submit", class: "act" }, title);
  const wishes = make("div"), confirm = make("div");
  const form = make("form", { autocomplete: "off" }, wishes, told, confirm);
  const dialog = make("dialog", { "aria-labelledby": "act-title" }, make("h2", { id: "act-title" }, title), form);
  const submit = build({ wishes, confirm, told, go, close: () => dialog.close() });

  form.append(wrong, make("div", { class: "row" }, go,
    make("button", { type: "button", onclick: () => dialog.close() }, "Cancel")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    say(wrong, "");
    go.disabled = true;
    try {
      const text = await submit();

      if (text) say(told, text);
    } catch (error) {
      say(wrong, error instanceof Refusal ? error.message
        : "No answer came: it is not known whether it was done. Look at Events before you repeat it.");
    }
    go.disabled = false;
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const reasonField = (parent) => field(parent, "Reason, for the events", make("input", { required: true, maxlength: "200" }));

/* The name typed back; the form cannot be sent with another text. */
function nameField(parent, name) {
  const input = field(parent, `Type ${name} to confirm`, make("input", { required: true, spellcheck: "false", autocapitalize: "off" }));
  input.addEventListener("input", () => input.setCustomValidity(input.value === name ? "" : `type ${name}`));
  input.setCustomValidity(`type ${name}`);
  return input;
}

/* cluster "": all of them. */
export function openFreeze(cluster) {
  openDialog(`Freeze ${cluster || "all clusters"}`, ({ wishes, confirm, told, close }) => {
    say(told, "Until it ends, sluice begins no scheduled move that could wait. Moves under way go on, and reclaims pass it.");
    const span_s = field(wishes, "For", choices(...DURATIONS));
    const reason = reasonField(wishes);
    nameField(confirm, cluster || "all");
    return async () => {
      const freeze = await send("/v1/freeze", { cluster, for_s: Number(span_s.value), reason: reason.value });

      if (freeze.is_kept) /* another person's, which holds longer */
        return `Frozen until ${when(freeze.until)} by ${freeze.by}: ${freeze.reason}. That is longer than you asked for, so nothing has changed.`;
      close();
      onDone();
    };
  });
}

/* freeze: a row of the overrides; of: what it holds, in words. */
export function openUnfreeze(freeze, of) {
  openDialog(`Unfreeze ${of}`, ({ confirm, told, close }) => {
    say(told, `Frozen until ${when(freeze.until)} by ${freeze.by}: ${freeze.reason}`);
    nameField(confirm, freeze.node || freeze.cluster || "all");
    return async () => {
      await send("/v1/unfreeze", { cluster: freeze.cluster, node: freeze.node });
      close();
      onDone();
    };
  });
}

function offerText(offer) {
  const lines = [`${offer.accepted_nodes} of ${count(offer.wanted_nodes, "node")}: `
    + offer.pools.map((row) => `${row.pool} +${row.nodes}`).join(", ")];
  if (offer.is_repeat)
    lines.push(`This is under way already as ${offer.id}, by ${offer.by}. Nothing would be added.`);
  else {
    lines.push(`It loses about ${hours(offer.lost_gpu_hours)} GPU-hours of research work, in ${count(offer.bill?.gangs?.length ?? 0, "job")}. No notice is given.`);
    lines.push(offer.lead_p95_s === null || offer.lead_p95_s === undefined
      ? "When they are ready is not known: no machine comes to the pool now."
      : `Ready in ${span(offer.lead_p50_s)} (p50), ${span(offer.lead_p95_s)} (p95); held until ${when(offer.until)}.`);
  }
  for (const row of [...(offer.blocked ?? []), ...(offer.unknown ?? [])]) lines.push(row.text ?? `${row.pool}: ${row.reason}`);
  return lines.join("\n");
}

/* First a dry run, whose offer is read; then the name, and the order.  A key makes a repeat after a
 * lost answer the same order.  `givers`: names of research clusters. */
export function openReclaim(cluster, givers) {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  openDialog(`Reclaim nodes for ${cluster}`, ({ wishes, confirm, told, go, close }) => {
    const nodes = field(wishes, "Nodes", make("input", { type: "number", min: "1", max: "100000", value: "1", required: true }));
    const from = field(wishes, "They come from", choices(["", "any research cluster"], ...givers.map((name) => [name, name])));
    const span_s = field(wishes, "They stay for", choices(...DURATIONS));
    const reason = reasonField(wishes);
    const order = () => ({ cluster, from: from.value, nodes: Number(nodes.value), for_s: Number(span_s.value), reason: reason.value, key });
    let offered = null;

    span_s.value = "7200";
    say(go, "Show what it would take");
    return async () => {
      const wish = order(), text = JSON.stringify(wish);
      if (offered === null) {
        say(told, offerText(await send("/v1/reclaim", { ...wish, is_dry_run: true })));
        for (const input of [nodes, from, span_s, reason]) input.disabled = true;
        nameField(confirm, cluster).focus();
        say(go, "Reclaim");
        offered = text; // last: nothing is ordered before the name can be asked for
        return;
      }
      const { approval } = await send("/v1/reclaim", { ...wish, is_dry_run: false });
      onDone();
      if (!approval) return close();
      say(told, `Nothing is done yet: ${approval.id} waits for a second person until ${when(approval.ends)}.`);
      confirm.replaceChildren();
      go.remove();
    };
  });
}

export function openEndReclaim(order) {
  openDialog(`End the reclaim for ${order.cluster}`, ({ wishes, confirm, told, close }) => {
    say(told, `${order.id}: ${count(order.wanted_nodes, "node")} until ${when(order.until)} by ${order.by}. Its transfers that can be undone are undone.`);
    const reason = reasonField(wishes);
    nameField(confirm, order.cluster);
    return async () => {
      await send("/v1/reclaims/end", { id: order.id, reason: reason.value });
      close();
      onDone();
    };
  });
}

/* A bearer token for the service's TLS port. */
export function openToken(text) {
  if (document.querySelector("dialog")) return;
  openDialog("Show a token", ({ wishes, confirm, told, close }) => {
    say(told, `${text ? `${text}. ` : ""}The token stays in this tab, and goes when the tab is closed.`);
    const token = field(wishes, "Bearer token of your identity provider", make("input", { type: "password", required: true }));
    if (hasToken())
      confirm.append(make("button", { type: "button", onclick: () => { keepToken(""); close(); onDone(); } }, "Forget the token"));
    return async () => {
      keepToken(token.value.trim());
      close();
      onDone();
    };
  });
}
