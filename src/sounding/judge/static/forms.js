// Forms that ask before they are sent, check a file or keep what was typed, links back, parts that fold, and
// tables that are wider than their box.

import { account, every, find, make, storage } from "./page.js";

document.body.classList.add("js");

// ---- tables: the box of a wide one can be reached by keyboard, and says that there is more

function sides(box) {
  const aside = box.scrollWidth > box.clientWidth + 1;
  box.classList.toggle("more", aside);
  if (!aside && box.scrollHeight <= box.clientHeight + 1) {
    for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    return;
  }
  const details = box.closest("details");
  const own = (details && find("summary", details)) ?? find("h3", box); // a section may have several boxes
  const heading = own ?? find("h1, h2", box.closest("section, main"));
  box.setAttribute("tabindex", "0");
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `${heading.textContent.trim()}: scroll for more`);
}

const wide = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    if (target.isConnected) sides(target.closest(".wide"));
    else wide.unobserve(target); // another table has taken its place
  }
});

function widen(box) {
  for (const element of [box, ...box.children]) wide.observe(element);
  sides(box);
}

for (const box of every(".wide")) {
  const hint = make("p", { class: "hint", "aria-hidden": "true" }, "More to the side: swipe or scroll →");
  box.insertAdjacentElement("beforebegin", hint);
  new MutationObserver(() => widen(box)).observe(box, { childList: true });
  widen(box);
}

// ---- what is folded away where there is little room

if (matchMedia("(max-width: 760px)").matches) for (const one of every("details[data-fold]")) one.open = false;

// ---- forms

for (const form of every("form[data-confirm]")) {
  form.addEventListener("submit", (event) => { if (!confirm(form.dataset.confirm)) event.preventDefault(); });
}
for (const link of every("[data-back]")) {
  link.hidden = history.length < 2;
  link.addEventListener("click", (event) => { event.preventDefault(); history.back(); });
}
// A server that refuses a file before it is sent is not heard by every browser.
for (const field of every("input[type=file][data-most]")) {
  field.addEventListener("change", () => {
    const isLarge = [...field.files].some((file) => file.size > Number(field.dataset.most));
    field.setCustomValidity(isLarge ? field.dataset.large : "");
    field.reportValidity();
  });
}
for (const field of every("[data-select]")) field.addEventListener("focus", () => field.select());
for (const field of every("select[data-send]")) {
  const submit = () => field.form.requestSubmit();
  field.addEventListener("change", submit);
  if (!field.selectedOptions[0].defaultSelected) submit(); // somebody chose before this script was there
}

// Text survives an ended sign-in or a closed tab.
for (const form of every("form[data-draft]")) {
  const place = `sounding:draft:${account}:${form.dataset.draft}`;
  const fields = every("input:not([type=hidden]), textarea", form);
  const text = (value) => JSON.stringify(fields.map((field) => field[value]));
  const saved = text("defaultValue");
  const keep = () => storage.set(place, text("value"));
  const said = new URLSearchParams(location.search).get("said");
  if (said) storage.remove(place);
  if (said === "begun") storage.remove(`sounding:draft:${account}:new`); // it has a page of its own now
  if (text("value") !== saved) keep(); // somebody typed before this script was there
  const draft = storage.get(place);
  if (draft !== null && draft !== saved) {
    JSON.parse(draft).forEach((value, number) => { if (fields[number]) fields[number].value = value; });
    form.prepend(make("p", { class: "said", role: "status" }, "Text that was not saved yet is here again."));
  }
  form.addEventListener("input", keep);
}
