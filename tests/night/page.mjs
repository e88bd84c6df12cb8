/* SPDX-License-Identifier: Apache-2.0
 *
 * The web page, open for the whole night.  page.mjs SOCKET FOLDER: for each line NAME of its input a
 * line of JSON with what the page shows, and pictures FOLDER/NAME-*.png when the line is "NAME picture". */

import { createInterface } from "node:readline";
import { openBrowser, openPage, seriousFindings, tunnel } from "./checks.mjs";

const [socket, folder] = process.argv.slice(2);
const way = await tunnel(socket);
const browser = await openBrowser();
const page = await openPage(browser, `http://localhost:${way.port}/`);

const shown = () => page.evaluate(() => ({
  word: document.querySelector("#word").textContent,
  sentence: document.querySelector("#sentence").textContent,
  advice: document.querySelector("#advice").textContent,
  colour: document.querySelector("#headline").className.replace("headline", "").trim(),
  title: document.title,
  conditions: document.querySelector("#health").hidden ? [] : [...document.querySelectorAll("#health li")].map((li) => ({
    severity: li.className, text: li.querySelector("span").textContent, more: li.querySelector("p").textContent,
  })),
  link: document.querySelector("#link").textContent,
}));

async function pictures(name) {
  await page.screenshot({ path: `${folder}/${name}-light.png` });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: `${folder}/${name}-dark.png` });
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.screenshot({ path: `${folder}/${name}-phone.png` });
  await page.setViewportSize({ width: 1280, height: 900 });
  return seriousFindings(page);
}

for await (const line of createInterface({ input: process.stdin })) {
  const [name, picture] = line.split(" ");
  const findings = picture ? await pictures(name) : [];
  console.log(JSON.stringify({ ...(await shown()), findings }));
}
await browser.close();
way.close();
