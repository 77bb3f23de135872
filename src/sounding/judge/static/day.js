// What a person has judged today in this browser, and how long a document takes them.

import { account, storage } from "./page.js";
import { gettext, ngettext } from "./words.js";

const PLACE = `sounding:day:${account}`;
const LAST = 20; // judgments that tell the pace
const FEWEST = 5; // with fewer there is no pace

const today = () => new Date().toLocaleDateString("sv"); // year-month-day, here

function known() {
  const { date, judged = 0, seconds = [] } = JSON.parse(storage.get(PLACE) ?? "{}");
  return { judged: date === today() ? judged : 0, seconds };
}

const save = (content) => storage.set(PLACE, JSON.stringify({ date: today(), ...content }));

export function note(active) {
  const { judged, seconds } = known();
  save({ judged: judged + 1, seconds: [...seconds, active].slice(-LAST) });
}

export function unnote() {
  const { judged, seconds } = known();
  save({ judged: Math.max(0, judged - 1), seconds: seconds.slice(0, -1) });
}

export function day() {
  const { judged } = known();
  return judged ? ngettext("{n} today", "{n} today", judged) : "";
}

// The median of the last judgments, and the time that the remaining ones would take.
export function pace(left) {
  const { seconds } = known();
  if (seconds.length < FEWEST) return "";
  const median = [...seconds].sort((one, other) => one - other)[Math.floor(seconds.length / 2)];
  const rounded = Math.max(1, Math.round(median));
  const each = ngettext("about {n} second each", "about {n} seconds each", rounded);
  const minutes = Math.round((median * left) / 60);
  if (!minutes) return each;
  return gettext("{each}, {rest}", {
    each, rest: ngettext("{n} minute for the rest", "{n} minutes for the rest", minutes),
  });
}
