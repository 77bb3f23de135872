// Unsent comments: they stay in this browser, by account, topic and document, until they are sent with a grade
// or cleared.

import { account, storage } from "./page.js";

const memory = new Map(); // fallback if the browser stores nothing
const place = (topic, doc) => `sounding:comment:${account}:${JSON.stringify([topic, doc])}`;

export function typed(topic, doc) {
  const where = place(topic, doc);
  return memory.get(where) ?? storage.get(where) ?? "";
}

export function keepTyped(topic, doc, text) {
  const where = place(topic, doc);
  memory.delete(where);
  if (!text) storage.remove(where);
  else if (!storage.set(where, text)) memory.set(where, text);
}
