/* SPDX-License-Identifier: Apache-2.0
 *
 * The service's API (docs/access.md).  A token is kept for this tab only, and sent as a header: there
 * are no cookies, so a page of another site cannot act in its user's name. */

const KEY = "sluice-token";
const PATIENCE_MS = 20000; /* a dry run may take five seconds */
const SILENT_MS = 40000; /* the service says something every 15 s */

export class Refusal extends Error {
  constructor(status, error) {
    super(error?.text ?? `the service answered ${status}`);
    this.status = status;
    this.kind = error?.kind ?? "";
    this.wait_ms = error?.retry_after_ms ?? 0;
  }
}

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

export function keepToken(token) {
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}

function headers(more) {
  const token = sessionStorage.getItem(KEY);
  return token ? { ...more, Authorization: `Bearer ${token}` } : { ...more };
}

/* A question that hangs must not keep the page from asking again. */
const patience = () => AbortSignal.timeout(PATIENCE_MS);

async function refuse(response) {
  const body = await response.json().catch(() => null);
  throw new Refusal(response.status, body?.error);
}

export async function ask(path) {
  const response = await fetch(path, { headers: headers(), cache: "no-store", signal: patience() });
  return response.ok ? response.json() : refuse(response);
}

/* The text of an answer, for measuring what an update costs. */
export async function askText(path) {
  const response = await fetch(path, { headers: headers(), cache: "no-store", signal: patience() });
  return response.ok ? response.text() : refuse(response);
}

export async function askBlob(path) {
  const response = await fetch(path, { headers: headers(), cache: "no-store", signal: patience() });
  return response.ok ? response.blob() : refuse(response);
}

export async function send(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: headers({ "Content-Type": "application/json" }),
    body: JSON.stringify(body),
    cache: "no-store",
    signal: patience(),
  });
  return response.ok ? response.json() : refuse(response);
}

/* Calls onChange for each event of /v1/changes, until the stream ends: then it throws or returns.
 * EventSource sends no headers, so the stream is read here. */
export async function follow(onChange) {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), SILENT_MS);
  try {
    const response = await fetch("/v1/changes", { headers: headers(), cache: "no-store", signal: abort.signal });
    if (!response.ok) return await refuse(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return undefined;
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), SILENT_MS);
      rest += value;
      const events = rest.split("\n\n");
      rest = events.pop();
      if (events.some((event) => event.startsWith("event: change"))) onChange();
    }
  } finally {
    clearTimeout(timer);
  }
}
