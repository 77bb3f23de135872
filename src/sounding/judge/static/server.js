// Talking to the server. What goes wrong has a status: that of the server's own refusal, or 0 where nothing
// of this server was heard: no connection, or a proxy or a portal on the way that answered in its place.

import { account } from "./page.js";

let { token } = document.body.dataset;

export const failure = (status, message) => Object.assign(new Error(message), { status });

export async function request(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw failure(0, "no connection");
  }
  if (answer.status === 204) return null;
  const content = await answer.json().catch(() => null);
  if (answer.ok && content !== null) return content;
  if (answer.ok || typeof content?.detail !== "string") {
    throw failure(0, `the judging server cannot be reached (answer ${answer.status} is not its own)`);
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
    const before = token; // another tab may have signed in anew, and this page has the old token
    const known = await identity();
    if (known.lasting !== account) throw failure(401, "not signed in");
    if (token === before) throw problem;
    return post(path, content, false);
  }
}
