// What is told of a book without a question, as far as it has been read: who is in it, who somebody is, its
// facts, a recap.

import * as api from "./api.js";
import { drawPlaces } from "./places.js";
import { fill, openAt, quote, whoIs } from "./quotes.js";
import { element } from "./text.js";
import { count, percent } from "./words.js";

const FIRST_SHOWN = 12; // persons; the others are shown on request

/**
 * Buttons in `box`, each of which opens its part. `onOpen(place, marks)` hears which place of the book is
 * wanted. What is shown is of one book up to one limit: `at` closes it where either is another.
 */
export class Overviews {
  constructor(box, onOpen) {
    this.box = box;
    this.onOpen = onOpen;
    this.book = null;
    this.limit = 0;
    this.parts = [
      this.part("people", () => this.people()),
      this.part("facts", () => this.facts()),
      this.part("recap", () => this.recap()),
    ];
  }

  /** `book` is open (null: none), and has been read up to the character `limit`. */
  at(book, limit) {
    if (book === this.book && limit === this.limit) return;
    [this.book, this.limit] = [book, limit];
    this.box.hidden = book === null;
    for (const part of this.parts) part.close();
  }

  part(name, made) {
    const button = this.box.querySelector(`[aria-controls="${name}"]`);
    const into = this.box.querySelector(`#${name}`);
    const part = {
      close: () => {
        button.ariaExpanded = "false";
        into.hidden = true;
        into.replaceChildren();
      },
    };
    button.addEventListener("click", async () => {
      const isOpen = button.ariaExpanded === "true";
      for (const one of this.parts) one.close();
      if (isOpen) return;
      button.ariaExpanded = "true";
      into.hidden = false;
      await this.fill(into, made);
    });
    part.close();
    return part;
  }

  /** Puts into `into` what `made` resolves to, unless the book or the limit are others by then. */
  fill(into, made) {
    const { book, limit } = this;
    return fill(into, made, () => book === this.book && limit === this.limit);
  }

  async people() {
    const { book, limit } = this;
    const people = await api.characters(book.id, limit);
    if (people.length === 0) return [element("p", { className: "quiet" }, "Nobody is named up to here.")];
    const list = element("ul", { className: "people" }, ...people.map((one) => this.person(one)));
    const rest = [...list.children].slice(FIRST_SHOWN);
    for (const one of rest) one.hidden = true;
    const more = element("button", { type: "button", className: "plain", hidden: rest.length === 0 });
    more.textContent = `Show ${count(rest.length, "more person", "more people")}`;
    more.addEventListener("click", () => {
      for (const one of rest) one.hidden = false;
      more.remove();
      rest[0].querySelector("button").focus();
    });
    return [list, more];
  }

  person(one) {
    const told = element("div", { className: "told", hidden: true });
    const name = element(
      "button",
      { type: "button", className: "who", ariaExpanded: "false" },
      element("span", { className: "text", dir: "auto" }, one.name),
      element("span", { className: "quiet" }, count(one.count, "place")),
    );
    name.addEventListener("click", async () => {
      told.hidden = !told.hidden;
      name.ariaExpanded = String(!told.hidden);
      if (!told.hidden) await this.fill(told, () => whoIs(this.book, one.name, this.limit, this.onOpen));
    });
    const onOpen = (place) => this.onOpen(place, [{ ...place, tag: "mark" }]);
    return element("li", {}, name, drawPlaces(one, this.book, this.limit, onOpen), told);
  }

  async facts() {
    const { facts, not_said: notSaid } = await api.facts(this.book.id, this.limit);
    const rows = facts.flatMap(({ property, of, values }) =>
      values
        .filter((one) => one.answerable)
        .map((one, i) => [i === 0 ? (of === null ? property : `${property} of ${of}`) : null, one]),
    );
    const list = element("dl", { className: "facts" });
    for (const [name, one] of rows) {
      if (name !== null) list.append(element("dt", {}, name));
      list.append(element("dd", { dir: "auto" }, this.value(one)));
    }
    const missing = notSaid.length > 0 ? [element("p", { className: "quiet" }, `Not said: ${notSaid.join(", ")}.`)] : [];
    return [...(rows.length > 0 ? [list] : []), ...missing];
  }

  /** The value of a fact, which opens the book where it says it. */
  value({ text, evidence }) {
    const said = text.replaceAll("\n", " ");
    if (evidence === null) return said;
    return element("button", { type: "button", className: "plain", onclick: () => openAt(evidence, this.onOpen) }, said);
  }

  async recap() {
    const { book, limit } = this;
    const { chapters } = await api.recap(book.id, limit);
    if (chapters.length === 0) return [element("p", { className: "quiet" }, "Nothing has happened yet.")];
    return chapters.map((part) =>
      element(
        "section",
        {},
        element("h2", { className: "label" }, part.chapter ?? percent(part.start / book.characters)),
        ...part.sentences.map((one) => quote(one, book, this.onOpen)),
      ),
    );
  }
}
