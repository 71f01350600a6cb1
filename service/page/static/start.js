// The first screen: a place to drop a book, and the sample story with questions to try.

import { element } from "./text.js";

/** A list of questions in `list`; `onAsk(question)` hears which one is wanted. */
export function suggest(list, questions, onAsk) {
  list.replaceChildren(
    ...questions.map((question) =>
      element("li", {}, element("button", { type: "button", onclick: () => onAsk(question) }, question)),
    ),
  );
}

/**
 * The sample story among the books of `library`; `go({book, q})` opens it.
 *
 * Where nobody has added it yet, it is added as any file is.
 */
export class Sample {
  constructor(about, library, go) {
    this.about = about;
    this.library = library;
    this.go = go;
  }

  async open(q = "") {
    const go = (book) => this.go({ book, q });
    if (await this.library.has(this.about.book_id)) go(this.about.book_id);
    else await this.library.add([await this.about.file()], go);
  }

  /** Fills the box of the first screen; `attempt(action)` runs what may fail. */
  show(box, attempt) {
    box.querySelector("#open-sample").addEventListener("click", () => attempt(() => this.open()));
    suggest(box.querySelector("ul"), this.about.questions, (q) => attempt(() => this.open(q)));
    box.hidden = false;
  }
}
