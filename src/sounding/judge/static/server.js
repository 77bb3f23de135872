// Requests to the server. An error carries the status of the server's refusal, or 0 if the judging server did
// not answer: there was no connection, or a proxy or login portal answered in its place.

import { account } from "./page.js";
import { gettext } from "./words.js";

let { token } = document.body.dataset;

export const failure = (status, message) => Object.assign(new Error(message), { status });

export const SLOW = gettext("the server has not answered yet");
const PATIENCE = 3000; // milliseconds until the page says so
const MOST = 30000; // until a request counts as lost: it is sent again with the same key

// A request that speaks if it takes long.
export async function spoken(asked, speak) {
  const timer = setTimeout(speak, PATIENCE);
  try {
    return await asked;
  } finally {
    clearTimeout(timer);
  }
}

export async function request(path, options) {
  let answer;
  try {
    answer = await fetch(path, { signal: AbortSignal.timeout(MOST), ...options });
  } catch {
    throw failure(0, gettext("no connection"));
  }
  if (answer.status === 204) return null;
  const content = await answer.json().catch(() => null);
  if (answer.ok && content !== null) return content;
  if (answer.ok || typeof content?.detail !== "string") {
    throw failure(0, gettext("the judging server cannot be reached (something else answered with status {status})", {
      status: String(answer.status),
    }));
  }
  throw failure(answer.status, content.detail);
}

export async function identity() {
  const known = await request("/api/token");
  token = known.token;
  return known;
}

export async function post(path, content, again = true) {
  const headers = { "Content-Type": "application/json", "X-Page-Token": token };
  try {
    return await request(path, { method: "POST", headers, body: JSON.stringify(content) });
  } catch (problem) {
    if (problem.status !== 403 || !again) throw problem;
    const before = token; // another tab may have signed in again, so this page has an old token
    const known = await identity();
    if (known.lasting !== account) throw failure(401, gettext("not signed in"));
    if (token === before) throw problem;
    return post(path, content, false);
  }
}
