// Which reader answers: the service's own, or a language model that it may ask.

import * as api from "./api.js";
import * as memory from "./memory.js";
import { element } from "./text.js";

const OWN = ""; // the service's own choice

export class LanguageModels {
  #box;
  #select;
  #listed = ""; // what the list shows, as the service told it

  /** `box` holds the list and what is said of it; `onChange()` hears of another choice. */
  constructor(box, onChange) {
    this.#box = box;
    this.#select = box.querySelector("select");
    this.#select.addEventListener("change", () => {
      memory.remember("reader", this.#select.value);
      onChange();
    });
  }

  /** The full name of the reader that was chosen; null for the service's own choice. */
  get chosen() {
    return this.#select.value === OWN ? null : this.#select.value;
  }

  /** Whether somebody chose a language model here before, so that `chosen` is to be asked after `load()` alone. */
  get isRemembered() {
    return (memory.remembered("reader") ?? OWN) !== OWN;
  }

  /** Asks the service what there is; without a language model nothing is shown. */
  async load() {
    const readers = await api.readers().catch(() => null);
    const listed = JSON.stringify(readers);
    if (readers === null || listed === this.#listed) return; // a list that is open stays open
    this.#listed = listed;
    const models = readers.filter((reader) => reader.language_model !== null && !reader.is_default);
    const own = readers.find((reader) => reader.is_default);
    this.#select.replaceChildren(
      element("option", { value: OWN }, own?.language_model ?? "the built-in reader"),
      ...models.map((one) =>
        element("option", { value: one.name }, [one.language_model, one.server && `(${one.server})`].filter(Boolean).join(" ")),
      ),
    );
    const last = memory.remembered("reader");
    if (models.some((one) => one.name === last)) this.#select.value = last;
    this.#box.hidden = models.length === 0;
    const servers = [...new Set(models.map((one) => one.server).filter(Boolean))];
    this.#box.querySelector("span").textContent =
      servers.length === 0 ? "" : `${servers.join(" and ")} ${servers.length === 1 ? "runs" : "run"} on this machine.`;
  }
}
