// What went wrong: one place, one sentence, and what may be done about it.

import { Problem } from "./problems.js";
import { suggest } from "./start.js";

/**
 * Whatever may fail is attempted here; what went wrong is shown in `box`, and can be tried again.
 *
 * `onError(error)` puts the page in order, and resolves to what may have been meant instead: a Map of titles
 * to what is done when one is chosen.
 */
export class Errors {
  constructor(box, onError) {
    this.box = box;
    this.onError = onError;
    this.again = null; // the action that went wrong
    this.retry = box.querySelector("#retry");
    this.retry.addEventListener("click", () => this.attempt(this.again));
  }

  async attempt(action) {
    this.box.hidden = true;
    try {
      await action();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.again = action;
      if (!(error instanceof Problem)) console.error(error);
      this.show(error, await this.onError(error));
    }
  }

  show(error, instead) {
    const meant = this.box.querySelector("#near");
    meant.hidden = instead.size === 0;
    suggest(meant, [...instead.keys()], (title) => instead.get(title)());
    this.box.querySelector("p").textContent = meant.hidden ? error.message : `${error.message} Did you mean:`;
    this.retry.hidden = error instanceof Problem && !error.passes;
    this.box.hidden = false;
  }
}
