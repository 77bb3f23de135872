// The queue of judgments that the server has not recorded yet. Each stays in this browser until the server
// confirms that it is on disk. A refused one stays until the person retries or discards it.

import { account, find, make, notice, put, storage } from "./page.js";
import { failure, identity, post, SLOW, spoken } from "./server.js";
import { elements, gettext, ngettext, sentence } from "./words.js";

// Each item is its own storage entry, so that tabs do not overwrite each other. `account` differs between
// projects, because another project may later be served at the same address.
const UNSENT = `sounding:unsent:${account}:`;
const REFUSED = `sounding:refused:${account}:`;
const memory = new Map(); // fallback if the browser stores nothing

// Callbacks that the judging page overrides.
export const hooks = {
  sent() {},
  refused() {},
  elsewhere() {}, // another tab has sent or undone the item
  signedIn() {},
  goesOn: () => true, // whether the person can continue without the server
  wanted: () => ({ count: 0 }), // the documents that the answer should bring
};

function places(prefix) {
  return [...storage.keys(), ...memory.keys()].filter((place) => place.startsWith(prefix)).sort();
}

function kept(prefix) {
  return places(prefix).flatMap((place) => {
    const text = memory.get(place) ?? storage.get(place); // null if another tab has just sent it
    return text === null ? [] : [{ ...JSON.parse(text), place }];
  });
}

function write(place, { path, content, tried, of, shown, title, words, why, unseen }) {
  const text = JSON.stringify({ path, content, tried, of, shown, title, words, why, unseen });
  if (!storage.set(place, text)) memory.set(place, text);
}

const here = find("#judge")?.dataset; // the topic of this page, and the audit if there is one
export const isOurs = ({ content }) =>
  here?.topic === content.topic && (here.audit ? Number(here.audit) : undefined) === content.audit;
const isJudgment = (item) => item.path.endsWith("/judge"); // by an assessor, or in an audit
export const isUndo = (item) => item.path.endsWith("/undo");
export const unsent = () => kept(UNSENT);
export const refused = () => kept(REFUSED);

export function forget({ place }) {
  memory.delete(place);
  storage.remove(place);
  if (place.startsWith(REFUSED)) showRefused();
}

// A number behind all items, whatever the clock says: an undo must not be sent before its grade.
function nextNumber() {
  const numbers = [UNSENT, REFUSED].flatMap((prefix) =>
    places(prefix).map((place) => Number.parseInt(place.slice(prefix.length), 10)));
  return String(Math.max(0, ...numbers) + 1).padStart(15, "0");
}

// `of`: the key of the judgment that an undo reverts; `shown`: the page already shows the result; `title`: the
// title of the document, which other pages do not know.
export function keep(path, content, { of, shown, title, words } = {}) {
  write(`${UNSENT}${nextNumber()}:${content.key}`, { path, content, of, shown, title, words });
}

// ---- sending

const FIRST_WAIT = 1000; // milliseconds
const LONGEST_WAIT = 30000;
let sending = null;
let retry = 0;
let wait = FIRST_WAIT;
let trouble = null; // why nothing can be sent at the moment

export function send() {
  sending ??= drain().finally(() => { sending = null; });
  return sending;
}

async function drain() {
  clearTimeout(retry);
  for (let [item] = unsent(); item; [item] = unsent()) {
    write(item.place, { ...item, tried: true }); // from now on the server may have it, even without an answer
    let reply;
    try {
      reply = await spoken(post(item.path, { ...item.content, ...hooks.wanted(item) }), () => {
        trouble = failure(0, SLOW);
        showWaiting();
      });
      if (typeof reply?.sequence !== "number") throw failure(0, gettext("the judging server cannot be reached"));
    } catch (problem) {
      if (problem.status === 401) return signInAgain();
      if (!isFinal(problem.status)) return sendLater(problem);
      refuse(item, problem);
      continue;
    }
    forget(item);
    wait = FIRST_WAIT;
    trouble = null;
    notice("");
    hooks.sent(item, reply);
  }
  if (trouble) notice("");
  trouble = null;
  return undefined;
}

const UNSEEN = 412; // the person's current judgment is not the one that the page showed
const isFinal = (status) => status >= 400 && status < 500 && ![408, 429].includes(status);

function waiting() {
  const undone = new Set(unsent().map((item) => item.of));
  const count = unsent().filter((item) => isJudgment(item) && !undone.has(item.content.key)).length;
  if (count) {
    return ngettext(
      "{n} judgment is saved in this browser and will be sent later",
      "{n} judgments are saved in this browser and will be sent later",
      count,
    );
  }
  return unsent().length ? gettext("Your last action is saved in this browser and will be sent later") : "";
}

// While nothing can be sent, shows how much is waiting.
export function showWaiting() {
  if (!trouble) return;
  const why = trouble.status === 0 ? trouble.message : gettext("the server cannot record anything right now");
  const goesOn = hooks.goesOn() ? gettext("you can continue") : gettext("waiting for the connection");
  const kept = waiting() ? `${sentence(waiting())} ` : "";
  notice(`${sentence(why)} ${kept}${sentence(goesOn)}`);
}

function sendLater(problem) {
  trouble = problem;
  showWaiting();
  retry = setTimeout(send, wait);
  wait = Math.min(wait * 2, LONGEST_WAIT);
}

// ---- judgments that the server refused

function refuse(item, { message: why, status }) {
  const undo = unsent().find((one) => one.of === item.content.key);
  if (undo) forget(undo); // the person has undone it, and it was never recorded
  else if (item.path !== "/api/skip") {
    write(item.place.replace(UNSENT, REFUSED), { ...item, why, unseen: status === UNSEEN });
  }
  forget(item);
  showRefused();
  hooks.refused(item);
}

// The person has read that another judgment is in force and confirms the change, so `seen` is dropped.
function tryAgain(item) {
  const content = item.unseen ? { ...item.content, seen: null } : item.content;
  write(item.place.replace(REFUSED, UNSENT), { ...item, content, why: undefined, unseen: undefined });
  forget(item);
  send();
}

function act(item) {
  const { content, title } = item;
  const id = make("bdi", {}, content.doc);
  const known = title && title !== content.doc ? [make("bdi", {}, title), " (", id, ")"] : [id];
  const doc = content.doc === null ? [gettext("your last judgment")] : known;
  const topic = make("bdi", {}, content.topic);
  if (isUndo(item)) return elements("Undo: {doc} in topic {topic}", { doc, topic });
  const { grade } = content;
  const given = grade === null ? gettext("Cannot judge") : gettext("Grade {grade}", { grade: String(grade) });
  const words = item.words ?? given; // what a preference or grades for subtopics say
  if (!content.comment) return elements("{grade}: {doc} in topic {topic}", { grade: words, doc, topic });
  const comment = make("bdi", {}, content.comment);
  return elements("{grade}: {doc} in topic {topic}, with the comment “{comment}”", { grade: words, doc, topic, comment });
}

function row(item) {
  const named = item.content.doc ?? gettext("your last judgment");
  const button = (words, done) => {
    const made = make("button", { type: "button", "aria-label": `${words}: ${named}` }, words);
    made.addEventListener("click", () => {
      done(item);
      const next = find("#refused:not([hidden]) summary") ?? find("#document") ?? find("#main");
      next.focus({ preventScroll: true });
    });
    return made;
  };
  const why = make("span", { class: "why", dir: "auto" }, sentence(item.why));
  const [again, never] = item.unseen
    ? [gettext("Change grade"), gettext("Keep grade")]
    : [gettext("Try again"), gettext("Discard")];
  const acts = make("span", { class: "acts" }, button(again, tryAgain), " ", button(never, forget));
  return make("li", {}, make("span", {}, ...act(item), ". ", why), acts);
}

// A conflict with the person's own other judgment is a question, not a refusal.
function heading(items) {
  const asked = items.filter((item) => item.unseen);
  const documents = new Set(asked.map(({ content }) => JSON.stringify([content.topic, content.doc]))).size;
  const others = items.length - asked.length;
  const words = [
    ...(others ? [ngettext("the server refused {n} judgment", "the server refused {n} judgments", others)] : []),
    ...(documents
      ? [ngettext(
        "{n} document with two grades: which one should count?",
        "{n} documents with two grades: which one should count?",
        documents,
      )]
      : []),
  ].join("; ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

let listed = new Set(); // storage keys of the items in the box

// The box opens by itself only for items of this page's topic.
function showRefused() {
  const box = find("#refused");
  const items = refused();
  const fresh = items.filter((item) => !listed.has(item.place));
  listed = new Set(items.map((item) => item.place));
  box.hidden = !items.length;
  put(find("h2 span", box), heading(items));
  find("ul", box).replaceChildren(...items.map(row));
  if (!items.length) find("details", box).open = false;
  else if (fresh.some(isOurs)) find("details", box).open = true;
}

// ---- signing in again

export function signInAgain() {
  const dialog = find("#again");
  const words = waiting();
  put(find("#again-kept"), words && sentence(words));
  if (dialog.open) return;
  dialog.showModal();
  find("[name=password]", dialog).focus();
}

async function signIn(event) {
  event.preventDefault();
  const form = event.target;
  const wrong = find(".wrong", form);
  const { name, password } = form.elements;
  try {
    await identity();
    await post("/api/sign-in", { name: name.value, password: password.value }, false);
    const known = await identity();
    password.value = "";
    wrong.hidden = true;
    find("#again").close();
    if (known.lasting !== account) location.assign("/"); // unsent judgments wait for their own user
    else send().then(() => hooks.signedIn());
  } catch (problem) {
    wrong.textContent = sentence(problem.message);
    wrong.hidden = false;
  }
}

if (account) {
  find("#again form").addEventListener("submit", signIn);
  window.addEventListener("online", send);
  window.addEventListener("storage", ({ key, newValue, oldValue }) => { // another tab changed the queue
    showRefused();
    if (key?.startsWith(UNSENT) && newValue === null) hooks.elsewhere(JSON.parse(oldValue));
  });
  window.addEventListener("beforeunload", (event) => { if (memory.size) event.preventDefault(); });
  showRefused();
  if (unsent().length) send();
}
