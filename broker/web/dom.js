/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements.  Texts of clusters are not trusted: they become text nodes, never markup. */

import { local } from "/page/words.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/* An element with attributes (onclick and the like are listeners) and children (texts, elements). */
export function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const find = (id) => document.getElementById(id);

/* Writes only what has changed: a page that is looked at does not flicker, and updates are cheap.
 * Here is where the times within sentences are changed, all of them. */
export function say(element, text) {
  const shown = local(text);
  if (element.textContent !== shown) element.textContent = shown;
}

export function mark(element, name) {
  if (element.className !== name) element.className = name;
}

/* The children of an element, one for each item.  An item that stays keeps its element, and with it
 * the focus and what is open. */
export class List {
  constructor(parent, create, update) {
    this.parent = parent;
    this.create = create;
    this.update = update;
    this.known = new Map();
  }

  /* Removed rows go first: the others need not be moved then, and a moved element loses the focus. */
  show(items, keyOf) {
    const active = document.activeElement;
    const held = active !== this.parent && this.parent.contains(active) ? active : null;
    const keys = new Set(items.map(keyOf));
    let place = 0;
    for (const [key, element] of this.known) {
      if (keys.has(key)) continue;
      if (held && element.contains(held)) place = [...this.parent.children].indexOf(element);
      element.remove();
      this.known.delete(key);
    }
    const next = new Map();
    let at = this.parent.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      if (next.has(key)) continue;
      const element = this.known.get(key) ?? this.create(item);
      next.set(key, element);
      this.update(element, item);
      if (element === at) at = at.nextElementSibling;
      else this.parent.insertBefore(element, at);
    }
    this.known = next;
    if (held && document.activeElement !== held) this.#focus(held, place);
  }

  /* The focus stays; that of a row that is gone goes to the row in its place, or to what is around. */
  #focus(held, place) {
    const row = this.parent.children[Math.min(place, this.parent.children.length - 1)];
    const places = row ? [row, ...row.querySelectorAll("button, summary, a[href], input")] : [];
    let target = held.isConnected ? held : places.find((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility());
    if (!target) {
      target = this.parent.closest("section") ?? this.parent;
      target.tabIndex = -1;
    }
    target.focus({ preventScroll: true });
  }
}
