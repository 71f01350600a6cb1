// What went wrong: one place, one sentence, and what may be done about it.

import { Problem } from "./problems.js";
import { suggest } from "./start.js";

/** Shows one error at a time in `box`; `onRetry()` hears that it is to be tried again. */
export class Errors {
  constructor(box, onRetry) {
    this.said = box.querySelector("p");
    this.box = box;
    this.retry = box.querySelector("#retry");
    this.near = box.querySelector("#near");
    this.retry.addEventListener("click", onRetry);
  }

  clear() {
    this.box.hidden = true;
  }

  /** `near` are the titles that may have been meant; `onNear(title)` hears which one was. */
  show(error, near, onNear) {
    this.said.textContent = error.message;
    this.retry.hidden = error instanceof Problem && !error.passes;
    this.near.hidden = near.length === 0;
    suggest(this.near, near, onNear);
    this.box.hidden = false;
  }
}
