/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plays of the page share: a way from a browser to the service's socket, a browser, and a
 * line for each check. */

import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const out = process.env.OUT;
let failures = 0;

export function check(what, is_good, said) {
  console.log(is_good ? `ok ${what}` : `FAILED ${what}: ${said ?? ""}`);
  if (!is_good) failures++;
}

export const note = (text) => console.log(`   ${text}`);

/* As `ssh -L PORT:SOCKET`: connections to the port come to the socket as from this process. */
export function tunnel(socket) {
  const server = net.createServer((client) => {
    const service = net.connect(socket);
    client.pipe(service).pipe(client);
    client.on("error", () => service.destroy());
    service.on("error", () => client.destroy());
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ port: server.address().port, close: () => server.close() })));
}

/* The same, as another user. */
export function tunnelAs(uid, socket) {
  const code = `const net = require("net");
    const server = net.createServer((c) => { const s = net.connect(${JSON.stringify(socket)}); c.pipe(s).pipe(c); c.on("error", () => s.destroy()); s.on("error", () => c.destroy()); });
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ["-e", code], { uid, gid: uid, cwd: "/", stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((done) => child.stdout.once("data", (port) => done({ port: Number(port), close: () => child.kill() })));
}

export function sluice(folder, ...words) {
  const said = spawnSync(process.env.SLUICE, [...words, "--config", `${folder}/sluice.yaml`], { encoding: "utf8" });
  return said.stdout + said.stderr;
}

export const openBrowser = () => chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--disable-dev-shm-usage", "--disable-gpu", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
});

/* A page that keeps what its policy refused, and what it complained of. */
export async function openPage(browser, url, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => { if (message.type() === "error") page.complaints.push(message.text()); });
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  await page.addInitScript(() => {
    window.refusals = [];
    document.addEventListener("securitypolicyviolation", (event) => window.refusals.push(`${event.violatedDirective} ${event.blockedURI}`));
    window.tasks = [];
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
  });
  await options?.prepare?.(page);
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector("#word").textContent !== "…", null, { timeout: 60000 });
  return page;
}

/* Findings of axe-core of the two worst impacts. */
export async function seriousFindings(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")}`);
}

export const isTooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/* What the page's head and what the command say first. */
export async function sameHead(page, folder, what) {
  let told, shown;
  for (let i = 0; i < 40; i++) {
    const lines = sluice(folder, "status").split("\n");
    told = lines[1];
    shown = { word: await page.textContent("#word"), sentence: await page.textContent("#sentence") };
    if (told.startsWith(shown.word) && told.replace(/\(for .*|margin .*/, "").trim().endsWith(shown.sentence.replace(/\(for .*|margin .*/, "").trim())) break;
    await page.waitForTimeout(500);
  }
  const is_same = told.startsWith(shown.word);
  const rest = (text) => text.replace(/\(for .*|margin .*/, "").trim();
  check(`${what}: page and command say the same first (${shown.word})`, is_same && rest(told).endsWith(rest(shown.sentence)), `${told} / ${JSON.stringify(shown)}`);
}

export function finish() {
  process.exit(failures > 0 ? 1 : 0);
}
