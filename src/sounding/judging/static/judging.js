// The judging page: one document at a time, graded by key or button, the next one already loaded.

import { every, find, make, notice, put, sentence } from "./page.js";
import { forget, hooks, keep, refused, send, signInAgain, unsent } from "./queue.js";
import { post, request } from "./server.js";

const AHEAD = 2; // documents at hand: the one that is shown and one that is loaded already
const REMEMBERED = 30; // texts
const RELOAD = 3000; // milliseconds until documents are asked for again
const IDLE = 60000; // milliseconds without a movement after which somebody is away
const RENEWAL = 120000; // milliseconds after which the server is told that somebody is at work

const { topic, doc: only, query, status: chosen, judged: before } = find("#judge").dataset;
const comment = find("#comment");
const texts = new Map(); // document -> what shows it
const comments = new Map(); // document -> the comment of a judgment that is being taken back
const counted = new Set(); // keys of judgments that the page has counted
const passed = []; // documents that were judged or skipped here, the last one last
let documents = []; // at hand: the one that is shown, then those that are loaded already
let judged = Number(before);
let time = { active: 0, away: 0 };
let ticked = performance.now();
let moved = performance.now();
let renewed = performance.now();

const say = (text) => { find("#status").textContent = text; };
const inWords = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent;
const named = (one) => (one.heading && inWords(one.heading)) || one.doc;

function count(by) {
  judged += by;
  find("#count").textContent = judged;
}

// A page that is not served over HTTPS has no crypto.randomUUID.
function newKey() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ---- what is shown

function content(present) {
  if (!present) {
    const words = chosen === "candidate"
      ? "This topic is not chosen for judging yet: an organiser does that."
      : "No document of this topic is left for you.";
    return [make("p", {}, words), make("p", {}, make("a", { href: "/" }, "To my topics"))];
  }
  const words = "The collection does not have the text of this document: it cannot be judged.";
  return [make("p", { class: "wrong" }, words)];
}

function isPressed(button, present) {
  if (!present?.judged) return false;
  const { grade, do: act } = button.dataset;
  return grade === undefined ? act === "cannot" && present.grade === null : present.grade === Number(grade);
}

function showButtons(present) {
  for (const button of every(".grading button")) {
    const { grade, do: act } = button.dataset;
    button.disabled = act !== "undo" && (!present || (present.missing && grade !== undefined));
    button.setAttribute("aria-pressed", String(isPressed(button, present)));
  }
}

function show(focus = true) {
  const [present] = documents;
  const title = find("#doc .title");
  const id = find("#doc bdi");
  title.innerHTML = present?.heading ?? ""; // escaped by the server
  id.hidden = title.textContent === present?.doc;
  id.textContent = present?.doc ?? (only ? "" : "Nothing left");
  if (present && !present.missing) find("#text").innerHTML = present.html; // escaped or cleaned by the server
  else find("#text").replaceChildren(...content(present));
  showButtons(present);
  comment.value = present?.comment || comments.get(present?.doc) || "";
  find("details.comment").open = Boolean(comment.value);
  time = { active: 0, away: 0 };
  if (!focus) return;
  scrollTo(0, 0);
  find("#document").focus({ preventScroll: true });
}

function showLoading() {
  find("#text").replaceChildren(make("p", { class: "faint" }, "Loading …"));
  showButtons(undefined);
}

// ---- documents come

function remember(list) {
  return list.map((one) => {
    if (one.html !== null || one.missing) texts.set(one.doc, one);
    const known = texts.get(one.doc);
    return { ...known, ...one, heading: known?.heading ?? "", html: known?.html ?? null };
  });
}

function pending() {
  const acts = unsent().filter((item) => item.content.topic === topic && item.path !== "/api/undo");
  return new Set(acts.map((item) => item.content.doc));
}

// Never swaps a document away that somebody reads, unless another is to come first.
function take(list, first) {
  const [present] = documents;
  const gone = pending();
  const fresh = remember(list).filter((one) => !gone.has(one.doc) && (one.html !== null || one.missing));
  const stays = present && !first ? [present] : [];
  documents = [...stays, ...fresh.filter((one) => !stays.some((other) => other.doc === one.doc))];
  for (const name of [...texts.keys()].slice(0, -REMEMBERED)) texts.delete(name);
  if (!stays.length) show(Boolean(present) || document.activeElement === document.body);
}

function coming(reply) {
  const words = find("#coming");
  if (words) put(words, reply.coming.words);
}

async function load(first = true) {
  try {
    if (only) {
      const asked = new URLSearchParams({ topic, doc: only, query });
      documents = remember([await request(`/api/document?${asked}`)]);
      return show();
    }
    const work = await request(`/api/next?${new URLSearchParams({ topic, count: AHEAD })}`);
    coming(work);
    return take(work.documents, first);
  } catch (problem) {
    if (problem.status === 401) return signInAgain();
    notice(sentence(problem.message));
    if (problem.status === 0 || problem.status >= 500) setTimeout(load, RELOAD, first);
  }
  return undefined;
}

Object.assign(hooks, {
  sent(item, reply) {
    if (item.content.topic !== topic) return;
    coming(reply);
    const undone = item.path === "/api/undo";
    if (undone && reply.sequence && !item.shown) count(-1);
    if (!only) take(reply.documents, undone && reply.sequence > 0 && !item.shown);
    else if (undone) load();
    if (undone && !reply.sequence) say("There is nothing to take back.");
    else if (undone) say(`Taken back: ${named(texts.get(reply.doc) ?? reply)}.`);
  },
  refused(item) {
    if (item.content.topic !== topic) return;
    if (counted.delete(item.content.key)) count(-1);
    load(false);
  },
  signedIn() {
    if (!documents.length) load();
  },
  goesOn: () => documents.length > 0,
  wanted: (asked) => (asked === topic && !only
    ? { count: AHEAD, have: documents.map((one) => one.doc) }
    : { count: 0 }),
});

// ---- documents are passed, and come back

function pass(path, given, words) {
  const [present] = documents;
  if (!present) return;
  comments.delete(present.doc);
  const key = newKey();
  keep(path, { topic, doc: present.doc, key, ...given });
  say(`${words}: ${named(present)}.`);
  if (path === "/api/judge" && !present.judged) {
    counted.add(key);
    count(1);
  }
  if (only) {
    documents = [{ ...present, judged: true, grade: given.grade, comment: given.comment }];
    show(false);
  } else {
    passed.push({ document: { ...present, comment: given.comment ?? "" }, key, path });
    documents = documents.slice(1);
    if (documents.length) show();
    else showLoading();
  }
  send();
}

function judge(grade, label) {
  const seconds = (spent) => Math.round(spent) / 1000;
  tick();
  const given = { grade, comment: comment.value, active: seconds(time.active), away: seconds(time.away) };
  pass("/api/judge", given, label);
}

function bringBack(last, words) {
  if (counted.delete(last.key)) count(-1);
  documents = [last.document, ...documents.filter((one) => one.doc !== last.document.doc)];
  if (words) say(`${words}: ${named(last.document)}.`);
  show();
}

function undo() {
  if (only) return undoOnly();
  const last = passed.pop();
  if (last?.path === "/api/skip") return undoSkip(last);
  const known = last && [...unsent(), ...refused()].find((item) => item.content.key === last.key);
  if (known && (known.why !== undefined || !known.tried)) { // the server does not have it
    forget(known);
    return bringBack(last, "Taken back");
  }
  if (known) { // it was sent, and nobody knows whether it has arrived: the server has to take it back
    keep("/api/undo", { topic, doc: last.document.doc, key: newKey() }, { of: last.key, shown: true });
    bringBack(last, "Is being taken back");
  } else {
    if (last?.document.comment) comments.set(last.document.doc, last.document.comment);
    keep("/api/undo", { topic, doc: last?.document.doc ?? null, key: newKey() }, { of: last?.key });
  }
  return send();
}

function undoSkip(last) {
  const known = unsent().find((item) => item.content.key === last.key);
  if (known && !known.tried) forget(known);
  bringBack(last, "");
}

function undoOnly() {
  if (comment.value) comments.set(only, comment.value);
  const judgments = unsent().filter((one) => one.path === "/api/judge" && one.content.topic === topic);
  const last = judgments.findLast((one) => one.content.doc === only);
  keep("/api/undo", { topic, doc: only, key: newKey() }, { of: last?.content.key });
  return send();
}

// ---- keys and buttons

const acts = {
  cannot: () => judge(null, "Could not be judged"),
  skip: () => pass("/api/skip", {}, "Put off"),
  undo,
};
for (const button of every(".grading button")) {
  const { grade, do: act } = button.dataset;
  button.addEventListener("click", act ? acts[act] : () => judge(Number(grade), button.textContent.trim()));
}

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && field) find("#document").focus({ preventScroll: true });
  const ofTheBrowser = event.ctrlKey || event.altKey || event.metaKey;
  if (field || event.repeat || event.isComposing || ofTheBrowser || find("dialog[open]")) return;
  if (event.key.toLowerCase() === "c") {
    event.preventDefault();
    find("details.comment").open = true;
    comment.focus();
    return;
  }
  const button = find(`.grading button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!button || button.disabled) return;
  event.preventDefault();
  button.click();
});
find("details.comment").addEventListener("toggle", (event) => {
  if (event.target.open && !comment.value) comment.focus();
});

// ---- time: work is when the page is looked at and something has moved lately; the rest is being away

function tick() {
  const now = performance.now();
  const working = document.visibilityState === "visible" && now - moved < IDLE;
  time[working ? "active" : "away"] += now - ticked;
  ticked = now;
  if (!working || now - renewed <= RENEWAL) return;
  renewed = now;
  post("/api/at-work", {}).catch(() => {});
}

for (const kind of ["keydown", "pointermove", "pointerdown", "scroll", "wheel", "touchmove"]) {
  document.addEventListener(kind, () => { moved = performance.now(); }, { passive: true, capture: true });
}
document.addEventListener("visibilitychange", tick);
setInterval(tick, 1000);

if (matchMedia("(max-width: 760px)").matches) find("#topic").open = false;
send().finally(load);
