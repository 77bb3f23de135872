// The organizers' live page: redrawn whenever the server sends a new state.

import { are, find, make, notice, plural, put } from "./page.js";

// ---- numbers and tables

const MOST_PAIRED = 40; // with more runs, the table of pairs is left out
const isKnown = (value) => value !== null && value !== undefined;
const shown = (value, digits = 3) => (isKnown(value) ? value.toFixed(digits) : "–");
// 100% only for all and 0% only for none, however close the share is.
function percent(value, none = "–") {
  if (!isKnown(value)) return none;
  if (value === 0 || value === 1) return `${100 * value}%`;
  if (value >= 0.9995) return ">99.9%";
  return value < 0.0005 ? "<0.1%" : `${(100 * value).toFixed(1)}%`;
}
// A chance estimated from draws is never exactly 0% or 100%, even if all draws agree.
const chance = (value) => percent(isKnown(value) ? Math.min(Math.max(value, 1e-9), 1 - 1e-9) : value);
const number = (text) => make("span", {}, text); // a cell aligned like a number
const faint = (text) => make("p", { class: "faint" }, text);
const row = (...cells) => make("tr", {}, ...cells);
const head = (text, attributes = {}) => make("th", { scope: "col", ...attributes }, text);

function cell(value) {
  if (typeof value === "string") return make("td", {}, make("bdi", {}, value));
  return make("td", { class: "number" }, typeof value === "number" ? String(value) : value);
}

function table(names, rows) {
  const heads = names.map((name, place) => {
    const isText = typeof rows[0]?.[place] === "string";
    return head(name, { class: isText ? "" : "number" });
  });
  const lines = rows.map((values) => row(...values.map(cell)));
  return make("table", {}, make("thead", {}, row(...heads)), make("tbody", {}, ...lines));
}

// ---- the ranking

function ranking({ runs }) {
  const rows = runs.map((run, place) => [
    place + 1, run.name, number(shown(run.value)), number(chance(run.above_next)),
  ]);
  return table(["Rank", "Run", "Value", "Beats the next"], rows);
}

function curve({ curve: points, sure, runs, judged: all, not_stated: reason }) {
  const known = points.filter(([, value]) => value !== null);
  if (reason && !known.length) return faint("The curve starts once there is enough evidence to state confidence.");
  if (known.length < 2) {
    return faint(all < 2 ? "The curve starts after two judgments." : "Computing the curve …");
  }
  const most = Math.max(...known.map(([judged]) => judged), 1);
  const low = Math.min(0.5, ...known.map(([, value]) => value));
  const x = (judged) => (40 + (450 * judged) / most).toFixed(1);
  const y = (value) => (10 + (180 * (1 - value)) / (1 - low)).toFixed(1);
  const across = (value) => make("line", {
    x1: 40, x2: 490, y1: y(value), y2: y(value), class: value === sure ? "goal" : "grid",
  });
  const label = (value) => {
    const under = Number(y(value)) + (value === 1 ? 0 : 8);
    return make("text", { x: 36, y: under, class: "left" }, `${Math.round(100 * value)}%`);
  };
  const arrival = (run) => make(
    "line", { x1: x(run.joined), x2: x(run.joined), y1: 10, y2: 190, class: "late" },
    make("title", {}, `${run.name} added after ${plural(run.joined, "judged document")}`),
  );
  const [last, confidence] = known[known.length - 1];
  const words = `Confidence is ${percent(confidence)} after ${plural(last, "judged document")}`;
  return make(
    "svg", { viewBox: "0 0 500 220", class: "curve", role: "img", "aria-label": words },
    ...[low, sure, 1].map(across),
    ...[low, sure, 1].map(label),
    ...runs.filter((run) => run.joined && run.joined <= most).map(arrival),
    make("polyline", { points: known.map(([judged, value]) => `${x(judged)},${y(value)}`).join(" ") }),
    make("text", { x: 40, y: 212 }, "0"),
    make("text", { x: 490, y: 212, class: "left" }, `${most} judged`),
  );
}

// ---- pairs of runs

const REVERSED = { better: "worse", worse: "better" };

// The test's conclusion for each pair, under both orders of its names.
function conclusions(state) {
  const held = state.prospects?.held ?? [];
  return new Map(held.flatMap(([one, other, said, holds]) => [
    [`${one}\n${other}`, [said, holds]],
    [`${other}\n${one}`, [REVERSED[said] ?? said, holds]],
  ]));
}

function chances(state) {
  const names = state.runs.map((run) => run.name);
  if (state.not_stated) return faint(unstated(state));
  if (names.length > MOST_PAIRED) {
    return faint(`${names.length} runs are too many for a table of pairs. See the ranking above.`);
  }
  const concluded = conclusions(state);
  const title = (one, other) => {
    const [said, holds] = concluded.get(`${one}\n${other}`) ?? [];
    if (!said) return {};
    return { title: `Test so far: ${one} against ${other}: ${said}; holds: ${holds}` };
  };
  const pair = (value, one, other) => {
    if (value === null) return make("td", { class: "self" });
    const shade = Math.min(5, Math.max(0, Math.floor((value - 0.5) * 10)));
    const kind = `sure s${shade}${value >= state.sure ? " settled" : ""}`;
    return make("td", { class: kind, ...title(one, other) }, chance(value).replace("%", ""));
  };
  const heads = names.map((name, place) => head(String(place + 1), { title: name, "aria-label": name }));
  const lines = names.map((name, place) => row(
    make("th", { scope: "row" }, `${place + 1} `, make("bdi", {}, name)),
    ...state.chances[place].map((value, other) => pair(value, name, names[other])),
  ));
  return make(
    "table", { class: "matrix" },
    make("thead", {}, row(make("td"), ...heads)),
    make("tbody", {}, ...lines),
  );
}

// The ranking is by expected value; a run can lead by that and still lose in most draws.
function below(values) {
  if (!values.some((value) => isKnown(value) && value < 0.5)) return "";
  return "Below 50%: the run leads by expected value but loses in most draws, so the two are tied so far.";
}

const framed = (state, goal) => state.not_stated ? "" : "Percentage of draws in which the run with the higher expected value wins;"
  + ` ties count half. Framed: ${goal} or more. ${below(state.chances.flat())}`;

// The tooltips of the table of pairs as a table, for people who cannot hover.
function tested(state) {
  const concluded = conclusions(state);
  const names = state.runs.map((run) => run.name); // the better one first
  const pairs = names.flatMap((one, place) => names.slice(place + 1).map((other) => [one, other]));
  const rows = pairs.flatMap(([one, other]) => {
    const [said, holds] = concluded.get(`${one}\n${other}`) ?? [];
    return said ? [[one, other, said, number(holds)]] : [];
  });
  find("#tested").hidden = !rows.length;
  find("#tested .wide").replaceChildren(
    table(["Run", "Against", "Test so far", "Holds"], rows),
  );
}

// ---- how much is judged, and what that means

function coverage(state) {
  const later = state.runs.some((run) => run.joined);
  const added = (run) => (later ? [number(run.joined ? `after ${run.joined} judged` : "at the start")] : []);
  const depths = state.depths.map((depth) => `Top ${depth}`);
  const rows = state.runs.map((run) => [
    run.name, ...added(run), ...run.coverage.map((value) => number(percent(value))), run.ungraded,
  ]);
  return table(["Run", ...(later ? ["Added"] : []), ...depths, "Unjudged"], rows);
}

// A paragraph on each run that was added after judging began.
function late(state) {
  const depth = Math.max(state.depths.indexOf(10), 0);
  const first = state.runs.filter((run) => !run.joined && run.coverage[depth] !== null);
  const sum = first.reduce((total, run) => total + run.coverage[depth], 0);
  const mean = percent(sum / first.length);
  const compared = first.length ? `, against ${mean} for the runs that were there at the start` : "";
  const words = (run, place) => {
    const others = state.chances[place].filter((value) => value !== null);
    const open = others.filter((value) => value < state.sure).length;
    const sure = open
      ? `Its order against ${open} of the ${plural(others.length, "other run")} is still undecided.`
      : "Its order against every other run is decided.";
    return [
      ` was added after ${plural(run.joined, "judged document")}. `,
      `It ranks ${place + 1} of ${state.runs.length} with an expected value of ${shown(run.value)}. `,
      state.not_stated ? "" : `${sure} `,
      `${percent(run.coverage[depth], "None")} of its top ${state.depths[depth]} is judged${compared}; `,
      `${run.ungraded.toLocaleString("en")} of all documents that it retrieved ${run.ungraded === 1 ? "is" : "are"} unjudged.`,
    ];
  };
  return state.runs.flatMap((run, place) => {
    if (!run.joined) return [];
    const name = make("strong", {}, make("bdi", {}, run.name));
    return [make("p", { class: "advice" }, name, ...words(run, place))];
  });
}

function forecast(state) {
  const forecast = state.prospects?.forecast;
  if (!state.runs.length || (state.pairs && !state.open_pairs)) return "";
  if (state.nothing_left) return state.nothing_left;
  if (state.not_stated) return "";
  if (!forecast || forecast.reason) {
    return state.prospects ? "Computing the forecast …" : "";
  }
  const still = forecast.so_far ? ", more simulations running" : "";
  return `Forecast (as of ${plural(state.prospects.judged, "judged document")}${still}): ${forecast.note}`;
}

function matrix(state) {
  const found = state.prospects?.matrix;
  if (!found) return [faint("Computing the decision matrix …")];
  if (found.reason) return [faint(`${found.reason.replace(/\.$/, "")}. State after ${state.prospects.judged} judged documents.`)];
  const all = found.cases.reduce((sum, [, pairs]) => sum + pairs, 0) + found.untested;
  const pairsOf = (place) => {
    const [, pairs, meaning] = found.cases[place - 1];
    const strength = place % 2 ? ", strong" : ", weak";
    const name = make("span", { class: "faint" }, `case ${place}${found.early ? "" : strength}`);
    return make("td", { title: meaning }, make("strong", {}, String(pairs)), make("br"), name);
  };
  const line = (words, ...places) => row(make("th", { scope: "row" }, words), ...places.map(pairsOf));
  const unseen = found.unseen ? `, ${found.unseen} of them because a run has no judged documents` : "";
  const untested = found.untested ? ` ${plural(found.untested, "pair")} could not be tested${unseen}.` : "";
  const size = `${plural(all, "pair")} of runs over ${plural(found.topics, "topic")} with judgments`;
  return [
    ...(found.early ? [make("p", { class: "advice" }, found.early)] : []),
    faint(`${size}, as of ${state.prospects.judged} judged`),
    make(
      "table", { class: "cases", "aria-label": "Decision matrix" },
      make("thead", {}, row(make("td"), head("Evenly judged"), head("Unevenly judged"))),
      make(
        "tbody", {},
        line("No significant difference", 1, 2),
        line("Significant difference", 3, 4),
      ),
    ),
    faint(
      `Performance: ${found.method}. Assessment: judged share of the top ${found.depth}.`
      + " Case 4: the better run was also judged more completely. Unjudged documents count as not relevant"
      + ` here, but not in the ranking above.${untested}`,
    ),
  ];
}

const unstated = (state) => `No confidence is stated: ${state.not_stated}.`;

function verdict(state, goal) {
  if (state.reason) return state.reason;
  if (!state.pairs) return "There is only one run. Add another on the page Project to compare them.";
  if (state.not_stated) return unstated(state);
  if (!state.open_pairs) return `Judging can stop: the order of every pair of runs is at least ${goal} certain.`;
  if (state.ranking < state.sure) return `Keep judging: confidence in the ranking is below ${goal}.`;
  return `The ranking is at least ${goal} certain on average; ${are(state.open_pairs, "pair")} still undecided.`;
}

// ---- people and topics

function assessors(state) {
  const names = ["Assessor", "Judged", "Relevant", "Cannot judge", "Changed", "Last hour", "Per working hour"];
  return table(names, state.assessors.map((one) => [
    one.name, one.judged, one.relevant, one.cannot, one.changed, one.last_hour,
    number(shown(one.per_active_hour, 0)),
  ]));
}

function elsewhere(state) {
  const some = state.assessors.filter((one) => one.elsewhere);
  const words = some.map((one) => `${one.name} ${one.elsewhere.toLocaleString("en")}`).join(", ");
  return words && `Judgments for other topics, not counted: ${words}.`;
}

function agreement(state) {
  if (!state.agreement.length) return [];
  const rows = state.agreement.map((one) => [
    `${one.first} and ${one.second}`, one.common, number(percent(one.observed)), number(shown(one.kappa, 2)),
  ]);
  const { fewest } = find("#agreement").dataset;
  const isFew = state.agreement.some((one) => one.common < Number(fewest));
  return [
    make("h3", {}, "Agreement"),
    table(["Assessors", "Judged by both", "Same grade", "Cohen's kappa"], rows),
    ...(isFew ? [faint(`Kappa appears once a pair has ${fewest} documents in common.`)] : []),
  ];
}

function topics(state) {
  const some = [["unsettled", "Unsettled"], ["again", "To judge again"]].filter(([count]) => state[count]);
  document.getElementById("again-legend").hidden = !state.again;
  const rows = state.topics.map((one) => [
    one.id, one.title, one.judged, one.relevant, one.left, ...some.map(([count]) => one[count]),
  ]);
  return table(["Topic", "Title", "Judged", "Relevant", "Left", ...some.map(([, name]) => name)], rows);
}

function unused(state) {
  if (!state.unused.length) return "";
  const names = state.unused.map((one) => one.id).join(", ");
  return `Not counted, because they are candidate, dropped or in no run: ${names}.`;
}

// ---- the whole page

function unclear({ cannot, unsettled }) {
  const none = cannot ? `, ${cannot.toLocaleString("en")} of them impossible to judge` : "";
  if (!unsettled) return none;
  return `${none}; ${plural(unsettled, "other")} to be settled`;
}

function model({ fitted, fittable }) {
  if (!fitted) return "the relevance model is not fitted yet";
  return `relevance model fitted to ${fitted.toLocaleString("en")} of ${plural(fittable, "judgment")}`;
}

function draw(state) {
  const goal = `${Number((100 * state.sure).toPrecision(6))}%`;
  const alone = "Nothing is judged yet: the ranking only reflects how far the runs agree. ";
  const words = {
    judged: state.judged.toLocaleString("en"),
    unclear: unclear(state),
    relevant: state.relevant.toLocaleString("en"),
    ranking: chance(state.ranking),
    open: state.pairs && !state.not_stated ? `${state.open_pairs} of ${state.pairs}` : "–",
    measure: state.measure,
    updated: `Updated ${new Date().toLocaleTimeString("en-GB")}; ${model(state)}.`,
    verdict: (state.runs.length && !state.judged ? alone : "") + verdict(state, goal),
    staffing: state.staffing,
    forecast: forecast(state),
    framed: framed(state, goal),
    below: below(state.runs.map((run) => run.above_next)),
    unused: unused(state),
    elsewhere: elsewhere(state),
  };
  const parts = {
    runs: [ranking(state)],
    coverage: [coverage(state)],
    matrix: matrix(state),
    late: late(state),
    curve: [curve(state)],
    chances: [chances(state)],
    assessors: [assessors(state)],
    agreement: agreement(state),
    "per-topic": [topics(state)],
  };
  for (const [id, text] of Object.entries(words)) put(find(`#${id}`), text);
  for (const [id, elements] of Object.entries(parts)) find(`#${id}`).replaceChildren(...elements);
  tested(state);
}

const stream = new EventSource("/api/live/stream");
stream.addEventListener("message", (event) => {
  notice("");
  draw(JSON.parse(event.data));
});
stream.addEventListener("error", () => {
  const closed = stream.readyState === EventSource.CLOSED;
  notice(closed ? "This page no longer updates. Reload it." : "Connection lost. Reconnecting …");
});
