/* SPDX-License-Identifier: Apache-2.0
 *
 * The forecast on the page: what is known is drawn, and what is absent, outdated or unknown is said and
 * never drawn as a zero. */

import { rmSync, writeFileSync } from "node:fs";
import { check, finish, isTooWide, openBrowser, openPage, out, seriousFindings, sluice, tunnel } from "./checks.mjs";

const [folder] = process.argv.slice(2);
const way = await tunnel(`${folder}/sluice.sock`);
const url = `http://localhost:${way.port}/`;
const browser = await openBrowser();
const DAY = 86400000;
const time = (ms) => new Date(Math.round(ms / 1000) * 1000).toISOString().replace(".000", "");
const file = `${folder}/schedules/forecast.json`;

const row = (more) => ({ queue: "chat", replicas: 96, gpus: 192, point: 80, lower: 64, share: 0.9, method: "profile", basis: "rank",
  score: { days: 40, covered: 37, loss: 1.25, loss_last_week: 2, loss_last_week_10: 1.5 }, ...more });
const lacking = { queue: "chat", replicas: 4, gpus: 8, no_forecast: "no-days" };

function apply(day, night, until = Date.now() + 7 * DAY, is_forecast = true) {
  const window = (name, queue) => ({ window: name, demand_from: time(Date.now() - 7 * DAY), demand_to: time(Date.now()), use_until: time(until), is_forecast, queues: [queue] });
  writeFileSync(file, JSON.stringify({ kind: "forecast", version: 1, windows: [window("day", day), window("night", night)] }));
  const said = sluice(folder, "apply");
  if (!said.includes("with the forecast")) throw new Error(said);
}

async function open(options) {
  const page = await openPage(browser, url, options);
  await page.waitForSelector("#day svg");
  await page.waitForTimeout(300);
  return page;
}

const lines = (page) => page.locator("#day .picture line.bound").count();
const boxes = (page) => page.locator("#day .picture rect.interval").count();

async function known() {
  apply(row(), row({ replicas: 48, gpus: 96, point: 40, lower: 32 }));
  for (const [name, options] of [["forecast-light", { colorScheme: "light" }], ["forecast-dark", { colorScheme: "dark" }],
    ["forecast-phone", { viewport: { width: 390, height: 844 }, isMobile: true, colorScheme: "light" }]]) {
    const page = await open(options);
    const found = await seriousFindings(page);
    check(`axe-core, ${name}: nothing serious`, found.length === 0, found.join("; "));
    check(`${name}: needs no scrolling to the side`, await isTooWide(page) <= 0, await isTooWide(page));
    await page.screenshot({ path: `${out}/${name}.png`, fullPage: true });
    await page.context().close();
  }
  const page = await open();
  const text = await page.textContent("#forecast"), note = await page.textContent("#day");
  check("the picture has a bound and an interval for each window", await lines(page) >= 2 && await boxes(page) === await lines(page), `${await lines(page)} ${await boxes(page)}`);
  check("and says nothing of a lack", !note.includes("No bound") && !note.includes("no bound"), note);
  check("192 GPUs of 8 a node are 24 nodes", text.includes("24.0") && text.includes("20.0") && text.includes("16.0"), text);
  check("the scorecard has coverage, losses and the number of occurrences",
    ["80", "93 %", "90 %", "1.25", "1.50 (last week + 10 %)", "kept"].every((word) => text.includes(word)), text);
  const top = await page.evaluate(() => {
    const y = (selector) => Number(document.querySelector(selector).getAttribute("y1"));
    return y("#day line.bound") < y("#day line.point");
  });
  check("the bound is drawn above the expected need", top, top);
  await page.context().close();
}

async function unknown() {
  apply(row(), lacking);
  let page = await open();
  let note = await page.textContent("#day");
  check("a window without a forecast is named and not drawn", note.includes("No bound of demand is drawn for night") && await lines(page) >= 1, note);
  check("its table says why", (await page.textContent("#forecast")).includes("queue chat has no forecast there (no-days)"), await page.textContent("#forecast"));
  await page.context().close();

  apply(row(), row(), Date.now() - 1000);
  page = await open();
  note = await page.textContent("#day");
  check("an outdated forecast is said and not drawn", note.includes("OUTDATED") && await lines(page) === 0 && await boxes(page) === 0
    && (await page.textContent("#forecast")).includes("OUTDATED"), note);
  await page.context().close();

  apply(row(), row(), Date.now() + 60000);
  page = await open();
  check("a forecast is not drawn beyond the time it is for", await lines(page) <= 1, await lines(page));
  await page.context().close();

  apply(row({ score: { days: 40, covered: 20, loss: 1.75, loss_last_week: 2, loss_last_week_10: 1.5 } }), lacking);
  page = await open();
  check("bounds that the past speaks against are named so", (await page.textContent("#forecast")).includes("NOT kept: the bounds were too low"), await page.textContent("#forecast"));
  await page.context().close();

  apply(row({ stale: "overrun" }), row());
  page = await open();
  check("a stale forecast is named first", (await page.textContent("#forecast > p")).includes("STALE for chat in day (overrun)"), await page.textContent("#forecast"));
  await page.context().close();

  apply(lacking, lacking, Date.now() + DAY, false);
  page = await open();
  note = await page.textContent("#day");
  check("a plan from last week's demand has no bound", note.includes("made without a forecast") && await lines(page) === 0, note);
  check("nor a scorecard", !await page.isVisible("#forecast h3"), "");
  await page.context().close();

  rmSync(file);
  sluice(folder, "apply");
  page = await open();
  note = await page.textContent("#day");
  check("no forecast is said, and no zero is drawn", note.includes("There is no bound of demand") && await lines(page) === 0 && await boxes(page) === 0, note);
  check("with how to get one", (await page.textContent("#forecast")).includes("sluice allocate --forecast"), await page.textContent("#forecast"));
  check("the page complains of nothing", page.complaints.length === 0, page.complaints.join("; "));
  await page.context().close();
}

await known();
await unknown();
await browser.close();
way.close();
finish();
