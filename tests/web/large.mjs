/* SPDX-License-Identifier: Apache-2.0
 *
 * The page on a large fleet with 800 moves: what an update costs, and how much is in the page. */

import { check, finish, isTooWide, note, openBrowser, openPage, out, sameHead, seriousFindings, sluice, tunnel } from "./checks.mjs";

const [folder, nodes, moves] = process.argv.slice(2);
const MOVES = Number(moves), UPDATE_MS = 100;
const way = await tunnel(`${folder}/sluice.sock`);
const url = `http://localhost:${way.port}/`;
const browser = await openBrowser();

for (let i = 0; i < 120; i++) {
  const status = JSON.parse(sluice(folder, "status", "-o", "json"));
  if (status.live_transfers >= MOVES) break;
  await new Promise((done) => setTimeout(done, 1000));
}
const live = JSON.parse(sluice(folder, "status", "-o", "json")).live_transfers;
check(`${nodes} nodes, ${live} moves under way`, live >= MOVES / 2, live);

const page = await openPage(browser, url, { colorScheme: "light" });
await page.waitForSelector("#transfers details");
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
check(`the first paint comes within 500 ms (${paint?.toFixed(0)} ms)`, paint < 500, paint);

const costs = [];
await page.evaluate(() => { window.tasks.length = 0; });
for (let i = 0; i < 20; i++) {
  await page.waitForTimeout(1500);
  const cost = await page.evaluate(() => performance.getEntriesByName("sluice-update").at(-1)?.duration);
  if (cost && cost !== costs.at(-1)) costs.push(cost);
}
/* With style and layout of all that an update may have changed. */
const layout = await page.evaluate(() => {
  const begin = performance.now();
  document.querySelectorAll("#transfers .wait, #transfers .many").forEach((e) => { e.textContent += ""; });
  document.body.offsetHeight;
  return performance.now() - begin;
});
costs.sort((a, b) => a - b);
const worst = costs.at(-1);
note(`updates: ${costs.length}, median ${costs[Math.floor(costs.length / 2)]?.toFixed(1)} ms, worst ${worst?.toFixed(1)} ms; layout ${layout.toFixed(1)} ms; long tasks: ${(await page.evaluate(() => window.tasks)).map((t) => t.toFixed(0)).join(" ") || "none"}`);
check(`an update takes under ${UPDATE_MS} ms`, costs.length >= 3 && worst + layout < UPDATE_MS, worst);

const elements = await page.evaluate(() => document.querySelectorAll("*").length);
check(`closed rows have no element for a node (${elements} elements in all)`, elements < 3000, elements);
await sameHead(page, folder, "with many moves");
await page.screenshot({ path: `${out}/large.png`, fullPage: true });
await page.click("#transfers summary");
await page.waitForSelector("#transfers details[open] tbody tr");
const rows = await page.locator("#transfers details[open] tbody tr").count();
check(`an open group shows at most 100 nodes at first (${rows})`, rows >= 1 && rows <= 100, rows);
await page.screenshot({ path: `${out}/large-open.png` });
const found = await seriousFindings(page);
check("axe-core, many moves: nothing serious", found.length === 0, found.join("; "));
check("nothing is too wide", await isTooWide(page) <= 0, await isTooWide(page));
check("the page complains of nothing", page.complaints.length === 0, page.complaints.join("; "));
await page.context().close();

const phone = await openPage(browser, url, { viewport: { width: 390, height: 844 }, isMobile: true });
await phone.waitForSelector("#transfers details");
check("a phone's width needs no scrolling to the side", await isTooWide(phone) <= 0, await isTooWide(phone));
await phone.screenshot({ path: `${out}/large-phone.png` });
await browser.close();
way.close();
finish();
