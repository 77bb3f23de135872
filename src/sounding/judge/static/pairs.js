// Two documents of a pair, A and B: side by side, or one below the other on a narrow screen.

import { find, make } from "./page.js";
import { gettext } from "./words.js";

const LETTERS = ["A", "B"];

function titled({ doc, heading }) {
  const title = make("span", { dir: "auto" });
  title.innerHTML = heading; // escaped by the server
  return title.textContent ? title : make("bdi", {}, doc);
}

function half(side, place) {
  const [letter, other] = place ? ["B", "A"] : LETTERS;
  const title = titled(side);
  const id = title.textContent === side.doc ? [] : [make("bdi", { class: "faint" }, side.doc)];
  const jump = make("a", { href: `#side-${other}`, class: "narrow-only" }, `${other} ${place ? "↑" : "↓"}`);
  const head = make("h2", { id: `side-${letter}` }, make("span", { class: "letter" }, letter), " ", title, " ", ...id);
  const text = make("div", { dir: "auto" });
  if (side.html) text.innerHTML = side.html; // escaped or cleaned by the server
  else text.append(make("p", { class: "wrong" }, gettext("The collection has no text for this document. Choose “cannot judge”.")));
  const top = make("div", { class: "half-head" }, head, jump);
  return make("section", { class: "half", "aria-labelledby": head.id, "data-doc": side.doc }, top, text);
}

export const isPair = (one) => Boolean(one?.sides?.length);

export function showPair({ sides }) {
  find("#text").replaceChildren(make("div", { class: "halves" }, ...sides.map(half)));
}

export const pairName = ({ sides }) => sides.map((side) => titled(side).textContent).join(" | ");

// The pair, or the document, with more of its text.
export function grown(one, doc, html) {
  const longer = (part) => ({ ...part, html: part.html.slice(0, part.html.lastIndexOf('<p class="cut">')) + html });
  if (!isPair(one)) return longer(one);
  return { ...one, sides: one.sides.map((side) => (side.doc === doc ? longer(side) : side)) };
}
