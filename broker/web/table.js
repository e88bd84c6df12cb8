/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables whose rows stay while their numbers change.  On a narrow screen each row is a card, and each
 * cell has its title before it. */

import { List, make, mark, say } from "/page/dom.js";

/* A column: title, and text(item); or fill(cell, item), for more than a text.  is_number: set right;
 * mark(item): a class. */
export class Table {
  constructor(caption, columns) {
    const head = make("tr", null, ...columns.map((column) =>
      make("th", { scope: "col", class: column.is_number ? "number" : null }, column.title)));
    const body = make("tbody");
    this.columns = columns;
    this.empty = make("p", { class: "soft", hidden: true });
    this.scroll = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
      make("table", null, make("caption", { class: "hidden" }, caption), make("thead", null, head), body));
    this.element = make("div", null, this.scroll, this.empty);
    this.list = new List(body, () => this.#row(), (row, item) => this.#update(row, item));
  }

  #row() {
    return make("tr", null, ...this.columns.map((column, i) =>
      make(i === 0 ? "th" : "td", {
        scope: i === 0 ? "row" : null,
        "data-title": column.title,
        class: column.is_number ? "number" : null,
      })));
  }

  #update(row, item) {
    this.columns.forEach((column, i) => {
      const cell = row.children[i];
      if (column.fill) column.fill(cell, item);
      else say(cell, column.text(item));
      if (column.mark) mark(cell, `${column.is_number ? "number " : ""}${column.mark(item)}`);
    });
  }

  /* `none` is what is said when there are no items. */
  show(items, keyOf, none) {
    this.list.show(items, keyOf);
    this.scroll.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
    say(this.empty, none ?? "");
  }
}
