// The keys of the judging page: what each one does, and the person's own choice, which stays in this browser.

import { account, every, find, put, storage } from "./page.js";
import { gettext } from "./words.js";

const PLACE = `sounding:keys:${account}`;
const fields = every("#keys input[data-name]");
const defaults = new Map(fields.map(({ dataset }) => [dataset.name, dataset.key]));
let own = JSON.parse(storage.get(PLACE) ?? "{}");

const keyFor = (name) => own[name] ?? defaults.get(name);

// What a key does; undefined: nothing.
export const nameOf = (key) => [...defaults.keys()].find((name) => keyFor(name) === key);

// A digit of any script as 0 to 9; each script has its ten digits in a row.
function digit(sign) {
  const isDigit = (code) => /^\p{Nd}$/u.test(String.fromCodePoint(code));
  const code = sign.codePointAt(0);
  let zero = code;
  while (isDigit(zero - 1)) zero -= 1;
  return String((code - zero) % 10);
}

// The key as the page names it: by what it types, or by its place where the keyboard types no Latin letter
// or digit there, as the top row of a French keyboard and all letters of a Greek one do.
export function keyOf({ key, code, shiftKey }) {
  if (/^\p{Nd}$/u.test(key)) return digit(key);
  const place = /^(?:Digit|Numpad|Key)([0-9A-Z])$/.exec(code)?.[1];
  const isPlaced = [...key].length === 1 && !/^[a-z ?]$/i.test(key) && !shiftKey;
  return isPlaced && place ? place.toLowerCase() : key.toLowerCase();
}

function show() {
  for (const sign of every("kbd[data-name]")) {
    const key = keyFor(sign.dataset.name);
    put(sign, sign.dataset.long === undefined ? key : gettext("key {key}", { key }));
  }
  for (const button of every(".grading button[data-name]")) {
    button.setAttribute("aria-keyshortcuts", keyFor(button.dataset.name));
  }
}

// ---- the dialog

const dialog = find("#keys");
const wrong = find(".wrong", dialog);

function edit(isEditing) {
  for (const field of fields) {
    field.hidden = !isEditing;
    field.value = keyFor(field.dataset.name);
    find(`dt kbd[data-name="${CSS.escape(field.dataset.name)}"]`, dialog).hidden = isEditing;
  }
  find("#change-keys").hidden = isEditing;
  find("#default-keys").hidden = !isEditing;
  put(find("button.main", dialog), isEditing ? gettext("Save") : gettext("Done"));
  wrong.hidden = true;
}

function problem() {
  const seen = new Map();
  for (const field of fields) {
    if (!field.value) return [field, gettext("Each action needs a key.")];
    if (seen.has(field.value)) return [field, gettext("The key {key} is there twice.", { key: field.value })];
    seen.set(field.value, field);
  }
  return null;
}

for (const field of fields) {
  field.addEventListener("keydown", (event) => {
    const key = keyOf(event);
    if (event.ctrlKey || event.altKey || event.metaKey || [...key].length !== 1) return; // Tab, Enter, Escape
    event.preventDefault();
    if (key !== "?" && key !== " ") field.value = key;
  });
}
find("#change-keys").addEventListener("click", () => {
  edit(true);
  fields[0].focus();
});
find("#default-keys").addEventListener("click", () => {
  for (const field of fields) field.value = field.dataset.key;
});
find("form", dialog).addEventListener("submit", (event) => {
  if (find("#change-keys").hidden === false) return;
  const found = problem();
  if (found) {
    event.preventDefault();
    wrong.hidden = false;
    put(wrong, found[1]);
    found[0].focus();
    return;
  }
  own = Object.fromEntries(fields.filter((one) => one.value !== one.dataset.key).map((one) => [one.dataset.name, one.value]));
  storage.set(PLACE, JSON.stringify(own));
  show();
});
dialog.addEventListener("close", () => edit(false));

export function showKeys() {
  edit(false);
  dialog.showModal();
}

show();
