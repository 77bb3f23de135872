// The judging page: one document at a time, graded by key or button, the next one already loaded. The same page
// serves an expert who grades a sample of somebody's judgments anew.

import { Clock } from "./clock.js";
import { keepTyped, typed } from "./comments.js";
import { every, find, make, notice, put, sentence } from "./page.js";
import { forget, hooks, isOurs, isUndo, keep, refused, send, showWaiting, signInAgain, unsent } from "./queue.js";
import { post, request } from "./server.js";

const AHEAD = 2; // documents at hand: the one that is shown and one that is loaded already
const REMEMBERED = 30; // texts
const MOST_LATER = 100; // documents of an audit that the server can be told are put off
const RELOAD = 3000; // milliseconds until documents are asked for again
const RENEWAL = 120000; // milliseconds after which the server is told that somebody is at work

const { topic, doc: only, query, status: chosen, judged: already, audit, last: newest } = find("#judge").dataset;
const { after, pause, guide } = find("#judge").dataset;
const api = audit ? "/api/audit" : "/api";
const sample = audit ? { audit: Number(audit) } : {}; // by the number of its draw
const later = new Set(); // documents of an audit that are put off
const lastPutOff = () => [...later].slice(-MOST_LATER);
const comment = find("#comment");
const texts = new Map(); // document -> what shows it
const comments = new Map(); // document -> the comment of a judgment that is being taken back
const firsts = new Set(); // keys of judgments given here that are no changes: each counts as one more
const passed = []; // documents that were judged or skipped here, the last one last
const earlier = newest ? [newest] : []; // what was graded last in an audit before this page was loaded
let documents = []; // at hand: the one that is shown, then those that are loaded already
let judged = Number(already); // by the server's last answer
let answers = 0; // of the server to what was done here
let loads = 0; // how often it was asked what comes
let going = { elsewhere: 0 }; // what is still to come, by the server's last answer
let told = ""; // the key of the act that the line below the buttons is about
const isVisible = () => document.visibilityState === "visible";
const clock = new Clock(performance.now(), isVisible());
let renewed = performance.now();
let came = ""; // the document that is in view,
let since = -Infinity; // and since when

function say(text, { isPassedOver = false, of = "" } = {}) {
  told = of;
  find("#status").textContent = text;
  find("#status").classList.toggle("passed-over", isPassedOver);
}

const inWords = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent;
const named = (one) => (one.heading && inWords(one.heading)) || one.doc;

// What the server counts, and what it has not answered to yet.
function showCount() {
  const ahead = unsent().filter(isOurs).reduce((sum, { content, of, shown }) => {
    if (firsts.has(content.key)) return sum + 1;
    return shown && firsts.has(of) ? sum - 1 : sum;
  }, 0);
  find("#count").textContent = judged + ahead;
}

// A page that is not served over HTTPS has no crypto.randomUUID.
function newKey() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ---- what is shown

function content(present) {
  if (!present) {
    const graded = going.elsewhere ? "The sample of this topic is graded." : "The sample is graded.";
    const nothing = audit ? graded : "No document of this topic is left for you.";
    const words = chosen === "candidate" && !audit
      ? "This topic is not chosen for judging yet: an organizer does that."
      : nothing;
    const onward = going.elsewhere ? "Go on with the sample" : "To the result";
    const link = make("a", { href: after, class: "onward" }, audit ? onward : "To my topics");
    const key = audit ? [make("span", { class: "faint keys" }, " or press ", make("kbd", {}, "Enter"))] : [];
    return [make("p", {}, words), make("p", {}, link, ...key)];
  }
  const words = "The collection does not have the text of this document: it cannot be judged.";
  return [make("p", { class: "wrong" }, words)];
}

function isPressed(button, present) {
  if (!present?.judged) return false;
  const { grade, do: act } = button.dataset;
  return grade === undefined ? act === "cannot" && present.grade === null : present.grade === Number(grade);
}

// Where nothing is left there is nothing to grade: only undo stays.
function offer(isLeft) {
  for (const part of every(".grades, [data-do=cannot], [data-do=skip], .comment")) part.hidden = !isLeft;
}

// Without a document there is nothing that a grade or a comment could be about.
function showControls(present) {
  comment.disabled = !present;
  for (const button of every(".grading button")) {
    const { grade, do: act } = button.dataset;
    button.disabled = act !== "undo" && (!present || (present.missing && grade !== undefined));
    button.setAttribute("aria-pressed", String(isPressed(button, present)));
  }
}

function entitle(heading, name) {
  const title = find("#doc .title");
  const id = find("#doc bdi");
  title.innerHTML = heading; // escaped by the server
  id.hidden = title.textContent === name;
  id.textContent = name;
}

function show(focus = true) {
  const [present] = documents;
  entitle(present?.heading ?? "", present?.doc ?? (only ? "" : "Nothing left"));
  if (present?.doc !== came) [came, since] = [present?.doc, performance.now()];
  if (present && !present.missing) find("#text").innerHTML = present.html; // escaped or cleaned by the server
  else find("#text").replaceChildren(...content(present));
  offer(Boolean(present));
  showControls(present);
  const before = present?.judged ? "" : comments.get(present?.doc); // a change that is taken back has its own
  const unsentWords = present ? typed(topic, present.doc) : "";
  comment.value = unsentWords || present?.comment || before || "";
  if (present && !present.judged) keepTyped(topic, present.doc, comment.value); // also what was taken back
  find("details.comment").open = Boolean(comment.value);
  clock.turn(performance.now(), present?.doc);
  if (!focus) return;
  scrollTo(0, 0);
  find("#document").focus({ preventScroll: true });
}

function showLoading() {
  entitle("", "…");
  find("#text").replaceChildren(make("p", { class: "faint" }, "Loading …"));
  offer(true);
  showControls(undefined);
  comment.value = "";
  find("details.comment").open = false;
  clock.turn(performance.now());
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
  const acts = unsent().filter((item) => isOurs(item) && !isUndo(item));
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
  if (stays.length) return;
  if (!documents.length && gone.size) showLoading(); // what is on its way to the server may bring more
  else show(Boolean(present) || document.activeElement === document.body);
}

function tellChanged() {
  const box = find("#changed");
  if (!box.hidden) return;
  box.hidden = false;
  const link = make("a", { href: location.href }, "reload this page");
  box.append("The instructions, the topic or the title have changed: ", link, ".");
}

function hear(reply) {
  const words = find("#coming");
  if (words) put(words, reply.coming.words);
  [judged, going] = [reply.judged, reply.coming];
  showCount();
  if (guide && reply.guide && reply.guide !== guide) tellChanged();
}

async function load(first = true) {
  try {
    if (only) {
      const asked = new URLSearchParams({ topic, doc: only, query });
      documents = remember([await request(`/api/document?${asked}`)]);
      return show();
    }
    const asked = new URLSearchParams({ topic, count: AHEAD, ...sample });
    for (const one of lastPutOff()) asked.append("later", one);
    const before = answers;
    const own = (loads += 1);
    const work = await request(`${api}/next?${asked}`);
    if (own !== loads) return undefined; // what was asked after it knows more
    if (answers !== before) return load(false); // overtaken: what it lists may be judged by now
    hear(work);
    return take(work.documents, first);
  } catch (problem) {
    if (problem.status === 401) return signInAgain();
    notice(sentence(problem.message));
    if (problem.status === 0 || problem.status >= 500) setTimeout(load, RELOAD, first);
  }
  return undefined;
}

function takenBack(reply) {
  const name = texts.has(reply.doc) ? named(texts.get(reply.doc)) : reply.title || reply.doc;
  if (!reply.sequence) return "There is nothing to take back.";
  if (reply.undid !== "change") return `Taken back: ${name}.`;
  const button = every(".grade").find((one) => Number(one.dataset.grade) === reply.restored);
  return `${name} has its earlier grade again: ${button?.dataset.words ?? "cannot judge"}.`;
}

Object.assign(hooks, {
  sent(item, reply) {
    if (!isOurs(item)) return;
    answers += 1;
    hear(reply);
    const undone = isUndo(item);
    if (!only) take(reply.documents, undone && ["judge", "skip"].includes(reply.undid) && !item.shown);
    else if (undone) load();
    if (undone) say(takenBack(reply));
  },
  refused(item) {
    if (!isOurs(item)) return;
    answers += 1;
    showCount();
    if (told === item.content.key) say("");
    load(false);
  },
  elsewhere(item) {
    if (!isOurs(item)) return;
    const isRefused = refused().some(({ content }) => content.key === item.content.key);
    if (isRefused && told === item.content.key) say("");
    if (!only) load(false);
  },
  signedIn() {
    if (!documents.length) load();
  },
  goesOn: () => documents.length > 0,
  wanted(item) {
    if (!isOurs(item) || only) return { count: 0 };
    const have = documents.map((one) => one.doc);
    return { count: AHEAD, have, ...(audit ? { later: lastPutOff() } : {}) };
  },
});

// ---- documents are passed, and come back

function pass(path, given, words) {
  const [present] = documents;
  if (!present) return;
  comments.delete(present.doc);
  later.delete(present.doc);
  const key = newKey();
  if (given.comment === typed(topic, present.doc)) keepTyped(topic, present.doc, ""); // it is being sent
  keep(path, { topic, doc: present.doc, key, ...sample, ...given }, { title: named(present) });
  say(`${words}: ${named(present)}.`, { of: key });
  if (path === `${api}/judge` && !present.judged) firsts.add(key);
  showCount();
  if (only) {
    documents = [{ ...present, judged: true, grade: given.grade, comment: given.comment }];
    show(false);
  } else {
    passed.push({ document: { ...present, comment: comment.value }, key, path, spent: given });
    documents = documents.slice(1);
    if (documents.length) show();
    else showLoading();
  }
  send();
}

// The judgment that is in view: the server changes no other unasked.
function seen(present) {
  if (!present || present.isUnsure) return null;
  return { judged: present.judged, grade: present.judged ? present.grade : null };
}

function judge(grade, label) {
  const spent = clock.take(performance.now());
  pass(`${api}/judge`, { grade, comment: comment.value, seen: seen(documents[0]), ...spent }, label);
}

function bringBack(last, words) {
  documents = [last.document, ...documents.filter((one) => one.doc !== last.document.doc)];
  showCount();
  say(`${words}: ${named(last.document)}.`);
  show();
  showWaiting();
}

// Taking back is the server's to do, unless it never had what is taken back.
function takeBack(doc, more) {
  keep(`${api}/undo`, { topic, doc, key: newKey(), ...sample }, more);
  showCount();
  showWaiting();
  return send();
}

function undo() {
  if (only) return undoOnly();
  const last = passed.pop();
  if (last && later.delete(last.document.doc)) return bringBack(last, "Taken back");
  const known = last && [...unsent(), ...refused()].find((item) => item.content.key === last.key);
  if (known && (known.why !== undefined || !known.tried)) { // the server does not have it
    forget(known);
    clock.giveBack(last.document.doc, last.spent);
    return bringBack(last, "Taken back");
  }
  if (known || last?.path === "/api/skip") { // it was sent, whether it has arrived or not
    bringBack(last, "Is being taken back");
    return takeBack(last.document.doc, { of: last.key, shown: true });
  }
  if (last?.document.comment) comments.set(last.document.doc, last.document.comment);
  const doc = last?.document.doc ?? earlier.pop() ?? null;
  if (audit && !doc) return say("There is nothing to take back.");
  return takeBack(doc, { of: last?.key });
}

function undoOnly() {
  const judgments = unsent().filter((one) => one.path === "/api/judge" && one.content.topic === topic);
  const last = judgments.findLast((one) => one.content.doc === only);
  if (comment.value) comments.set(only, comment.value);
  documents = documents.map((one) => ({ ...one, isUnsure: true })); // until the server says what stands
  return takeBack(only, { of: last?.content.key });
}

// An audit takes nothing from an order: what is put off is remembered here alone.
function putOff() {
  const [present] = documents;
  if (!audit || !present) return pass("/api/skip", clock.take(performance.now()), "Put off");
  later.add(present.doc);
  passed.push({ document: { ...present, comment: comment.value } });
  documents = documents.slice(1);
  say(`Put off: ${named(present)}.`);
  if (documents.length) show();
  else showLoading();
  return load(false);
}

// ---- keys and buttons

const acts = {
  cannot: () => judge(null, "Could not be judged"),
  skip: putOff,
  undo,
};
for (const button of every(".grading button")) {
  const { grade, do: act, words } = button.dataset;
  const done = act ? acts[act] : () => judge(Number(grade), words);
  button.addEventListener("click", () => {
    if (act === "undo" || performance.now() - since >= Number(pause)) done();
    else say("Not taken: this document has only just come.", { isPassedOver: true });
  });
}

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && field) find("#document").focus({ preventScroll: true });
  const ofTheBrowser = event.ctrlKey || event.altKey || event.metaKey;
  if (field || event.repeat || event.isComposing || ofTheBrowser || find("dialog[open]")) return;
  if (event.key.toLowerCase() === "c" && !comment.disabled) {
    event.preventDefault();
    find("details.comment").open = true;
    comment.focus();
    return;
  }
  if (event.key === "Enter" && audit && !documents.length && !event.target.closest("a, button, summary")) {
    find("#text .onward")?.click();
    return;
  }
  const button = find(`.grading button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!button || button.disabled) return;
  event.preventDefault();
  button.click();
});
comment.addEventListener("input", () => {
  const [present] = documents;
  if (present) keepTyped(topic, present.doc, comment.value);
});
find("details.comment").addEventListener("toggle", (event) => {
  if (event.target.open && !comment.value) comment.focus();
});

// ---- time

for (const kind of ["keydown", "pointermove", "pointerdown", "scroll", "wheel", "touchmove"]) {
  document.addEventListener(kind, () => clock.moved(performance.now()), { passive: true, capture: true });
}
document.addEventListener("visibilitychange", () => clock.look(performance.now(), isVisible()));

// Documents stay with those who are at work on them.
setInterval(() => {
  const now = performance.now();
  if (audit || !clock.works(now) || now - renewed <= RENEWAL) return;
  renewed = now;
  post("/api/at-work", {}).catch(() => {});
}, 1000);

send().finally(load);
