// The organizers' live page: drawn anew whenever the server says that something has changed.

import { are, find, make, notice, plural, put } from "./page.js";

// ---- numbers and tables

const MOST_PAIRED = 40; // runs of which every pair is shown
const isKnown = (value) => value !== null && value !== undefined;
const shown = (value, digits = 3) => (isKnown(value) ? value.toFixed(digits) : "–");
// Only all of something is 100%, and only nothing 0%, however near another share comes.
function percent(value, none = "–") {
  if (!isKnown(value)) return none;
  if (value === 0 || value === 1) return `${100 * value}%`;
  if (value >= 0.9995) return ">99.9%";
  return value < 0.0005 ? "<0.1%" : `${(100 * value).toFixed(1)}%`;
}
// Draws make nothing certain: those of a chance may all say the same.
const chance = (value) => percent(isKnown(value) ? Math.min(Math.max(value, 1e-9), 1 - 1e-9) : value);
const number = (text) => make("span", {}, text); // a cell that is set like a number
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
  return table(["Place", "Run", "Value", "Above the next"], rows);
}

function curve({ curve: points, sure, runs, judged: all, not_stated: reason }) {
  const known = points.filter(([, value]) => value !== null);
  if (reason && !known.length) return faint("The curve begins when confidence can be stated.");
  if (known.length < 2) {
    return faint(all < 2 ? "Two judgments make a curve." : "The curve so far is being worked out …");
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
    make("title", {}, `${run.name} came after ${run.joined} judged`),
  );
  const [last, confidence] = known[known.length - 1];
  const words = `After ${plural(last, "document")} the confidence is ${percent(confidence)}`;
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

const TURNED = { better: "worse", worse: "better" };

// What a test concludes of each pair, by both orders of its names.
function conclusions(state) {
  const held = state.prospects?.held ?? [];
  return new Map(held.flatMap(([one, other, said, holds]) => [
    [`${one}\n${other}`, [said, holds]],
    [`${other}\n${one}`, [TURNED[said] ?? said, holds]],
  ]));
}

function chances(state) {
  const names = state.runs.map((run) => run.name);
  if (state.not_stated) return faint(unstated(state));
  if (names.length > MOST_PAIRED) {
    return faint(`${names.length} runs are too many for a table of pairs; see the ranking and the exports.`);
  }
  const concluded = conclusions(state);
  const title = (one, other) => {
    const [said, holds] = concluded.get(`${one}\n${other}`) ?? [];
    if (!said) return {};
    return { title: `${one} against ${other}, by a test of what is judged: ${said}; holds: ${holds}` };
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

// The better run is the one with the higher expected value, as in the ranking; most draws may say otherwise.
function below(values) {
  if (!values.some((value) => isKnown(value) && value < 0.5)) return "";
  return "Below 50%: by expected value the run is ahead, yet in more than half of the draws it is behind;"
    + " the two cannot be told apart yet.";
}

const framed = (state, goal) => state.not_stated ? "" : "Per cent of the draws in which the run with the higher expected value is above;"
  + ` ties count half. Framed: ${goal} or more. ${below(state.chances.flat())}`;

// What stands behind the cells of the table of pairs, for those who cannot point at them.
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
    table(["Run", "Against", "By a test of what is judged", "Holds"], rows),
  );
}

// ---- how much is judged, and what that means

function coverage(state) {
  const later = state.runs.some((run) => run.joined);
  const came = (run) => (later ? [number(run.joined ? `after ${run.joined} judged` : "at first")] : []);
  const depths = state.depths.map((depth) => `First ${depth}`);
  const rows = state.runs.map((run) => [
    run.name, ...came(run), ...run.coverage.map((value) => number(percent(value))), run.ungraded,
  ]);
  return table(["Run", ...(later ? ["Came"] : []), ...depths, "Not judged"], rows);
}

// What is known of runs that came when others had been judged for.
function late(state) {
  const depth = Math.max(state.depths.indexOf(10), 0);
  const first = state.runs.filter((run) => !run.joined && run.coverage[depth] !== null);
  const sum = first.reduce((total, run) => total + run.coverage[depth], 0);
  const mean = percent(sum / first.length);
  const compared = first.length ? ` (of those of the runs that were there at first, ${mean})` : "";
  const words = (run, place) => {
    const others = state.chances[place].filter((value) => value !== null);
    const open = others.filter((value) => value < state.sure).length;
    const sure = open
      ? `Against ${open} of the ${plural(others.length, "other run")} that is not sure yet.`
      : "That is sure against every other run.";
    return [
      ` came after ${plural(run.joined, "judged document")}. Of its first `,
      `${plural(state.depths[depth], "document")} ${percent(run.coverage[depth], "none")} are judged`,
      `${compared}, and ${run.ungraded} of all that it retrieved `,
      `${run.ungraded === 1 ? "is" : "are"} not. Its expected value is ${shown(run.value)}: `,
      `place ${place + 1} of ${state.runs.length}. `,
      state.not_stated ? "" : sure,
    ];
  };
  return state.runs.flatMap((run, place) => {
    if (!run.joined) return [];
    const name = make("strong", {}, make("bdi", {}, run.name));
    return [make("p", { class: "advice" }, name, ...words(run, place))];
  });
}

function forecast(state) {
  const found = state.prospects?.forecast;
  if (!state.runs.length || (state.pairs && !state.open_pairs)) return "";
  if (state.nothing_left) return state.nothing_left;
  if (state.not_stated) return "";
  if (!found || found.reason) {
    return state.prospects ? "What it would take is being worked out …" : "";
  }
  const still = found.so_far ? ", so far (still trying …)" : "";
  return `What it would take, as of ${state.prospects.judged} judged${still}: ${found.note}`;
}

function matrix(state) {
  const found = state.prospects?.matrix;
  if (!found) return [faint("Being worked out …")];
  if (found.reason) return [faint(`${found.reason} (As of ${state.prospects.judged} judged.)`)];
  const all = found.cases.reduce((sum, [, pairs]) => sum + pairs, 0) + found.untested;
  const pairsOf = (place) => {
    const [, pairs, meaning] = found.cases[place - 1];
    const strength = place % 2 ? ", strong" : ", weak";
    const name = make("span", { class: "faint" }, `case ${place}${found.early ? "" : strength}`);
    return make("td", { title: meaning }, make("strong", {}, String(pairs)), make("br"), name);
  };
  const line = (words, ...places) => row(make("th", { scope: "row" }, words), ...places.map(pairsOf));
  const unseen = found.unseen ? `, ${found.unseen} of them since nothing of a run is judged` : "";
  const untested = found.untested ? ` ${plural(found.untested, "pair")} could not be tested${unseen}.` : "";
  const size = `${plural(all, "pair")} of runs by ${plural(found.topics, "topic")} in use with judgments`;
  return [
    ...(found.early ? [make("p", { class: "advice" }, found.early)] : []),
    faint(`${size}, as of ${state.prospects.judged} judged`),
    make(
      "table", { class: "cases", "aria-label": "Decision matrix" },
      make("thead", {}, row(make("td"), head("Assessed alike"), head("Assessed unlike"))),
      make(
        "tbody", {},
        line("No significant difference", 1, 2),
        line("Significant difference", 3, 4),
      ),
    ),
    faint(
      `Performance: ${found.method}. Assessment: judged among the first ${found.depth}.`
      + " Case 4: the better run is also more assessed. What is not judged counts as not relevant here;"
      + ` the ranking above does not do so.${untested}`,
    ),
  ];
}

const unstated = (state) => `No confidence is stated: ${state.not_stated}.`;

function verdict(state, goal) {
  if (state.reason) return state.reason;
  if (!state.pairs) return "One run makes no order: add another on the page Project.";
  if (state.not_stated) return unstated(state);
  if (!state.open_pairs) return `Every pair of runs is settled at ${goal}: judging can stop.`;
  if (state.ranking < state.sure) return `Not sure enough yet: the ranking as a whole should reach ${goal}.`;
  const themselves = state.open_pairs === 1 ? "itself" : "themselves";
  const open = `${are(state.open_pairs, "pair")} less sure by ${themselves}`;
  return `The ranking as a whole is as sure as ${goal}; ${open}.`;
}

// ---- people and topics

function assessors(state) {
  const names = ["Assessor", "Judged", "Relevant", "Cannot", "Changed", "Last hour", "Per hour of work"];
  return table(names, state.assessors.map((one) => [
    one.name, one.judged, one.relevant, one.cannot, one.changed, one.last_hour,
    number(shown(one.per_active_hour, 0)),
  ]));
}

function elsewhere(state) {
  const some = state.assessors.filter((one) => one.elsewhere);
  const words = some.map((one) => `${one.name} ${one.elsewhere.toLocaleString("en")}`).join(", ");
  return words && `Not counted, since their topics are not: ${words}.`;
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
    table(["Assessors", "Both", "Same grade", "Kappa of grades"], rows),
    ...(isFew ? [faint(`Kappa is not shown where both judged fewer than ${fewest} documents.`)] : []),
  ];
}

function topics(state) {
  const some = [["unsettled", "Unsettled"], ["again", "To judge again"]].filter(([count]) => state[count]);
  const rows = state.topics.map((one) => [
    one.id, one.title, one.judged, one.relevant, one.left, ...some.map(([count]) => one[count]),
  ]);
  return table(["Topic", "Title", "Judged", "Relevant", "Left", ...some.map(([, name]) => name)], rows);
}

function unused(state) {
  if (!state.unused.length) return "";
  const names = state.unused.map((one) => one.id).join(", ");
  return `Candidate, dropped or in no run, so that their judgments are not counted here: ${names}.`;
}

// ---- all of it

function unclear({ cannot, unsettled }) {
  const none = cannot ? `, ${cannot.toLocaleString("en")} of them nobody could judge` : "";
  if (!unsettled) return none;
  return `${none}, ${plural(unsettled, "other")} ${unsettled === 1 ? "waits" : "wait"} for adjudication`;
}

function model({ fitted, fittable }) {
  if (!fitted) return "the model is not fitted to judgments yet";
  return `model fitted at ${fitted.toLocaleString("en")} of ${plural(fittable, "judgment")}`;
}

function draw(state) {
  const goal = `${Number((100 * state.sure).toPrecision(6))}%`;
  const alone = "Nothing judged yet: this order is only what the runs agree on. ";
  const words = {
    judged: state.judged.toLocaleString("en"),
    unclear: unclear(state),
    relevant: state.relevant.toLocaleString("en"),
    ranking: chance(state.ranking),
    open: state.pairs && !state.not_stated ? `${state.open_pairs} of ${state.pairs}` : "–",
    measure: state.measure,
    updated: `As of ${new Date().toLocaleTimeString("en-GB")}; ${model(state)}.`,
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
  notice(closed ? "This page is no longer kept up to date; load it again." : "No connection; trying again.");
});
