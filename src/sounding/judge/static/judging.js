// The judging page: one document at a time, graded by key or button, with the next one already loaded. Experts
// use the same page to grade the sample of an audit.

import { Clock } from "./clock.js";
import { keepTyped, typed } from "./comments.js";
import { day, note, pace, unnote } from "./day.js";
import { chosenGrades, hasIntents, pressIntent, showIntents, wordsOf } from "./intents.js";
import { keyOf, nameOf, showKeys } from "./keys.js";
import { forgetMarks, gradePart, markSpan, marksFor, nextNugget, nextPart, showMarks } from "./marks.js";
import { every, find, make, notice, put } from "./page.js";
import { grown, isPair, pairName, showPair } from "./pairs.js";
import { forget, hooks, isOurs, isUndo, keep, refused, send, showWaiting, signInAgain, unsent } from "./queue.js";
import { focusTerms, jump, read } from "./reading.js";
import { post, request, SLOW, spoken } from "./server.js";
import { elements, gettext, number, sentence } from "./words.js";

const AHEAD = 6; // documents to hold: the one in view, and five for a time without a connection
const REMEMBERED = 30; // texts
const MOST_LATER = 100; // skipped documents of an audit that one request can name
const RELOAD = 3000; // milliseconds before documents are requested again
const RENEWAL = 120000; // milliseconds between two messages that the person is still working

const { topic, doc: only, query, status: chosen, judged: already, audit, last: newest } = find("#judge").dataset;
const { after, pause, guide, kind } = find("#judge").dataset;
const api = audit ? "/api/audit" : "/api";
const sample = audit ? { audit: Number(audit) } : {};
const later = new Set(); // skipped documents of an audit
const lastSkipped = () => [...later].slice(-MOST_LATER);
const comment = find("#comment");
const texts = new Map(); // document -> its title and text
const comments = new Map(); // document -> the comment of a judgment that is being undone
const marked = new Map(); // document -> the marks of a judgment that is being undone
const firsts = new Set(); // keys of first judgments made here; changes do not raise the count
const passed = []; // documents judged or skipped here, oldest first
const earlier = newest ? [newest] : []; // the document of an audit graded last before this page was loaded
let documents = []; // the document in view, then those already loaded
let judged = Number(already); // by the server's last answer
let answers = 0; // server answers to actions on this page
let loads = 0; // requests for the next documents
let going = { elsewhere: 0 }; // the documents still to come, by the server's last answer
let statusKey = ""; // the key of the action that the line below the buttons describes
const isVisible = () => document.visibilityState === "visible";
const clock = new Clock(performance.now(), isVisible());
let renewed = performance.now();
let inView = ""; // the document in view,
let since = -Infinity; // and the time at which it appeared

function say(text, { isPassedOver = false, of = "" } = {}) {
  statusKey = of;
  find("#status").textContent = text;
  find("#status").classList.toggle("passed-over", isPassedOver);
}

const inWords = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent;
const named = (one) => (isPair(one) ? pairName(one) : one.heading && inWords(one.heading)) || one.doc;

// The server's count plus the judgments that it has not confirmed yet.
function showCount() {
  const ahead = unsent().filter(isOurs).reduce((sum, { content, of, shown }) => {
    if (firsts.has(content.key)) return sum + 1;
    return shown && firsts.has(of) ? sum - 1 : sum;
  }, 0);
  find("#count").textContent = number(judged + ahead);
  showProgress(ahead);
}

// Over the topic; where nobody knows how many documents are left, over the batch.
function showProgress(ahead) {
  const { left, batch_size: size = 0, batch_left: rest = 0 } = going;
  const isKnown = typeof left === "number";
  const [done, all] = isKnown ? [judged, judged + left] : [size - rest, size];
  const bar = find("#progress");
  bar.hidden = !all || only !== "";
  [bar.max, bar.value] = [all || 1, Math.min(all, done + ahead)];
  const remaining = Math.max(0, (isKnown ? left : rest) - ahead);
  put(find("#pace"), [day(), pace(remaining)].filter(Boolean).join(", "));
}

// crypto.randomUUID exists only on pages served over HTTPS.
function newKey() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ---- the document in view

function content(present) {
  if (!present) {
    const graded = going.elsewhere
      ? gettext("You have graded all documents of this topic in the sample.")
      : gettext("You have graded the whole sample.");
    const done = kind === "preferences"
      ? gettext("You are done with this topic: no pairs are left for you.")
      : gettext("You are done with this topic: no documents are left for you.");
    const nothing = audit ? graded : done;
    const words = chosen === "candidate" && !audit
      ? gettext("This topic is not open for judging yet. An organizer must choose it first.")
      : nothing;
    const onward = going.elsewhere ? gettext("Next topic") : gettext("See the result");
    const link = make("a", { href: after, class: "onward" }, audit ? onward : gettext("Back to my topics"));
    const key = make("span", { class: "faint keys" }, ...elements("or press {key}", { key: make("kbd", {}, "Enter") }));
    if (!audit) offerNext(link);
    return [make("p", {}, words), make("p", {}, link, " ", key)];
  }
  const words = gettext("The collection has no text for this document. Choose “cannot judge”.");
  return [make("p", { class: "wrong" }, words)];
}

// Points the link at the next of this person's topics with something left; offline it leads to the list.
async function offerNext(link) {
  const topics = await request("/api/topics").catch(() => []);
  const here = topics.findIndex((one) => one.topic === topic);
  const others = [...topics.slice(here + 1), ...topics.slice(0, Math.max(here, 0))];
  const next = others.find(({ coming }) => coming.left !== 0);
  if (!next) return;
  link.href = `/judge?topic=${encodeURIComponent(next.topic)}`;
  link.replaceChildren(...elements("Next topic: {topic}", { topic: make("bdi", {}, next.title || next.topic) }));
}

function isPressed(button, present) {
  if (!present?.judged) return false;
  const { grade, do: act } = button.dataset;
  return grade === undefined ? act === "cannot" && present.grade === null : present.grade === Number(grade);
}

// Once nothing is left, only undo stays available.
function offer(isLeft) {
  for (const part of every(".grades, [data-do=cannot], [data-do=skip], .comment")) part.hidden = !isLeft;
}

// Without a document there is nothing to grade or comment on.
function showControls(present) {
  comment.disabled = !present;
  for (const button of every(".grading button")) {
    const { grade, do: act } = button.dataset;
    const isGrade = grade !== undefined || act === "save";
    button.disabled = act !== "undo" && (!present || (present.missing && isGrade));
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

// The id of a pair stays in the page for programs.
function entitlePair() {
  find("#doc .title").textContent = gettext("Which is better for this topic?");
  find("#doc bdi").hidden = true;
}

function show(focus = true) {
  const [present] = documents;
  entitle(present?.heading ?? "", present?.doc ?? (only ? "" : gettext("Nothing left")));
  if (isPair(present)) entitlePair();
  if (present?.doc !== inView) [inView, since] = [present?.doc, performance.now()];
  if (isPair(present)) showPair(present);
  else if (present && !present.missing) find("#text").innerHTML = present.html; // escaped or cleaned by the server
  else find("#text").replaceChildren(...content(present));
  showLabels(present);
  showMarks(topic, present, present?.judged ? undefined : marked.get(present?.doc));
  read();
  offer(Boolean(present));
  showControls(present);
  showIntents(present, present?.marks ?? marked.get(present?.doc));
  const before = present?.judged ? "" : comments.get(present?.doc); // an undone change brings its own comment
  const unsentWords = present ? typed(topic, present.doc) : "";
  comment.value = unsentWords || present?.comment || before || "";
  if (present && !present.judged) keepTyped(topic, present.doc, comment.value); // undone comments as well
  find("details.comment").open = Boolean(comment.value);
  clock.turn(performance.now(), present?.doc);
  if (!focus) return;
  scrollTo(0, 0);
  find("#document").focus({ preventScroll: true });
}

// Labels by machines: of a document that is not judged yet, the suggestion that the organizer allows.
function showLabels(present) {
  const known = Object.entries(present?.labels ?? {});
  const box = find("#labels");
  box.hidden = !known.length;
  const words = (grade) => every(".grade").find((one) => Number(one.dataset.grade) === grade)?.dataset.words ?? String(grade);
  const said = known.map(([name, grade]) => {
    const values = { name, grade: words(grade) };
    return present.judged ? gettext("Label by {name}: {grade}", values) : gettext("Suggestion by {name}: {grade}", values);
  });
  put(box, said.join("; "));
}

function showLoading() {
  entitle("", "…");
  find("#text").replaceChildren(make("p", { class: "faint" }, gettext("Loading …")));
  offer(true);
  showControls(undefined);
  comment.value = "";
  find("details.comment").open = false;
  clock.turn(performance.now());
}

find("#text").addEventListener("click", async ({ target }) => {
  const { more } = target.dataset;
  const [present] = documents;
  if (!more || !present) return;
  target.disabled = true;
  try {
    const doc = target.closest(".half")?.dataset.doc ?? present.doc;
    const asked = new URLSearchParams({ topic, doc, first: more, ...sample });
    const { html } = await request(`${api}/text?${asked}`);
    const known = texts.get(present.doc);
    const { html: whole, sides } = grown(present, doc, html);
    if (known) Object.assign(known, { html: whole, sides, isLonger: true });
    documents = documents.map((one) => (one.doc === present.doc ? { ...one, html: whole, sides } : one));
    if (documents[0]?.doc !== present.doc) return;
    target.closest(".cut").outerHTML = html; // escaped or cleaned by the server
    read();
  } catch (problem) {
    target.disabled = false;
    notice(sentence(problem.message));
  }
});

// ---- loading documents

function remember(list) {
  return list.map((one) => {
    if ((one.html !== null || one.missing) && !texts.get(one.doc)?.isLonger) texts.set(one.doc, one);
    const known = texts.get(one.doc);
    return {
      ...known, ...one, heading: known?.heading ?? "", html: known?.html ?? null, sides: known?.sides ?? [],
    };
  });
}

function pending() {
  const acts = unsent().filter((item) => isOurs(item) && !isUndo(item));
  return new Set(acts.map((item) => item.content.doc));
}

// Keeps the document in view, because the person is reading it, unless another one must come first.
function take(list, first) {
  const [present] = documents;
  const gone = pending();
  const fresh = remember(list).filter((one) => !gone.has(one.doc) && (one.html !== null || one.missing));
  const stays = present && !first ? [present] : [];
  documents = [...stays, ...fresh.filter((one) => !stays.some((other) => other.doc === one.doc))];
  for (const name of [...texts.keys()].slice(0, -REMEMBERED)) texts.delete(name);
  if (stays.length) return;
  if (!documents.length && gone.size) showLoading(); // the answers still to come may bring more documents
  else show(Boolean(present) || document.activeElement === document.body);
}

function tellChanged() {
  const box = find("#changed");
  if (!box.hidden) return;
  box.hidden = false;
  const link = make("a", { href: location.href }, gettext("reload this page"));
  box.append(...elements("The instructions, the topic or the title changed. To see them, {link}.", { link }));
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
    for (const name of lastSkipped()) asked.append("later", name);
    const before = answers;
    const own = (loads += 1);
    const work = await spoken(request(`${api}/next?${asked}`), () => {
      if (!documents.length) notice(`${sentence(SLOW)} ${gettext("Waiting for the next document.")}`);
    });
    if (own !== loads) return undefined; // a later request knows more
    if (answers !== before) return load(false); // outdated: its documents may be judged by now
    if (find("#notice").textContent.startsWith(sentence(SLOW))) notice("");
    hear(work);
    return take(work.documents, first);
  } catch (problem) {
    if (problem.status === 401) return signInAgain();
    notice(sentence(problem.message));
    if (problem.status === 0 || problem.status >= 500) setTimeout(load, RELOAD, first);
  }
  return undefined;
}

function undoneWords(reply) {
  const name = texts.has(reply.doc) ? named(texts.get(reply.doc)) : reply.title || reply.doc;
  if (!reply.sequence) return gettext("There is nothing to undo.");
  if (reply.undid !== "change") return gettext("Undone: {doc}.", { doc: name });
  const button = every(".grade").find((one) => Number(one.dataset.grade) === reply.restored);
  return gettext("Change undone. {doc} has its earlier grade again: {grade}.", {
    doc: name, grade: button?.dataset.words ?? gettext("cannot judge"),
  });
}

Object.assign(hooks, {
  sent(item, reply) {
    if (!isOurs(item)) return;
    answers += 1;
    hear(reply);
    const undone = isUndo(item);
    if (!only) take(reply.documents, undone && ["judge", "skip"].includes(reply.undid) && !item.shown);
    else if (undone) load();
    if (undone) say(undoneWords(reply));
  },
  refused(item) {
    if (!isOurs(item)) return;
    answers += 1;
    showCount();
    if (statusKey === item.content.key) say("");
    load(false);
  },
  elsewhere(item) {
    if (!isOurs(item)) return;
    const isRefused = refused().some(({ content }) => content.key === item.content.key);
    if (isRefused && statusKey === item.content.key) say("");
    if (!only) load(false);
  },
  signedIn() {
    if (!documents.length) load();
  },
  goesOn: () => documents.length > 0,
  wanted(item) {
    if (!isOurs(item) || only) return { count: 0 };
    const have = documents.map((one) => one.doc);
    return { count: AHEAD, have, ...(audit ? { later: lastSkipped() } : {}) };
  },
});

// ---- grading, skipping, undoing

function pass(path, given, words) {
  const [present] = documents;
  if (!present) return;
  comments.delete(present.doc);
  marked.delete(present.doc);
  later.delete(present.doc);
  const key = newKey();
  if (given.grade !== undefined) forgetMarks(topic, present.doc); // they are being sent
  if (given.comment === typed(topic, present.doc)) keepTyped(topic, present.doc, ""); // it is being sent
  keep(path, { topic, doc: present.doc, key, ...sample, ...given }, {
    title: named(present), words: kind || given.marks?.subtopics ? words : undefined,
  });
  say(`${words}: ${named(present)}.`, { of: key });
  if (path === `${api}/judge` && !present.judged) {
    firsts.add(key);
    note(given.active);
  }
  showCount();
  if (only) {
    const { grade, comment: words, marks } = given;
    documents = [{ ...present, judged: true, grade, comment: words, marks }];
    show(false);
  } else {
    passed.push({ document: { ...present, comment: comment.value, marks: given.marks }, key, path, spent: given });
    documents = documents.slice(1);
    if (documents.length) show();
    else showLoading();
  }
  send();
}

// The judgment in view. The server asks before it changes a different one.
function seen(present) {
  if (!present || present.isUnsure) return null;
  return { judged: present.judged, grade: present.judged ? present.grade : null };
}

function judge(grade, label) {
  const spent = clock.take(performance.now());
  const marks = marksFor(grade);
  const labels = Object.keys(documents[0]?.labels ?? {}); // that the page shows
  pass(`${api}/judge`, { grade, comment: comment.value, marks, labels, seen: seen(documents[0]), ...spent }, label);
}

function save() {
  const spent = clock.take(performance.now());
  const subtopics = chosenGrades();
  const grade = Math.max(...Object.values(subtopics));
  const marks = { ...marksFor(grade), subtopics };
  const labels = Object.keys(documents[0]?.labels ?? {});
  const given = { grade, comment: comment.value, marks, labels, seen: seen(documents[0]), ...spent };
  pass(`${api}/judge`, given, wordsOf(subtopics));
}

function bringBack(last, words) {
  if (firsts.has(last.key)) unnote();
  documents = [last.document, ...documents.filter((one) => one.doc !== last.document.doc)];
  showCount();
  say(`${words}: ${named(last.document)}.`);
  show();
  showWaiting();
}

// Send an undo to the server.
function takeBack(doc, more) {
  keep(`${api}/undo`, { topic, doc, key: newKey(), ...sample }, more);
  showCount();
  showWaiting();
  return send();
}

function undo() {
  if (only) return undoOnly();
  const last = passed.pop();
  if (last && later.delete(last.document.doc)) return bringBack(last, gettext("Undone"));
  const known = last && [...unsent(), ...refused()].find((item) => item.content.key === last.key);
  if (known && (known.why !== undefined || !known.tried)) { // the server does not have it
    forget(known);
    clock.giveBack(last.document.doc, last.spent);
    return bringBack(last, gettext("Undone"));
  }
  if (known || last?.path === "/api/skip") { // it was sent, and may or may not have arrived
    bringBack(last, gettext("Undoing"));
    return takeBack(last.document.doc, { of: last.key, shown: true });
  }
  if (last?.document.comment) comments.set(last.document.doc, last.document.comment);
  if (last?.document.marks) marked.set(last.document.doc, last.document.marks);
  if (firsts.has(last?.key)) unnote();
  const doc = last?.document.doc ?? earlier.pop() ?? null;
  if (audit && !doc) return say(gettext("There is nothing to undo."));
  return takeBack(doc, { of: last?.key });
}

function undoOnly() {
  const judgments = unsent().filter((one) => one.path === "/api/judge" && one.content.topic === topic);
  const last = judgments.findLast((one) => one.content.doc === only);
  if (comment.value) comments.set(only, comment.value);
  if (documents[0]?.marks) marked.set(only, documents[0].marks);
  documents = documents.map((one) => ({ ...one, isUnsure: true })); // until the server says which judgment is in force
  return takeBack(only, { of: last?.content.key });
}

// Skips in an audit are remembered only here: the server records skips only for documents that it assigned.
function skip() {
  const [present] = documents;
  if (!audit || !present) return pass("/api/skip", clock.take(performance.now()), gettext("Skipped"));
  later.add(present.doc);
  passed.push({ document: { ...present, comment: comment.value } });
  documents = documents.slice(1);
  say(`${gettext("Skipped")}: ${named(present)}.`);
  if (documents.length) show();
  else showLoading();
  return load(false);
}

// ---- keys and buttons

const acts = {
  cannot: () => judge(null, gettext("Cannot judge")),
  save,
  skip,
  undo,
  evidence: () => say(markSpan()),
  part: () => say(nextPart()),
  nuggets: nextNugget,
};
const isFree = (act) => ["undo", "evidence", "part", "nuggets"].includes(act); // grades nothing
for (const button of every(".grading button")) {
  const { grade, do: act, words } = button.dataset;
  const done = act ? acts[act] : () => judge(Number(grade), words);
  button.addEventListener("click", () => {
    if (isFree(act) || performance.now() - since >= Number(pause)) done();
    else say(gettext("Ignored: this document has only just appeared."), { isPassedOver: true });
  });
}

function sayUnknown(key) {
  if ([...key].length > 1 || key === " ") return; // the browser scrolls with these, or they type nothing
  say(gettext("Nothing happened: {key} is not a key of this page. Press ? to see the keys.", { key }), { isPassedOver: true });
}

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  if (event.key === "Escape" && (field || event.target.closest(".part"))) find("#document").focus({ preventScroll: true });
  if (event.key === "Enter" && field?.id === "terms") {
    event.preventDefault();
    find("#document").focus({ preventScroll: true });
    return say(jump(1));
  }
  const ofTheBrowser = event.ctrlKey || event.altKey || event.metaKey;
  if (field || event.repeat || event.isComposing || ofTheBrowser || find("dialog[open]")) return;
  const key = keyOf(event);
  if (key === "?" || key === "؟") {
    event.preventDefault();
    return showKeys();
  }
  const name = nameOf(key);
  const aid = { next: () => say(jump(1)), previous: () => say(jump(-1)), mark: focusTerms }[name];
  if (aid) {
    event.preventDefault();
    return aid();
  }
  if (name === "comment") {
    if (comment.disabled) return;
    event.preventDefault();
    find("details.comment").open = true;
    comment.focus();
    return;
  }
  if (event.key === "Enter" && !only && !documents.length && !event.target.closest("a, button, summary")) {
    find("#text .onward")?.click();
    return;
  }
  const said = gradePart(event.target, name);
  if (said) {
    event.preventDefault();
    return say(said);
  }
  if (hasIntents && documents.length) {
    const isSave = event.key === "Enter" && !event.target.closest("a, button, summary");
    if (isSave) find(".intents .save").click();
    if (isSave || pressIntent(key, name)) return event.preventDefault();
  }
  const button = name && find(`.grading button[data-name="${CSS.escape(name)}"]`);
  if (!button) sayUnknown(event.key);
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

// Renew the leases while the person is working.
setInterval(() => {
  const now = performance.now();
  if (audit || !clock.works(now) || now - renewed <= RENEWAL) return;
  renewed = now;
  post("/api/at-work", {}).catch(() => {});
}, 1000);

send().finally(load);
