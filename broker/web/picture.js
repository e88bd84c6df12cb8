/* SPDX-License-Identifier: Apache-2.0
 *
 * The day as a drawing: nodes against time, and the moves below.  What is not known is a gap. */

import { draw } from "/page/dom.js";
import { hour } from "/page/words.js";

const LEFT = 44, RIGHT = 12, TOP = 20, HEIGHT = 220, LANE = 18, FOOT = 22;
const HOUR = 3600000;

function scale(course) {
  const from = course.from, to = course.to;
  const width = course.width - LEFT - RIGHT;
  const x = (time) => LEFT + (Math.min(Math.max(time, from), to) - from) / (to - from) * width;
  const y = (nodes) => TOP + HEIGHT - nodes / course.most * HEIGHT;
  return { x, y };
}

/* 1, 2 or 5 times a power of ten, so that there are about five lines. */
function step(most) {
  const rough = most / 5, power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
}

/* Paths through points [time, nodes], broken where nodes are null; stairs keep a number until the next. */
function path(points, { x, y }, is_stairs) {
  let text = "", last = null;
  for (const [time, nodes] of points) {
    if (nodes === null) last = null;
    else {
      if (last === null) text += `M${x(time).toFixed(1)} ${y(nodes).toFixed(1)}`;
      else text += `${is_stairs ? `H${x(time).toFixed(1)}V` : `L${x(time).toFixed(1)} `}${y(nodes).toFixed(1)}`;
      last = nodes;
    }
  }
  return text;
}

/* The same, closed along the axis. */
function area(points, at) {
  const parts = [];
  let run = [];
  for (const point of [...points, [0, null]]) {
    if (point[1] !== null) run.push(point);
    else if (run.length > 0) {
      const base = at.y(0).toFixed(1);
      parts.push(`${path(run, at, false)}L${at.x(run.at(-1)[0]).toFixed(1)} ${base}L${at.x(run[0][0]).toFixed(1)} ${base}Z`);
      run = [];
    }
  }
  return parts.join("");
}

function axes(course, at) {
  const parts = [], by = step(course.most), narrow = course.width < 560;
  for (let nodes = 0; nodes <= course.most; nodes += by)
    parts.push(draw("line", { class: "grid", x1: LEFT, x2: course.width - RIGHT, y1: at.y(nodes), y2: at.y(nodes) }),
      draw("text", { x: LEFT - 6, y: at.y(nodes) + 4, "text-anchor": "end" }, String(nodes)));
  const every = (narrow ? 8 : 4) * HOUR;
  for (let time = Math.ceil(course.from / every) * every; time <= course.to; time += every)
    if (at.x(time) > LEFT + 14 && at.x(time) < course.width - RIGHT - 14) parts.push(draw("text", { x: at.x(time), y: course.bottom - 6, "text-anchor": "middle" }, hour(time)));
  return parts;
}

/* Every second window has a ground of its own. */
function bands(course, at) {
  const parts = [];
  course.windows.forEach((window, i) => {
    const from = at.x(window.from), width = at.x(window.to) - from;
    if (i % 2 === 0)
      parts.push(draw("rect", { class: "band", x: from, y: TOP, width, height: course.bottom - FOOT - TOP }));
    if (width > window.name.length * 7)
      parts.push(draw("text", { x: from + width / 2, y: TOP - 7, "text-anchor": "middle" }, window.name));
  });
  return parts;
}

function lanes(course, at) {
  return course.moves.flatMap((move, i) => {
    const y = TOP + HEIGHT + 10 + i * LANE, x = at.x(move.from);
    const width = Math.max(at.x(move.to) - x, 3), is_right = x + width > course.width / 2;
    return [
      draw("rect", { class: move.is_running ? "running" : "planned", x, y, width, height: LANE - 6, rx: 2 }),
      draw("text", { class: "lane", x: is_right ? x - 6 : x + width + 6, y: y + 10, "text-anchor": is_right ? "end" : "start" }, move.text),
    ];
  });
}

/* The interval of each window's need as a box, and its upper end as a line. */
function bounds(course, at) {
  return course.needs.filter((row) => row.need).flatMap(({ from, to, need }) => {
    const x = at.x(from), width = at.x(to) - x, top = at.y(need.bound);
    return [
      draw("rect", { class: "interval", x, y: top, width, height: Math.max(at.y(need.lower) - top, 0) }),
      draw("line", { class: "bound", x1: x, x2: x + width, y1: top, y2: top }),
      draw("line", { class: "point", x1: x, x2: x + width, y1: at.y(need.point), y2: at.y(need.point) }),
    ];
  });
}

/* course: {from, to, now, most, width, windows, needs, wanted, ahead, ready, lent, moves, title} */
export function picture(course) {
  course.bottom = TOP + HEIGHT + 10 + course.moves.length * LANE + FOOT;
  const at = scale(course), now = at.x(course.now);
  return draw("svg", { viewBox: `0 0 ${course.width} ${course.bottom}`, role: "img", "aria-label": course.title },
    ...bands(course, at),
    ...axes(course, at),
    ...bounds(course, at),
    draw("path", { class: "lent", d: area(course.lent, at) }),
    draw("path", { class: "wanted", d: path(course.wanted, at, true) }),
    draw("path", { class: "wanted ahead", d: path(course.ahead, at, true) }),
    draw("path", { class: "ready", d: path(course.ready, at, false) }),
    draw("line", { class: "now", x1: now, x2: now, y1: TOP, y2: course.bottom - FOOT }),
    ...lanes(course, at));
}

/* What a line of the legend looks like. */
export function swatch(name) {
  const shape = name === "lent" || name === "interval" || name === "running" || name === "planned"
    ? draw("rect", { class: name, x: 1, y: 1, width: 26, height: 8 })
    : draw("path", { class: name, d: "M0 5H28" });
  return draw("svg", { viewBox: "0 0 28 10", "aria-hidden": "true" }, shape);
}
