// Where somebody is named, drawn along the book's length; the places are gone through with the arrow keys.

import { chapterAt, joined, percent, reached } from "./words.js";

const WIDTH = 1000; // of the drawing, which is stretched to the strip's
const SVG = "http://www.w3.org/2000/svg";

function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/**
 * A strip with a line at each of `person.places`, which `book` names up to the character `limit`;
 * `onOpen({ start, end })` hears which of them is wanted.
 */
export function drawPlaces(person, book, limit, onOpen) {
  const chapters = reached(book, limit);
  const places = person.places.map(([start]) => start);
  const open = () => onOpen({ start: places[at], end: person.places[at][1] });
  const x = (start) => Math.round((WIDTH * start) / book.characters);
  const lines = [...new Set(places.map(x))].map((at) => `M${at} 0V10`).join("");
  const here = drawn("path", { class: "here" });
  const strip = drawn("svg", {
    class: "places",
    viewBox: `0 0 ${WIDTH} 10`,
    preserveAspectRatio: "none",
    tabindex: 0,
    role: "slider",
    "aria-label": `Where ${person.name} is named`,
    "aria-valuemin": 1,
    "aria-valuemax": places.length,
  });
  strip.append(drawn("path", { d: lines }), here);

  let at = 0;
  const go = (to) => {
    at = Math.max(0, Math.min(places.length - 1, to));
    strip.setAttribute("aria-valuenow", at + 1);
    strip.setAttribute("aria-valuetext", joined([percent(places[at] / book.characters), chapterAt(chapters, places[at])], ", "));
    here.setAttribute("d", `M${x(places[at])} 0V10`);
  };
  go(0);

  strip.addEventListener("keydown", (event) => {
    const to = {
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      PageUp: at + 10,
      PageDown: at - 10,
      Home: 0,
      End: places.length - 1,
    }[event.key];
    if (to !== undefined) go(to);
    else if (event.key === "Enter" || event.key === " ") open();
    else return;
    event.preventDefault();
  });
  strip.addEventListener("click", (event) => {
    const box = strip.getBoundingClientRect();
    const wanted = ((event.clientX - box.left) / box.width) * book.characters;
    const distance = (i) => Math.abs(places[i] - wanted);
    go(places.reduce((best, _, i) => (distance(i) < distance(best) ? i : best), 0));
    open();
  });
  return strip;
}
