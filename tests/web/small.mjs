/* SPDX-License-Identifier: Apache-2.0
 *
 * The page on a small fleet: what it says as things happen, how it is used. */

import { existsSync, readFileSync } from "node:fs";
import { check, finish, isTooWide, note, openBrowser, openPage, out, sameHead, seriousFindings, sluice, tunnel, tunnelAs } from "./checks.mjs";

const [folder, simulator] = process.argv.slice(2);
const GUEST = 65534;
const socket = `${folder}/sluice.sock`;
const way = await tunnel(socket);
const url = `http://localhost:${way.port}/`;
const browser = await openBrowser();

const shot = (page, name) => page.screenshot({ path: `${out}/${name}.png`, fullPage: true });

/* Everything that a person may use is reached with Tab. */
async function reachedByKeyboard(page) {
  const wanted = await page.evaluate(() => {
    const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")];
    const seen = all.filter((e) => !e.disabled && e.checkVisibility());
    seen.forEach((e, i) => { e.dataset.stop = String(i); });
    return seen.length;
  });
  const reached = new Set();
  await page.evaluate(() => document.activeElement?.blur());
  for (let i = 0; i < wanted + 20; i++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => document.activeElement?.dataset.stop ?? null);
    if (stop !== null) reached.add(stop);
  }
  const left = await page.evaluate((list) => [...document.querySelectorAll("[data-stop]")]
    .filter((e) => e.checkVisibility() && !list.includes(e.dataset.stop)).map((e) => `${e.tagName} ${e.textContent.slice(0, 30)}`), [...reached]);
  return { wanted, left };
}

async function looks() {
  const page = await openPage(browser, url, { colorScheme: "light" });
  await page.waitForSelector("#day svg");
  await page.waitForTimeout(500);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  check(`the first paint comes within 500 ms (${paint?.toFixed(0)} ms)`, paint < 500, paint);
  const size = await page.evaluate(() => performance.getEntriesByType("resource").filter((e) => e.name.includes("/page/"))
    .reduce((sum, e) => sum + e.decodedBodySize, performance.getEntriesByType("navigation")[0].decodedBodySize));
  check(`the page is under 150 kB (${(size / 1000).toFixed(0)} kB)`, size < 150000, size);
  await sameHead(page, folder, "at rest");
  const keys = await reachedByKeyboard(page);
  check(`the keyboard reaches all ${keys.wanted} places`, keys.left.length === 0, keys.left.join("; "));
  check("the page's policy refused nothing", (await page.evaluate(() => window.refusals)).length === 0, JSON.stringify(await page.evaluate(() => window.refusals)));
  check("the page complains of nothing", page.complaints.length === 0, page.complaints.join("; "));
  await shot(page, "light");
  const light = await seriousFindings(page);
  check("axe-core, light: nothing serious", light.length === 0, light.join("; "));
  await page.context().close();

  const dark = await openPage(browser, url, { colorScheme: "dark" });
  await dark.waitForSelector("#day svg");
  await shot(dark, "dark");
  const found = await seriousFindings(dark);
  check("axe-core, dark: nothing serious", found.length === 0, found.join("; "));
  await dark.context().close();

  const phone = await openPage(browser, url, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: "light" });
  await phone.waitForSelector("#day svg");
  await shot(phone, "phone");
  check("a phone's width needs no scrolling to the side", await isTooWide(phone) <= 0, await isTooWide(phone));
  const small = await seriousFindings(phone);
  check("axe-core, phone: nothing serious", small.length === 0, small.join("; "));
  await phone.setViewportSize({ width: 320, height: 640 });
  check("nor does the narrowest one", await isTooWide(phone) <= 0, await isTooWide(phone));
  await phone.context().close();
}

/* Types a name into the open dialog, and sends it. */
async function confirm(page, name) {
  await page.fill("dialog form > div:nth-of-type(2) input", name);
  await page.click("dialog button[type=submit]");
}

async function acts() {
  const page = await openPage(browser, url);
  await page.waitForFunction(() => document.querySelector("#link").textContent === "live", null, { timeout: 15000 }).catch(() => {});
  check("the page follows the changes", await page.textContent("#link") === "live", await page.textContent("#link"));

  await page.click("button[aria-label='Freeze research-a']");
  await page.fill("dialog form > div:first-of-type input", "<img src=x onerror=alert(1)> & a look");
  await confirm(page, "research-b");
  check("a wrong name sends nothing", await page.locator("dialog").count() === 1 && !sluice(folder, "status").includes("FROZEN "), "");
  const open = await seriousFindings(page);
  check("axe-core, a dialog: nothing serious", open.length === 0, open.join("; "));
  await shot(page, "freeze");
  await confirm(page, "research-a");
  await page.waitForSelector("text=frozen until", { timeout: 15000 });
  check("the name freezes the cluster", sluice(folder, "status").includes("FROZEN"), sluice(folder, "status"));
  check("a text of a person stays a text", await page.locator("main img").count() === 0 && await page.getByText("<img src=x").count() > 0, "");
  await page.click("text=Unfreeze research-a");
  await confirm(page, "research-a");
  await page.waitForFunction(() => !document.body.innerText.includes("frozen until"), null, { timeout: 15000 });
  check("and the freeze can be ended", !sluice(folder, "status").includes("FROZEN "), "");

  await page.click("button[aria-label='Reclaim nodes for prod-a']");
  await page.fill("dialog form > div:first-of-type input[type=number]", "3");
  await page.fill("dialog form > div:first-of-type input[required]:not([type=number])", "a launch");
  await page.click("dialog button[type=submit]");
  await page.waitForSelector("dialog >> text=3 of 3 nodes", { timeout: 15000 });
  check("a reclaim says first what it takes", true);
  check("and has moved nothing yet", sluice(folder, "reclaim", "list").includes("No reclaim"), sluice(folder, "reclaim", "list"));
  await shot(page, "reclaim");
  await confirm(page, "prod-a");
  await page.waitForSelector("#transfers details", { timeout: 30000 });
  await sameHead(page, folder, "in a reclaim");
  await page.click("#transfers summary");
  await page.waitForSelector("#transfers details[open] tbody tr");
  check("an open group shows its nodes", await page.locator("#transfers details[open] tbody tr").count() >= 1, "");
  await page.click("#plan button");
  await page.waitForSelector("#plan >> text=fingerprint", { timeout: 15000 });
  check("a plan is made when it is asked for", true);
  const [calendar] = await Promise.all([page.waitForEvent("download"), page.click("text=Save as calendar")]);
  const text = readFileSync(await calendar.path(), "utf8");
  check("departures are saved as a calendar", text.startsWith("BEGIN:VCALENDAR\r\n") && text.endsWith("END:VCALENDAR\r\n"), text.slice(0, 60));
  await shot(page, "moving");
  check("the page's policy refused nothing meanwhile", (await page.evaluate(() => window.refusals)).length === 0, JSON.stringify(await page.evaluate(() => window.refusals)));
  await page.context().close();
}

/* What the page's modules make of facts that this fleet has not. */
async function pieces() {
  const page = await openPage(browser, url);
  const far = await page.evaluate(async () => {
    const { when, useZone } = await import("/page/words.js");
    const day = 86400000, now = Date.now();
    useZone("UTC");
    return [0, 5, 8, 400].map((days) => when(now + days * day));
  });
  check("a time beyond a week has a date, beyond half a year its year",
    /^\w{3} \d\d:\d\d$/.test(far[0]) && /^\w{3} \d\d:\d\d$/.test(far[1]) && /^\w{3} \d+ \w+ \d\d:\d\d$/.test(far[2])
    && /^\d+ \w+ \d{4} \d\d:\d\d$/.test(far[3]), far.join("; "));
  const told = await page.evaluate(async () => {
    const { local, useZone } = await import("/page/words.js");
    const text = "promised by 2026-11-17T12:12:00Z, seen at 2026-07-17T12:12:05.25Z; node-2026-11-17T12:12:00Zx stays";
    const zones = ["America/New_York", "UTC"].map((zone) => { useZone(zone); return local(text); });
    return zones.join("\n");
  });
  check("times within sentences are those of the zone", told === ["promised by 2026-11-17 07:12 EST, seen at 2026-07-17 08:12:05 EDT; node-2026-11-17T12:12:00Zx stays",
    "promised by 2026-11-17 12:12 UTC, seen at 2026-07-17 12:12:05 UTC; node-2026-11-17T12:12:00Zx stays"].join("\n"), told);
  const by = await page.evaluate(async () => {
    const { expectedBy } = await import("/page/transfers.js");
    const soon = new Date(Date.now() + 60000).toISOString();
    return [[{ expected: soon }, { expected: soon }], [{ expected: soon }, { expected: null }], [{ expected: null }]].map(expectedBy);
  });
  check("a transfer whose end is unknown is not among all expected", by[0].includes("all expected by") && by[1].includes("1 of 2 expected by") && by[2] === "", by.join("; "));
  const focus = await page.evaluate(async () => {
    const { List, make } = await import("/page/dom.js");
    const section = make("section"), list = new List(make("ul"), (name) => make("li", null, make("button", { type: "button" }, name)), () => {});
    document.body.append(section);
    section.append(list.parent);
    const show = (...names) => { list.show(names, (name) => name); return document.activeElement.textContent; };
    show("a", "b", "c", "d");
    list.parent.children[2].firstChild.focus();
    const seen = [show("b", "c", "d"), show("d", "c", "b"), show("d", "b"), show("d")];
    show();
    seen.push(document.activeElement === section ? "section" : document.activeElement.tagName);
    section.remove();
    return seen.join(" ");
  });
  check("the focus stays when rows go and change places", focus === "c c b d section", focus);
  await page.context().close();

  const waiting = await openPage(browser, url, { prepare: (p) => p.route("**/v1/status", async (route) => {
    const answer = await route.fetch(), status = await answer.json();
    status.overrides.approvals = [{ id: "a-1a2b3c", act: "reclaim", cluster: "prod-a", nodes: 3, by: "ada", ends: status.at }];
    await route.fulfill({ json: status });
  }) });
  const wait = await waiting.waitForSelector("text=A reclaim for prod-a (3 nodes, asked by ada) waits until", { timeout: 15000 }).catch(() => null);
  const words = wait ? await wait.textContent() : "nothing";
  check("a reclaim that waits for a second person says how to decide", words.endsWith("for a second person: sluice approve a-1a2b3c"), words);
  await waiting.unrouteAll({ behavior: "ignoreErrors" });
  await waiting.context().close();

  let names = ["alpha", "beta"], asked = 0, unknown = [];
  const prepare = async (p) => {
    await p.route("**/v1/day", async (route) => {
      const answer = await route.fetch(), day = await answer.json();
      await route.fulfill({ json: { ...day, clusters: day.clusters.map((c, i) => ({ ...c, cluster: names[i] })) } });
    });
    await p.route("**/v1/departures", async (route) => {
      const answer = await route.fetch(), board = await answer.json();
      await route.fulfill({ json: { ...board, departures: [], unknown } });
    });
    await p.route("**/v1/whoami", (route) => { asked++; return route.continue(); });
    await p.clock.install();
  };
  unknown = [{ pool: "research-z", cluster: "z", reservation: "r", reason: "not seen", age_s: null }];
  const other = await openPage(browser, url, { prepare });
  await other.waitForSelector("#day-cluster option[value=beta]", { state: "attached" });
  check("no departure of unknown pools is not none", (await other.textContent("#departures")).includes("not all pools are known")
    && (await other.textContent("#departures")).includes("research-z"), await other.textContent("#departures"));
  await other.selectOption("#day-cluster", "beta");
  const before = asked;
  names = ["gamma", "beta"];
  await other.clock.fastForward(70000);
  await other.waitForSelector("#day-cluster option[value=gamma]", { state: "attached", timeout: 15000 }).catch(() => {});
  const options = await other.evaluate(() => [...document.querySelector("#day-cluster").options].map((o) => o.value).join(" "));
  check("the chooser follows the clusters' names, and keeps what was chosen", options.trim() === "gamma beta" && await other.inputValue("#day-cluster") === "beta", options);
  for (let tries = 0; tries < 100 && asked === before; tries++) await new Promise((done) => setTimeout(done, 100));
  check("the person's rights are read again", asked > before, asked);
  const live = await other.evaluate(() => document.querySelector("#headline").getAttribute("role"));
  check("only another headline is announced to screen readers", live === null && (await other.textContent("#said")).includes(await other.textContent("#word")), live);
  await other.unrouteAll({ behavior: "ignoreErrors" }); // an answer may be on its way
  await other.context().close();
}

async function viewer() {
  const guest = await tunnelAs(GUEST, socket);
  const page = await openPage(browser, `http://localhost:${guest.port}/`);
  await page.waitForFunction(() => document.querySelector("#person").textContent.includes("viewer"), null, { timeout: 15000 }).catch(() => {});
  check("a viewer is named as such", (await page.textContent("#person")).includes("viewer"), await page.textContent("#person"));
  const buttons = await page.locator("#clusters button:visible").allTextContents();
  check("and is offered no act", buttons.length === 0, buttons.join(", "));
  const status = await page.evaluate(async () => (await fetch("/v1/freeze", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{\"for_s\":60,\"reason\":\"r\"}" })).status);
  check("nor may do one", status === 403, status);
  await page.context().close();
  guest.close();
}

/* The picture of a day that was played in virtual time. */
async function day() {
  if (!existsSync(process.env.DAY)) return note("no played day: the picture is not shown");
  const played = readFileSync(process.env.DAY, "utf8");
  const prepare = (page) => page.route("**/v1/day", (route) => route.fulfill({ contentType: "application/json", body: played }));
  for (const [name, options] of [["day-light", { colorScheme: "light" }], ["day-dark", { colorScheme: "dark" }],
    ["day-phone", { viewport: { width: 390, height: 844 }, isMobile: true }]]) {
    const page = await openPage(browser, url, { ...options, prepare });
    await page.waitForSelector("#day svg path.ready[d^=M]");
    await page.locator("#day").screenshot({ path: `${out}/${name}.png` });
    await page.context().close();
  }
  check("a played day is drawn", true);
}

/* The clusters' API is gone: stopped, not ended, so that it may come back. */
async function outage() {
  const page = await openPage(browser, url);
  process.kill(Number(simulator), "SIGSTOP");
  await page.waitForFunction(() => document.querySelector("#headline").classList.contains("critical"), null, { timeout: 400000 }).catch(() => {});
  await sameHead(page, folder, "with dead clusters");
  await shot(page, "critical");
  process.kill(Number(simulator), "SIGCONT");
  const found = await seriousFindings(page);
  check("axe-core, critical: nothing serious", found.length === 0, found.join("; "));
  await page.context().close();
}

await looks();
await acts();
await viewer();
await pieces();
await day();
await outage();
await browser.close();
way.close();
finish();
