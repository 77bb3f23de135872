// What a person did and the server has not recorded yet. It stays in this browser until the server says that
// it is on its disk; what the server refuses stays until the person tries it again or discards it.

import { account, are, find, make, notice, plural, put, sentence, storage } from "./page.js";
import { failure, identity, post } from "./server.js";

// One entry of the browser's storage for each, so that tabs cannot collide. The account is that of a person
// in one project: another project may be served at the same address next.
const UNSENT = `sounding:unsent:${account}:`;
const REFUSED = `sounding:refused:${account}:`;
const memory = new Map(); // where the browser stores nothing

// What the judging page wants to know and has to say.
export const hooks = {
  sent() {},
  refused() {},
  elsewhere() {}, // another tab has sent it or taken it back
  signedIn() {},
  goesOn: () => true, // whether there is something to do without the server
  wanted: () => ({ count: 0 }), // documents to be sent along with the answer
};

function places(prefix) {
  return [...storage.keys(), ...memory.keys()].filter((place) => place.startsWith(prefix)).sort();
}

function kept(prefix) {
  return places(prefix).flatMap((place) => {
    const text = memory.get(place) ?? storage.get(place); // another tab may have sent it by now
    return text === null ? [] : [{ ...JSON.parse(text), place }];
  });
}

function write(place, { path, content, tried, of, shown, title, why, unseen }) {
  const text = JSON.stringify({ path, content, tried, of, shown, title, why, unseen });
  if (!storage.set(place, text)) memory.set(place, text);
}

const here = find("#judge")?.dataset; // the topic that this page is about, and the audit
export const isOurs = ({ content }) =>
  here?.topic === content.topic && (here.audit ? Number(here.audit) : undefined) === content.audit;
const isJudgment = (item) => item.path.endsWith("/judge"); // of an assessor, or of an audit
export const isUndo = (item) => item.path.endsWith("/undo");
export const unsent = () => kept(UNSENT);
export const refused = () => kept(REFUSED);

export function forget({ place }) {
  memory.delete(place);
  storage.remove(place);
  if (place.startsWith(REFUSED)) showRefused();
}

// Behind all that is kept, whatever a clock says: an undo must not go before its grade.
function nextNumber() {
  const numbers = [UNSENT, REFUSED].flatMap((prefix) =>
    places(prefix).map((place) => Number.parseInt(place.slice(prefix.length), 10)));
  return String(Math.max(0, ...numbers) + 1).padStart(15, "0");
}

// `of`: the key of the act that an undo is about; `shown`: the page shows the result of it already; `title`:
// what the document is called, which other pages do not know.
export function keep(path, content, { of, shown, title } = {}) {
  write(`${UNSENT}${nextNumber()}:${content.key}`, { path, content, of, shown, title });
}

// ---- sending

const FIRST_WAIT = 1000; // milliseconds
const LONGEST_WAIT = 30000;
let sending = null;
let retry = 0;
let wait = FIRST_WAIT;
let trouble = null; // what keeps the server from taking anything

export function send() {
  sending ??= drain().finally(() => { sending = null; });
  return sending;
}

async function drain() {
  clearTimeout(retry);
  for (let [item] = unsent(); item; [item] = unsent()) {
    write(item.place, { ...item, tried: true }); // from now on the server may have it, whatever we hear
    let reply;
    try {
      reply = await post(item.path, { ...item.content, ...hooks.wanted(item) });
      if (typeof reply?.sequence !== "number") throw failure(0, "the judging server cannot be reached");
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

const UNSEEN = 412; // another judgment stands than the page showed
const isFinal = (status) => status >= 400 && status < 500 && ![408, 429].includes(status);

function waiting() {
  const undone = new Set(unsent().map((item) => item.of));
  const count = unsent().filter((item) => isJudgment(item) && !undone.has(item.content.key)).length;
  if (count) return `${are(count, "judgment")} kept in this browser`;
  return unsent().length ? "What you did last is kept in this browser" : "";
}

// Says what waits, as long as something keeps it from being sent.
export function showWaiting() {
  if (!trouble) return;
  const why = trouble.status === 0 ? trouble.message : "the server cannot take anything now";
  const goesOn = hooks.goesOn() ? "you can go on" : "waiting for the connection";
  notice(`${sentence(why)} ${sentence(waiting() ? `${waiting()} and sent later; ${goesOn}` : goesOn)}`);
}

function sendLater(problem) {
  trouble = problem;
  showWaiting();
  retry = setTimeout(send, wait);
  wait = Math.min(wait * 2, LONGEST_WAIT);
}

// ---- what the server refused

function refuse(item, { message: why, status }) {
  const undo = unsent().find((one) => one.of === item.content.key);
  if (undo) forget(undo); // it was taken back by the person and never recorded
  else if (item.path !== "/api/skip") {
    write(item.place.replace(UNSENT, REFUSED), { ...item, why, unseen: status === UNSEEN });
  }
  forget(item);
  showRefused();
  hooks.refused(item);
}

// Who has read that there is another judgment by now means to change it.
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
  const doc = content.doc === null ? ["your last judgment"] : known;
  const topic = [" in topic ", make("bdi", {}, content.topic)];
  if (isUndo(item)) return ["Taking back ", ...doc, ...topic];
  const grade = content.grade === null ? "Cannot judge" : `Grade ${content.grade}`;
  const comment = content.comment ? [", with the comment “", make("bdi", {}, content.comment), "”"] : [];
  return [`${grade}: `, ...doc, ...topic, ...comment];
}

function row(item) {
  const named = item.content.doc ?? "your last judgment";
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
  const [again, never] = item.unseen ? ["Change it", "Leave it"] : ["Try again", "Discard"];
  const acts = make("span", { class: "acts" }, button(again, tryAgain), " ", button(never, forget));
  return make("li", {}, make("span", {}, ...act(item), ". ", why), acts);
}

// What met another judgment of the same person is a question, and no refusal.
function heading(items) {
  const asked = items.filter((item) => item.unseen);
  const documents = new Set(asked.map(({ content }) => JSON.stringify([content.topic, content.doc]))).size;
  const others = items.length - asked.length;
  const words = [
    ...(others ? [`the server refused ${plural(others, "judgment")}`] : []),
    ...(documents ? [`${plural(documents, "document")} with two grades: which counts?`] : []),
  ].join("; ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

let listed = new Set(); // places of what is in the box

// One line that unfolds, unless it is about what this page is about.
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
  put(find("#again-kept"), words && `${words} and will be sent.`);
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
    if (known.lasting !== account) location.assign("/"); // what is unsent waits for its own user
    else send().then(() => hooks.signedIn());
  } catch (problem) {
    wrong.textContent = sentence(problem.message);
    wrong.hidden = false;
  }
}

if (account) {
  find("#again form").addEventListener("submit", signIn);
  window.addEventListener("online", send);
  window.addEventListener("storage", ({ key, newValue, oldValue }) => { // another tab has done something
    showRefused();
    if (key?.startsWith(UNSENT) && newValue === null) hooks.elsewhere(JSON.parse(oldValue));
  });
  window.addEventListener("beforeunload", (event) => { if (memory.size) event.preventDefault(); });
  showRefused();
  if (unsent().length) send();
}
