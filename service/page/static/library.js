// The list of books, and adding to it: a file chosen or dropped is sent, and its job followed to its end.

import * as api from "./api.js";
import { Problem } from "./problems.js";
import { EVERY_BOOK, idOfShelf, titleOf } from "./scope.js";
import { element } from "./text.js";
import { Choices, choice, row } from "./together.js";
import { count, finder, joined } from "./words.js";

const MOST_SHOWN = 200;
const PAGE = 1000; // books that are fetched at once

/**
 * The dialog with the books; `onChoose(id)` hears which one is wanted, or as what several are asked, `onChange()`
 * that there are others, and `onRemoved(id)` which one there is no more.
 */
export class Library {
  constructor(dialog, onChoose, onChange, onRemoved) {
    this.dialog = dialog;
    this.onChoose = onChoose;
    this.onChange = onChange;
    this.onRemoved = onRemoved;
    this.said = dialog.querySelector("#removing");
    this.books = [];
    this.isLoaded = false; // whether the service has said which there are
    this.hasMore = false; // than these, which are the first by their ids
    this.shelves = [];
    const choose = (id) => {
      dialog.close();
      onChoose(id);
    };
    this.choose = choose;
    this.choices = new Choices(dialog, choose);
    this.list = dialog.querySelector("#books");
    this.about = dialog.querySelector("#books-about");
    this.more = dialog.querySelector("#more-books");
    this.more.addEventListener("click", () => this.loadMore());
    this.uploads = dialog.querySelector("#uploads");
    this.unsent = new Set(); // files that would be lost with the page
    addEventListener("beforeunload", (event) => this.unsent.size > 0 && event.preventDefault());
    this.filter = dialog.querySelector("#filter");
    this.filter.addEventListener("input", () => this.draw());
    this.filter.addEventListener("keydown", (event) => {
      if (event.isComposing) return; // the keys are those of an input method, as for Chinese or Japanese
      if (event.key === "ArrowDown") this.rows()[0]?.focus();
      if (event.key === "Enter") (this.list.querySelector(".choose") ?? this.rows()[0])?.click();
    });
    for (const list of [this.choices.list, this.list]) list.addEventListener("keydown", (event) => this.move(event));
    this.file = dialog.querySelector("#file");
    this.file.addEventListener("change", () => {
      this.add(this.file.files);
      this.file.value = ""; // the same file may be chosen again
    });
  }

  async load() {
    const most = Math.max(PAGE, this.books.length);
    const [books, shelves] = await Promise.all([
      api.books("", most + 1),
      api.shelves().catch(() => []), // a damaged one keeps nobody from the books
    ]);
    this.show(books, most); // with the shelves, or the list opened meanwhile would grow under one's fingers
    this.shelves = shelves;
    this.draw();
    this.onChange();
  }

  /** Keeps `most` of `books`, which come in the order of their ids; one beyond tells that there are more. */
  show(books, most) {
    this.isLoaded = true;
    this.hasMore = books.length > most;
    this.books = books.slice(0, most);
    // Before the last page the order stays, so that what comes is put at the end.
    if (!this.hasMore) this.books.sort((a, b) => a.title.localeCompare(b.title));
  }

  async loadMore() {
    const there = this.books;
    this.more.disabled = true;
    this.said.hidden = true;
    try {
      const next = await api.books(there.at(-1).id, PAGE + 1);
      if (this.books === there) this.show([...there, ...next], there.length + PAGE);
      this.draw();
      this.onChange();
    } catch (error) {
      this.said.textContent = error.message;
      this.said.hidden = false;
    } finally {
      this.more.disabled = false;
    }
  }

  /** How many books there are, in words. */
  get size() {
    return `${this.hasMore ? "more than " : ""}${count(this.books.length, "book")}`;
  }

  /** Whether there is what `id` asks, be it listed or not. */
  async has(id) {
    if (this.title(id) !== null || !this.hasMore || typeof id !== "string") return this.title(id) !== null;
    return Promise.all(id.split(",").map(api.book)).then(() => true, () => false);
  }

  /** The title of a book, a shelf or several books, as they are asked; null where there is none of that id. */
  title(id) {
    if (typeof id !== "string" || this.books.length === 0) return null;
    if (id === EVERY_BOOK) return "All books";
    const shelf = this.shelves.find((one) => idOfShelf(one.name) === id);
    const books = id.split(",").map((one) => this.books.find((book) => book.id === one));
    return shelf?.title ?? (books.every(Boolean) ? titleOf(books) : null);
  }

  /** The buttons that choose, those for several books first. */
  rows() {
    return [...this.dialog.querySelectorAll(".choose")];
  }

  open() {
    this.filter.value = "";
    this.said.hidden = true;
    this.choices.clear();
    this.draw();
    this.dialog.showModal();
    this.filter.focus();
  }

  /** Draws the lists anew; who stands in a row goes on there. */
  draw() {
    const held = this.heldRow();
    this.drawRows();
    if (held === null) return;
    const same = [...this.dialog.querySelectorAll("li")].find((one) => one.dataset.asked === held.asked);
    same?.querySelectorAll("button, input")[held.place]?.focus();
  }

  /** As what the row is asked that has the focus, and which of its buttons it is; null where none has it. */
  heldRow() {
    const row = document.activeElement.closest("li[data-asked]");
    if (!this.dialog.contains(row)) return null;
    const place = [...row.querySelectorAll("button, input")].indexOf(document.activeElement);
    return { asked: row.dataset.asked, place };
  }

  drawRows() {
    const isWanted = finder(this.filter.value);
    const found = this.books.filter((book) => isWanted([book.title, book.author, book.id].join(" ")));
    this.filter.hidden = this.books.length < 6 && this.filter.value === ""; // it can be emptied as long as it is not
    this.choices.draw(this, isWanted);
    this.list.replaceChildren(
      ...found.slice(0, MOST_SHOWN).map((book) =>
        row(
          book.id,
          this.choices.box(book),
          choice(book.title, count(book.words, "word"), () => this.choose(book.id), this.byline(book)),
          this.removeButton(book),
        ),
      ),
    );
    this.more.hidden = !this.hasMore;
    this.about.textContent = this.says(found.length);
  }

  /** Who wrote `book`; and its id, where another one has its title. */
  byline({ title, author, id }) {
    const isOnly = this.books.filter((book) => book.title === title).length === 1;
    return joined([author, !isOnly && id]);
  }

  /** What is said below the list, where `found` of the books have what was typed. */
  says(found) {
    if (this.books.length === 0) return this.isLoaded ? "There are no books yet." : "";
    if (found > MOST_SHOWN) return `${count(found - MOST_SHOWN, "more book")}; type to narrow them down.`;
    if (found > 0) return "";
    return this.hasMore ? `None of the first ${count(this.books.length, "book")} is called that.` : "No book is called that.";
  }

  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const buttons = this.rows();
    const row = document.activeElement.closest("li");
    const next = buttons[buttons.findIndex((button) => row.contains(button)) + step];
    event.preventDefault();
    (next ?? (step < 0 && !this.filter.hidden ? this.filter : document.activeElement)).focus();
  }

  /** Removes a book, once it has been pressed a second time. */
  removeButton(book) {
    const button = element("button", { type: "button", className: "plain remove" }, "Remove");
    button.ariaLabel = `Remove ${book.title}`;
    const ask = (asked) => {
      button.classList.toggle("sure", asked);
      button.textContent = asked ? "Really?" : "Remove";
      button.ariaLabel = asked ? `Really remove ${book.title}?` : `Remove ${book.title}`;
    };
    button.addEventListener("blur", () => ask(false));
    button.addEventListener("click", async () => {
      if (!button.classList.contains("sure")) return ask(true);
      button.disabled = true;
      this.said.hidden = true;
      try {
        await api.remove(book.id);
        await this.load();
        this.onRemoved(book.id);
        (this.list.querySelector(".choose") ?? this.file).focus(); // which was on the button, and is gone with it
      } catch (error) {
        button.disabled = false;
        ask(false);
        this.said.textContent = `${book.title} is still there. ${error.message}`;
        this.said.hidden = false;
      }
    });
    return button;
  }

  /** Adds files as books, one after the other; a single one is told to `onAdded(id)` when it is there. */
  async add(files, onAdded = this.onChoose) {
    // At once, for the input's own list is emptied meanwhile, and whoever gave them is to see that all of them were taken.
    const all = [...files].map((file) => this.uploadRow(file));
    if (!this.dialog.open) this.open();
    for (const upload of all) {
      const done = await this.addOne(upload);
      if (done !== null && all.length === 1 && this.dialog.open) {
        this.dialog.close();
        onAdded(done);
      }
    }
  }

  dismiss(row) {
    row.remove();
    this.file.focus(); // which was on the button, and would be nowhere
  }

  /** A file on its way, and the row that shows it. */
  uploadRow(file) {
    const bar = element("progress", { max: 1, value: 0, ariaLabel: `Adding ${file.name}` });
    const said = element("span", { className: "quiet" }, "Waiting to be sent");
    const row = element("li", {}, element("span", { className: "title", dir: "auto" }, file.name), said, bar);
    this.uploads.append(row);
    this.unsent.add(file);
    return { file, row, said, bar };
  }

  async addOne({ file, row, said, bar }) {
    said.textContent = "Sending";
    const show = (job) => {
      bar.value = job.progress;
      said.textContent = job.status === "queued" ? "Waiting for its turn" : "Reading the book";
    };
    try {
      await checkFile(file, this.file.accept.split(","));
      const job = await api.upload(file, (share) => (bar.value = share));
      this.unsent.delete(file);
      show(job);
      const last = await api.follow(job, show);
      if (last.status === "failed") throw new Problem(422, last.error ?? "The book could not be read.");
      await this.load();
      row.remove();
      return last.book_id;
    } catch (error) {
      this.unsent.delete(file);
      row.classList.add("failed");
      bar.remove();
      said.textContent = error.message;
      row.append(
        element("button", { type: "button", className: "plain", onclick: () => this.dismiss(row) }, "Dismiss"),
      );
      return null;
    }
  }
}

// What a browser calls files that can be read, whatever their names end in.
const TYPES = new Set(["text/plain", "text/html", "text/markdown"]);

/** Throws a Problem for what need not be sent, for it would be refused. */
async function checkFile(file, suffixes) {
  const name = file.name.toLowerCase();
  const suffix = /\.[a-z0-9]{1,8}$/.exec(name)?.[0];
  if (suffix !== undefined && !suffixes.some((one) => name.endsWith(one)) && !TYPES.has(file.type)) {
    const kind = suffix.slice(1).toUpperCase();
    throw new Problem(415, `${kind} files cannot be read; convert it to EPUB or plain text, with Calibre for instance.`);
  }
  const first = await file.slice(0, 1).arrayBuffer().catch(() => null);
  if (first === null) throw new Problem(422, "This cannot be read. Is it a folder? Add the files in it.");
  if (first.byteLength === 0) throw new Problem(422, "This file is empty.");
}

/** Files dropped anywhere on the page go to `library`; `veil` is shown while they hover. */
export function acceptDrops(library, veil) {
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  // Words may be dropped into a field; whatever else is dropped must not lead away from the page.
  const isOurs = (event) => holdsFiles(event) || !(event.target instanceof HTMLInputElement);
  let depth = 0; // enter and leave come in pairs for every element that is crossed
  addEventListener("dragenter", (event) => {
    if (!holdsFiles(event)) return;
    depth += 1;
    veil.hidden = false;
  });
  addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    veil.hidden = depth === 0;
  });
  addEventListener("dragover", (event) => isOurs(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!isOurs(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    if (event.dataTransfer.files.length > 0) library.add(event.dataTransfer.files);
  });
}
