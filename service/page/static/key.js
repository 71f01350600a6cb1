// The dialog that asks for a key when the service wants one.

import { whenAKeyIsWanted } from "./api.js";

export function offerKey(dialog) {
  const text = dialog.querySelector("#key-text");
  let wanted = null; // several calls may find out at once; one dialog answers them all

  whenAKeyIsWanted((why) => {
    wanted ??= new Promise((resolve) => {
      dialog.querySelector("#key-about").textContent = why;
      text.value = "";
      dialog.returnValue = "";
      const closed = () => {
        wanted = null;
        resolve(dialog.returnValue === "given" ? text.value.trim() : null);
      };
      dialog.addEventListener("close", closed, { once: true });
      dialog.showModal();
    });
    return wanted;
  });
}
