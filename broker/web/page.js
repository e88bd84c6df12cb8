/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of the service: reads the API as the person who looks, again after each change. */

import { openToken, setRights, setUpActs } from "/page/acts.js";
import { ask, askText, follow, hasToken, Refusal } from "/page/api.js";
import { setUpClusters, showClusters } from "/page/clusters.js";
import { setUpDay, showDay } from "/page/day.js";
import { setUpDepartures, showDepartures } from "/page/departures.js";
import { find, say } from "/page/dom.js";
import { setUpForecast, showForecast } from "/page/forecast.js";
import { showHead, showUnknown } from "/page/head.js";
import { setUpPlan } from "/page/plan.js";
import { readEvents, readLeads, setUpStory } from "/page/story.js";
import { setUpTransfers, showTransfers } from "/page/transfers.js";
import { useZone } from "/page/words.js";

/* How often each part is read at most. */
const STATUS_MS = 1000, EVENTS_MS = 5000, BOARD_MS = 20000, DAY_MS = 60000, LEADS_MS = 60000, PERSON_MS = 60000;
const POLL_MS = 5000; /* without a stream */
const QUIET_MS = 30000; /* ages grow, even if nothing changes */
const RETRY_MS = [1000, 2000, 5000, 10000, 30000];

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

let status = null;
let is_live = false;
let is_busy = false;
let is_wanted = false;
const read_at = new Map();

function isDue(name, ms) {
  const now = performance.now();
  if (now - (read_at.get(name) ?? -Infinity) < ms) return false;
  read_at.set(name, now);
  return true;
}

function sayLink(text) {
  say(find("link"), text);
}

function fail(error) {
  if (error instanceof Refusal && error.status === 401) openToken(hasToken() ? error.message : "");
  sayLink(error instanceof Refusal ? error.message : "no answer: what is shown is old");
  find("link").classList.add("wrong");
  showUnknown();
}

/* What an update costs is kept where a browser's tools show it. */
async function readStatus() {
  const text = await askText("/v1/status");
  const begun = performance.now();
  status = JSON.parse(text);
  const parse_ms = performance.now() - begun;
  const reclaims = status.overrides.reclaims.length ? (await ask("/v1/reclaims")).reclaims : [];
  const begin = performance.now() - parse_ms;
  showHead(status);
  showClusters(status, reclaims);
  showTransfers(status);
  showDay({ status });
  performance.clearMeasures("sluice-update");
  performance.measure("sluice-update", { start: begin, end: performance.now() });
}

/* Also names the zone of all times, so it comes first. */
async function readDay() {
  if (!isDue("day", DAY_MS)) return;
  const day = await ask("/v1/day");
  useZone(day.time_zone);
  const forecast = await ask("/v1/forecast");
  showDay({ day, forecast });
  showForecast(forecast);
}

async function readRest() {
  if (isDue("person", PERSON_MS)) await readPerson();
  if (isDue("board", BOARD_MS)) {
    const departures = await ask("/v1/departures");
    showDepartures(departures);
    showDay({ departures });
  }
  if (isDue("events", EVENTS_MS)) await readEvents();
  if (isDue("leads", LEADS_MS)) await readLeads(status);
}

/* One reading at a time; a change meanwhile asks for another one. */
async function refresh() {
  is_wanted = true;
  if (is_busy) return;
  is_busy = true;
  while (is_wanted && !document.hidden) {
    is_wanted = false;
    try {
      await readDay();
      await readStatus();
      await readRest();
      find("link").classList.remove("wrong");
      sayLink(is_live ? "live" : `looks every ${POLL_MS / 1000} s`);
    } catch (error) {
      fail(error);
    }
    await pause(STATUS_MS);
  }
  is_busy = false;
}

async function readPerson() {
  try {
    const person = await ask("/v1/whoami");
    setRights(person.may);
    say(find("person"), `${person.person}, ${person.role}`);
  } catch (error) {
    setRights([]);
    say(find("person"), "");
    fail(error);
  }
}

/* Changes by the stream; while there is none, by looking again and again. */
async function live() {
  for (let tries = 0; ; tries++) {
    const begun = performance.now();
    try {
      await follow(() => { is_live = true; refresh(); });
    } catch {
      /* the next try says more */
    }
    is_live = false;
    if (performance.now() - begun > RETRY_MS.at(-1)) tries = 0;
    const until = performance.now() + RETRY_MS[Math.min(tries, RETRY_MS.length - 1)];
    while (performance.now() < until) {
      await pause(Math.min(POLL_MS, until - performance.now()));
      refresh();
    }
  }
}

async function again() {
  read_at.clear();
  isDue("person", PERSON_MS);
  await readPerson();
  refresh();
}

setUpDay();
setUpClusters();
setUpTransfers();
setUpDepartures();
setUpPlan();
setUpForecast();
setUpStory();
setUpActs(again);
find("sign").hidden = location.protocol !== "https:";
find("sign").addEventListener("click", () => openToken(""));
/* A hidden tab looks no more, so its title says nothing. */
document.addEventListener("visibilitychange", () => {
  if (document.hidden) document.title = "sluice";
  else refresh();
});
setInterval(refresh, QUIET_MS);
isDue("person", PERSON_MS);
await readPerson();
refresh();
live();
