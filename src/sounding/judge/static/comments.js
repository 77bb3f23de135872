// Unsent comments and marks: they stay in this browser, by account, topic and document, until they are sent with a grade
// or cleared.

import { account, storage } from "./page.js";

const memory = new Map(); // fallback if the browser stores nothing
const place = (kind, topic, doc) => `sounding:${kind}:${account}:${JSON.stringify([topic, doc])}`;

export function typed(topic, doc, kind = "comment") {
  const where = place(kind, topic, doc);
  return memory.get(where) ?? storage.get(where) ?? "";
}

export function keepTyped(topic, doc, text, kind = "comment") {
  const where = place(kind, topic, doc);
  memory.delete(where);
  if (!text) storage.remove(where);
  else if (!storage.set(where, text)) memory.set(where, text);
}
