// Marks within the document in view: grades of its contexts, spans that support the grade, and nuggets. They
// stay in this browser until they are sent with the grade of the whole.

import { keepTyped, typed } from "./comments.js";
import { every, find, make, put } from "./page.js";
import { gettext } from "./words.js";

const KIND = "marks"; // of what is kept unsent
const SHOWN = 120; // characters of a span in the list
const text = find("#text");
const list = find("#evidence");
const nuggets = find("#nuggets");
const boxes = nuggets ? every("input", nuggets) : [];
const grades = every("button.grade").map(({ dataset }) => ({ grade: Number(dataset.grade), words: dataset.words, name: dataset.name }));
const adder = find("[data-do=evidence]"); // null: documents come in pairs, in which nothing is marked
let place = null; // topic and document
let marks = empty();

function empty() {
  return { contexts: {}, spans: [], nuggets: {} };
}

const parts = () => (adder ? every(".part[data-graded]", text) : []);
const nameOf = (part) => find("h2", part).textContent;

function keep() {
  if (place) keepTyped(...place, JSON.stringify(marks), KIND);
}

// ---- what the judging page calls

// A document has come into view: show its unsent marks, else those of its judgment.
export function showMarks(topic, present, before) {
  place = present ? [topic, present.doc] : null;
  const unsent = present ? typed(topic, present.doc, KIND) : "";
  marks = { ...empty(), ...(unsent ? JSON.parse(unsent) : present?.marks ?? before ?? {}) };
  if (present && !present.judged && !unsent && (present.marks ?? before)) keep();
  for (const part of parts()) addGrades(part);
  for (const box of boxes) box.checked = marks.nuggets[box.value] === true;
  if (nuggets) {
    nuggets.hidden = !present;
    count();
  }
  find("[data-do=part]")?.toggleAttribute("hidden", !parts().length);
  draw();
}

// The marks to send with a grade; null: none. Whoever cannot judge has looked for no nuggets.
export function marksFor(grade) {
  const found = grade === null ? {} : Object.fromEntries(boxes.map((box) => [box.value, box.checked]));
  const given = { contexts: marks.contexts, spans: marks.spans, nuggets: found };
  return Object.values(given).some((one) => Object.keys(one).length) ? given : null;
}

export function forgetMarks(topic, doc) {
  keepTyped(topic, doc, "", KIND);
}

// ---- contexts

function addGrades(part) {
  const words = gettext("Grade of {part}", { part: nameOf(part) });
  const buttons = grades.map((one) => {
    const button = make("button", { type: "button", dir: "auto", "data-grade": one.grade }, one.words);
    button.addEventListener("click", () => grade(part, one.grade));
    return button;
  });
  const group = make("div", { class: "part-grades", role: "group", "aria-label": words }, ...buttons);
  find("h2", part).after(group);
  press(part);
}

function press(part) {
  for (const button of every(".part-grades button", part)) {
    button.setAttribute("aria-pressed", String(marks.contexts[part.dataset.part] === Number(button.dataset.grade)));
  }
}

function grade(part, given) {
  const name = part.dataset.part;
  if (marks.contexts[name] === given) delete marks.contexts[name];
  else marks.contexts[name] = given;
  press(part);
  keep();
}

const isOpen = (part) => marks.contexts[part.dataset.part] === undefined;

// Go to the next context, first to those without a grade; returns what to say.
export function nextPart() {
  const all = parts();
  if (!all.length) return gettext("This document has no parts to grade.");
  const here = all.indexOf(document.activeElement.closest(".part"));
  const following = [...all.slice(here + 1), ...all.slice(0, here + 1)];
  const next = following.find(isOpen) ?? following[0];
  next.classList.add("active");
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return gettext("The keys of the grades now grade {part}. Esc: the whole document.", { part: nameOf(next) });
}

// A click into a context gives it the focus as well, but not the keys.
text.addEventListener("focusout", ({ target }) => target.classList.remove("active"));

// A grade was pressed while a context has the keys: grade it and go on; returns what to say, or undefined.
export function gradePart(target, name) {
  const part = adder && target.closest(".part.active");
  const pressed = part && grades.find((one) => one.name === name);
  if (!pressed) return undefined;
  grade(part, pressed.grade);
  if (isOpen(part)) return gettext("{part} has no grade now.", { part: nameOf(part) });
  const said = `${nameOf(part)}: ${pressed.words}.`;
  if (parts().some(isOpen)) return `${said} ${nextPart()}`;
  find("#document").focus({ preventScroll: true });
  return `${said} ${gettext("All parts have a grade; now grade the whole.")}`;
}

// ---- spans

const boxOf = (node) => {
  const element = node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
  if (!text.contains(element)) return null;
  return find(".part", text) ? element.closest(".part-text") : text;
};
const partOf = (box) => box.closest(".part")?.dataset.part ?? "text";
const inked = (words) => [...words].filter((sign) => !/\s/u.test(sign)).length;

function selected() {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const box = boxOf(range.startContainer);
  const words = range.toString();
  if (!box || !inked(words)) return null;
  if (boxOf(range.endContainer) !== box) return { isTorn: true };
  const before = document.createRange();
  before.setStart(box, 0);
  before.setEnd(range.startContainer, range.startOffset);
  return { part: partOf(box), start: inked(before.toString()), text: words };
}

// Mark the selected text; mark it again to take it back. Returns what to say.
export function markSpan() {
  const found = selected();
  if (!found) return gettext("Select the text that supports your grade, then mark it.");
  if (found.isTorn) return gettext("The selected text goes beyond one part; select text within a part.");
  const isSame = (one) => one.part === found.part && one.start === found.start && inked(one.text) === inked(found.text);
  const known = marks.spans.some(isSame);
  marks.spans = known ? marks.spans.filter((one) => !isSame(one)) : [...marks.spans, found];
  getSelection().removeAllRanges();
  keep();
  draw();
  const values = { text: short(found.text) };
  return known ? gettext("No longer evidence: “{text}”.", values) : gettext("Evidence: “{text}”.", values);
}

const short = (words) => {
  const line = words.replace(/\s+/gu, " ").trim();
  return line.length > SHOWN ? `${line.slice(0, SHOWN - 1)}…` : line;
};

// The range of a span in the page: from its first to its last character, ignoring blanks.
function rangeOf({ part, start, text: words }) {
  const box = find(".part", text) ? find(`.part[data-part="${CSS.escape(part)}"] .part-text`, text) : text;
  if (!box) return null;
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const end = start + inked(words);
  let seen = 0;
  while (walker.nextNode()) {
    let offset = 0;
    for (const sign of walker.currentNode.data) {
      if (!/\s/u.test(sign)) {
        if (seen === start) range.setStart(walker.currentNode, offset);
        seen += 1;
        if (seen === end) {
          range.setEnd(walker.currentNode, offset + sign.length);
          return range;
        }
      }
      offset += sign.length;
    }
  }
  return null;
}

function draw() {
  list.hidden = !marks.spans.length;
  find("ul", list).replaceChildren(...marks.spans.map((one) => {
    const button = make("button", { type: "button", "aria-label": gettext("Remove: {text}", { text: short(one.text) }) }, gettext("remove"));
    button.addEventListener("click", () => {
      marks.spans = marks.spans.filter((other) => other !== one);
      keep();
      draw();
      find("#document").focus({ preventScroll: true });
    });
    return make("li", {}, make("q", { dir: "auto" }, short(one.text)), " ", button);
  }));
  drawSpans();
}

function drawSpans() {
  const ranges = marks.spans.map(rangeOf).filter(Boolean);
  globalThis.CSS.highlights?.set("evidence", new globalThis.Highlight(...ranges));
}
new MutationObserver(drawSpans).observe(text, { childList: true, subtree: true });

document.addEventListener("selectionchange", () => {
  adder?.classList.toggle("ready", Boolean(selected()));
});

// ---- nuggets

for (const box of boxes) {
  box.addEventListener("change", () => {
    marks.nuggets[box.value] = box.checked;
    keep();
    count();
  });
}

function count() {
  put(find(".ticked", nuggets), gettext("{n} of {all}", { n: boxes.filter((box) => box.checked).length, all: boxes.length }));
}

// Go to the first nugget, or to the one after the nugget in focus.
export function nextNugget() {
  const here = boxes.indexOf(document.activeElement);
  boxes[(here + 1) % boxes.length]?.focus();
}

// On a phone the nuggets follow the document; elsewhere they stand beside it.
if (nuggets) {
  const phone = matchMedia("(max-width: 760px)");
  const settle = () => (phone.matches ? find("#document").after(nuggets) : find(".topic .count").before(nuggets));
  phone.addEventListener("change", settle);
  settle();
}
