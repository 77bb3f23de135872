// The subtopics of a topic: one document, a grade for each of them.

import { every, find } from "./page.js";
import { gettext } from "./words.js";

const box = find(".intents");
const rows = every(".intent");
const isBinary = Boolean(box?.dataset.binary);
let current = 0; // the row whose grade the next key gives

export const hasIntents = Boolean(box);

const inputs = (row) => every("input", row);
const chosenIn = (row) => inputs(row).find((one) => one.checked);

function mark(place) {
  current = Math.min(place, rows.length - 1);
  rows.forEach((row, number) => row.classList.toggle("current", !isBinary && number === current));
}

// The grades of a document that comes into view, or none.
export function showIntents(present, marks) {
  if (!box) return;
  const known = marks?.subtopics ?? {};
  for (const row of rows) {
    const grade = known[row.dataset.intent];
    for (const input of inputs(row)) {
      input.disabled = !present || present.missing;
      input.checked = grade === Number(input.value);
    }
  }
  mark(0);
}

// What is not marked has the lowest grade.
export function chosenGrades() {
  const lowest = Number(box.dataset.lowest);
  return Object.fromEntries(rows.map((row) => [row.dataset.intent, Number(chosenIn(row)?.value ?? lowest)]));
}

export function wordsOf(grades) {
  const lowest = Number(box.dataset.lowest);
  const count = Object.values(grades).filter((one) => one > lowest).length;
  return count
    ? gettext("About {count} of {all} subtopics", { count, all: rows.length })
    : gettext("About none of the subtopics");
}

// A key of the page: returns whether it was for the subtopics.
export function pressIntent(key, name) {
  if (!box) return false;
  if (isBinary) {
    const row = /^[1-9]$/.test(key) ? rows[Number(key) - 1] : undefined;
    const input = row && inputs(row)[0];
    if (!input || input.disabled) return Boolean(input);
    input.checked = !input.checked;
    return true;
  }
  if (!name?.startsWith("grade-")) return false;
  const input = inputs(rows[current]).find((one) => one.dataset.name === name);
  if (!input || input.disabled) return Boolean(input);
  input.checked = true;
  if (current < rows.length - 1) mark(current + 1);
  else find(".intents .save").focus({ preventScroll: true });
  return true;
}

rows.forEach((row, place) => {
  row.addEventListener("focusin", () => mark(place));
  row.addEventListener("click", () => mark(place));
});
