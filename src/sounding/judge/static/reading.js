// Reading aids: jump between marked words, mark words of one's own, a map of the marks, and more of a long text.

import { account, every, find, make, storage } from "./page.js";
import { gettext } from "./words.js";

const TERMS = `sounding:terms:${account}`;
const SHORTEST = 2; // letters of a word to mark
const MOST_MARKS = 2000; // of one's own in a document
const TALL = 2; // screens from which on a document has a map
const text = find("#text");
const field = find("#terms");
let current = null; // the mark to which the person jumped last

const folded = (word) => word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

// Folded, with the place of each character in the text.
function foldedWithPlaces(words) {
  let plain = "";
  const places = [];
  let place = 0;
  for (const sign of words) {
    const simple = folded(sign);
    plain += simple;
    for (let count = simple.length; count > 0; count -= 1) places.push(place);
    place += sign.length;
  }
  return { plain, places: [...places, place] };
}

function spans(words, terms) {
  const { plain, places } = foldedWithPlaces(words);
  const found = terms.flatMap((term) => {
    const hits = [];
    for (let at = plain.indexOf(term); at >= 0; at = plain.indexOf(term, at + term.length)) {
      hits.push([places[at], places[at + term.length]]);
    }
    return hits;
  });
  return found.sort(([one], [other]) => one - other).filter(([first], number, all) => !number || first >= all[number - 1][1]);
}

function unmark() {
  for (const mark of every("mark.own", text)) mark.replaceWith(...mark.childNodes);
  text.normalize();
}

function markOwn() {
  unmark();
  const terms = [...new Set(folded(field.value).split(/\s+/u))].filter((term) => term.length >= SHORTEST);
  if (!terms.length) return;
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("button, mark")) nodes.push(walker.currentNode);
  let left = MOST_MARKS;
  for (const node of nodes) {
    const words = node.data;
    const found = spans(words, terms).slice(0, left);
    if (!found.length) continue;
    left -= found.length;
    const pieces = [];
    let place = 0;
    for (const [first, last] of found) {
      pieces.push(words.slice(place, first), make("mark", { class: "own" }, words.slice(first, last)));
      place = last;
    }
    node.replaceWith(...pieces, words.slice(place));
  }
}

// ---- the map at the edge of a long document

function drawMap() {
  const map = find("#map");
  const box = text.getBoundingClientRect();
  map.hidden = box.height < TALL * innerHeight;
  map.replaceChildren();
  if (map.hidden) return;
  const seen = new Set();
  for (const mark of every("mark", text)) {
    const share = Math.round(((mark.getBoundingClientRect().top - box.top) / box.height) * 500) / 5;
    if (seen.has(share)) continue;
    seen.add(share);
    const tick = make("span", mark.classList.contains("own") ? { class: "own" } : {});
    tick.style.top = `${share}%`;
    map.append(tick);
  }
}

find("#map").addEventListener("click", ({ clientY, currentTarget }) => {
  const edge = currentTarget.getBoundingClientRect();
  const box = text.getBoundingClientRect();
  scrollTo(0, scrollY + box.top + ((clientY - edge.top) / edge.height) * box.height - innerHeight / 3);
});
new ResizeObserver(drawMap).observe(text);

// ---- what the judging page calls

// A document has come into view, or more of it.
export function read() {
  current = null;
  markOwn();
  drawMap();
}

// Jump to the next marked word, or to the one before; returns what to say.
export function jump(step) {
  const marks = every("mark", text);
  if (!marks.length) return gettext("No word is marked in this document.");
  const last = marks.indexOf(current);
  const beyond = marks.findIndex((one) => one.getBoundingClientRect().top > 0);
  const start = step > 0 ? Math.max(beyond, 0) : (beyond < 0 ? marks.length : beyond) - 1;
  const number = last >= 0 ? last + step : start;
  current?.classList.remove("current");
  current = marks[(number + marks.length) % marks.length];
  current.classList.add("current");
  current.scrollIntoView({ block: "center" });
  return gettext("Marked word {number} of {all}.", { number: marks.indexOf(current) + 1, all: marks.length });
}

export function focusTerms() {
  find("#own").open = true;
  field.focus();
  field.select();
}

field.value = storage.get(TERMS) ?? "";
find("#own").open = Boolean(field.value);
field.addEventListener("input", () => {
  storage.set(TERMS, field.value);
  read();
});
