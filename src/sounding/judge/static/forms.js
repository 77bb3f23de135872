// Forms (confirmation, file size, drafts), back links, folded sections, and tables wider than their box.

import { account, every, find, make, storage } from "./page.js";
import { gettext, moment } from "./words.js";

document.body.classList.add("js");

// ---- times by the reader's clock and language

for (const time of every("time[datetime]")) {
  time.title = time.textContent;
  time.textContent = moment(new Date(time.dateTime));
}

// ---- wide tables: their box scrolls, can be focused, and has a hint above it

function sides(box) {
  const aside = box.scrollWidth > box.clientWidth + 1;
  box.classList.toggle("more", aside);
  if (!aside && box.scrollHeight <= box.clientHeight + 1) {
    for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    return;
  }
  const details = box.closest("details");
  const own = (details && find("summary", details)) ?? find("h3", box); // a section can have several boxes
  const heading = own ?? find("h1, h2", box.closest("section, main"));
  box.setAttribute("tabindex", "0");
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", gettext("{table}: scroll for more", { table: heading.textContent.trim() }));
}

const wide = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    if (target.isConnected) sides(target.closest(".wide"));
    else wide.unobserve(target); // it was replaced by another table
  }
});

function widen(box) {
  for (const element of [box, ...box.children]) wide.observe(element);
  sides(box);
}

for (const box of every(".wide")) {
  const hint = make("p", { class: "hint", "aria-hidden": "true" }, gettext("Scroll sideways for more →"));
  box.insertAdjacentElement("beforebegin", hint);
  new MutationObserver(() => widen(box)).observe(box, { childList: true });
  widen(box);
}

// ---- sections that start folded on small screens

if (matchMedia("(max-width: 760px)").matches) for (const one of every("details[data-fold]")) one.open = false;

// ---- forms

for (const form of every("form[data-confirm]")) {
  form.addEventListener("submit", (event) => { if (!confirm(form.dataset.confirm)) event.preventDefault(); });
}
for (const link of every("[data-back]")) {
  link.hidden = history.length < 2;
  link.addEventListener("click", (event) => { event.preventDefault(); history.back(); });
}
// Checked here as well, because some browsers drop the server's answer to an upload that is too large.
for (const field of every("input[type=file][data-most]")) {
  field.addEventListener("change", () => {
    const isLarge = [...field.files].some((file) => file.size > Number(field.dataset.most));
    field.setCustomValidity(isLarge ? field.dataset.large : "");
    field.reportValidity();
  });
}
for (const field of every("[data-select]")) field.addEventListener("focus", () => field.select());
// A box that ticks all the others of its form.
for (const all of every("input[data-all]")) {
  const boxes = every("input[name=topic]", all.form);
  const show = () => {
    const ticked = boxes.filter((box) => box.checked).length;
    all.checked = ticked === boxes.length;
    all.indeterminate = ticked > 0 && !all.checked;
  };
  all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; });
  for (const box of boxes) box.addEventListener("change", show);
  show();
}

// Drafts survive an expired session or a closed tab.
for (const form of every("form[data-draft]")) {
  const place = `sounding:draft:${account}:${form.dataset.draft}`;
  const fields = every("input:not([type=hidden]), textarea", form);
  const text = (value) => JSON.stringify(fields.map((field) => field[value]));
  const saved = text("defaultValue");
  const keep = () => storage.set(place, text("value"));
  const said = new URLSearchParams(location.search).get("said");
  if (said) storage.remove(place);
  if (said === "begun") storage.remove(`sounding:draft:${account}:new`); // the topic has its own page now
  if (text("value") !== saved) keep(); // typed before this script ran
  const draft = storage.get(place);
  if (draft !== null && draft !== saved) {
    JSON.parse(draft).forEach((value, number) => { if (fields[number]) fields[number].value = value; });
    form.prepend(make("p", { class: "said", role: "status" }, gettext("Your unsaved text has been restored.")));
  }
  form.addEventListener("input", keep);
}
