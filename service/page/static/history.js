// What has been asked before; answers from further on than one has read are not shown.

import * as memory from "./memory.js";
import { element } from "./text.js";
import { joined, percent } from "./words.js";

/** Shows the questions in `box`; `onChoose(asked)` hears which one is asked again, `onForget()` that none is left. */
export class History {
  constructor(box, onChoose, onForget) {
    this.box = box;
    this.onChoose = onChoose;
    box.querySelector("#forget").addEventListener("click", () => {
      memory.forgetAsked();
      this.show(null);
      onForget();
    });
  }

  /** The questions about `book` (as what it is asked, null where none is open), and behind them those about others. */
  show(book) {
    const asked = memory.asked();
    this.box.hidden = asked.length === 0;
    this.fill("asked", asked.filter((one) => one.book === book), book);
    this.fill("asked-elsewhere", asked.filter((one) => one.book !== book), book);
  }

  fill(id, asked, book) {
    const list = this.box.querySelector(`#${id}`);
    list.hidden = this.box.querySelector(`#${id}-title`).hidden = asked.length === 0;
    list.replaceChildren(
      ...asked.map((one) =>
        element(
          "li",
          {},
          element(
            "button",
            { type: "button", onclick: () => this.onChoose(one) },
            element("span", { className: "text", dir: "auto" }, one.question),
            element("span", { className: "quiet" }, about(one, book)),
          ),
        ),
      ),
    );
  }
}

function about(one, open) {
  const { book, title, read, answer } = one;
  return joined([
    memory.isFromFurtherOn(one) ? "Answered from further on than you have read" : answer,
    book !== open && title,
    read < 100 && `${percent(read / 100)} read`,
  ]);
}
