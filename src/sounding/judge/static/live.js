// The organizers' live page: redrawn whenever the server sends a new state.

import { find, make, notice, put } from "./page.js";
import { clockTime, decimals, elements, gettext, ngettext, number as shownNumber, percents, roundedPercent } from "./words.js";

// ---- numbers and tables

const MOST_PAIRED = 40; // with more runs, the table of pairs is left out
const isKnown = (value) => value !== null && value !== undefined;
const shown = (value, digits = 3) => (isKnown(value) ? decimals(value, digits) : "–");
// 100% only for all and 0% only for none, however close the share is.
function percent(value, none = "–") {
  if (!isKnown(value)) return none;
  if (value === 0 || value === 1) return percents(value, 0);
  if (value >= 0.9995) return `>${percents(0.999, 1)}`;
  return value < 0.0005 ? `<${percents(0.001, 1)}` : percents(value, 1);
}
// A chance estimated from draws is never exactly 0% or 100%, even if all draws agree.
const chance = (value) => percent(isKnown(value) ? Math.min(Math.max(value, 1e-9), 1 - 1e-9) : value);
const number = (text) => make("span", {}, text); // a cell aligned like a number
const faint = (text) => make("p", { class: "faint" }, text);
const row = (...cells) => make("tr", {}, ...cells);
const head = (text, attributes = {}) => make("th", { scope: "col", ...attributes }, text);

function cell(value) {
  if (typeof value === "string") return make("td", {}, make("bdi", {}, value));
  return make("td", { class: "number" }, typeof value === "number" ? shownNumber(value) : value);
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
  return table([gettext("Rank"), gettext("Run"), gettext("Value"), gettext("Beats the next")], rows);
}

function curve({ curve: points, sure, runs, judged: all, not_stated: reason }) {
  const known = points.filter(([, value]) => value !== null);
  if (reason && !known.length) return faint(gettext("The curve starts once there is enough evidence to state confidence."));
  if (known.length < 2) {
    return faint(all < 2 ? gettext("The curve starts after two judgments.") : gettext("Computing the curve …"));
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
    return make("text", { x: 36, y: under, class: "left" }, percents(value, 0));
  };
  const arrival = (run) => make(
    "line", { x1: x(run.joined), x2: x(run.joined), y1: 10, y2: 190, class: "late" },
    make("title", {}, ngettext(
      "{run} added after {n} judged document", "{run} added after {n} judged documents", run.joined, { run: run.name },
    )),
  );
  const [last, confidence] = known[known.length - 1];
  const words = ngettext(
    "Confidence is {share} after {n} judged document", "Confidence is {share} after {n} judged documents", last,
    { share: percent(confidence) },
  );
  return make(
    "svg", { viewBox: "0 0 500 220", class: "curve", role: "img", "aria-label": words },
    ...[low, sure, 1].map(across),
    ...[low, sure, 1].map(label),
    ...runs.filter((run) => run.joined && run.joined <= most).map(arrival),
    make("polyline", { points: known.map(([judged, value]) => `${x(judged)},${y(value)}`).join(" ") }),
    make("text", { x: 40, y: 212 }, "0"),
    make("text", { x: 490, y: 212, class: "left" }, ngettext("{n} judged", "{n} judged", most)),
  );
}

// ---- pairs of runs

// What a test concludes about a run, in the language of the page.
function concluding(said) {
  if (said === "better") return gettext("better");
  return said === "worse" ? gettext("worse") : gettext("not distinguished");
}

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
    return faint(gettext("{number} runs are too many for a table of pairs. See the ranking above.", { number: names.length }));
  }
  const concluded = conclusions(state);
  const title = (one, other) => {
    const [said, holds] = concluded.get(`${one}\n${other}`) ?? [];
    if (!said) return {};
    return { title: gettext("Test so far: {one} against {other}: {said}; holds: {holds}", { one, other, said: concluding(said), holds }) };
  };
  const pair = (value, one, other) => {
    if (value === null) return make("td", { class: "self" });
    const shade = Math.min(5, Math.max(0, Math.floor((value - 0.5) * 10)));
    const kind = `sure s${shade}${value >= state.sure ? " settled" : ""}`;
    return make("td", { class: kind, ...title(one, other) }, chance(value).replace(/\s?%/u, ""));
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
  return gettext("Below 50%: the run leads by expected value but loses in most draws, so the two are tied so far.");
}

const framed = (state, goal) => state.not_stated ? "" : `${gettext(
  "Percentage of draws in which the run with the higher expected value wins; ties count half. Framed: {goal} or more.",
  { goal },
)} ${below(state.chances.flat())}`;

// The tooltips of the table of pairs as a table, for people who cannot hover.
function tested(state) {
  const concluded = conclusions(state);
  const names = state.runs.map((run) => run.name); // the better one first
  const pairs = names.flatMap((one, place) => names.slice(place + 1).map((other) => [one, other]));
  const rows = pairs.flatMap(([one, other]) => {
    const [said, holds] = concluded.get(`${one}\n${other}`) ?? [];
    return said ? [[one, other, concluding(said), number(holds)]] : [];
  });
  find("#tested").hidden = !rows.length;
  find("#tested .wide").replaceChildren(
    table([gettext("Run"), gettext("Against"), gettext("Test so far"), gettext("Holds")], rows),
  );
}

// ---- how much is judged, and what that means

function coverage(state) {
  const later = state.runs.some((run) => run.joined);
  const added = (run) => (later ? [number(run.joined ? gettext("after {number} judged", { number: run.joined }) : gettext("at the start"))] : []);
  const depths = state.depths.map((depth) => gettext("Top {depth}", { depth }));
  const rows = state.runs.map((run) => [
    run.name, ...added(run), ...run.coverage.map((value) => number(percent(value))), run.ungraded,
  ]);
  return table([gettext("Run"), ...(later ? [gettext("Added")] : []), ...depths, gettext("Unjudged")], rows);
}

// A paragraph on each run that was added after judging began.
function late(state) {
  const depth = Math.max(state.depths.indexOf(10), 0);
  const first = state.runs.filter((run) => !run.joined && run.coverage[depth] !== null);
  const sum = first.reduce((total, run) => total + run.coverage[depth], 0);
  const words = (run, place) => {
    const others = state.chances[place].filter((value) => value !== null);
    const open = others.filter((value) => value < state.sure).length;
    const sure = open
      ? ngettext(
        "Its order against {open} of the {n} other run is still undecided.",
        "Its order against {open} of the {n} other runs is still undecided.",
        others.length, { open },
      )
      : gettext("Its order against every other run is decided.");
    const known = percent(run.coverage[depth], gettext("None"));
    const judged = { share: known, depth: state.depths[depth], mean: percent(sum / first.length) };
    return [
      gettext("It ranks {place} of {all} with an expected value of {value}.", {
        place: place + 1, all: state.runs.length, value: shown(run.value),
      }),
      state.not_stated ? "" : sure,
      first.length
        ? gettext("{share} of its top {depth} is judged, against {mean} for the runs that were there at the start.", judged)
        : gettext("{share} of its top {depth} is judged.", judged),
      ngettext(
        "{n} of all documents that it retrieved is unjudged.",
        "{n} of all documents that it retrieved are unjudged.",
        run.ungraded,
      ),
    ].filter(Boolean).join(" ");
  };
  const added = (run) => elements("{run} was added after {judged}.", {
    run: make("strong", {}, make("bdi", {}, run.name)),
    judged: ngettext("{n} judged document", "{n} judged documents", run.joined),
  });
  return state.runs.flatMap((run, place) => {
    if (!run.joined) return [];
    return [make("p", { class: "advice" }, ...added(run), " ", words(run, place))];
  });
}

function forecast(state) {
  const forecast = state.prospects?.forecast;
  if (!state.runs.length || (state.pairs && !state.open_pairs)) return "";
  if (state.nothing_left) return state.nothing_left;
  if (state.not_stated) return "";
  if (!forecast || forecast.reason) {
    return state.prospects ? gettext("Computing the forecast …") : "";
  }
  const { judged } = state.prospects;
  const { note } = forecast;
  return forecast.so_far
    ? ngettext(
      "Forecast (as of {n} judged document, more simulations running): {note}",
      "Forecast (as of {n} judged documents, more simulations running): {note}",
      judged, { note },
    )
    : ngettext("Forecast (as of {n} judged document): {note}", "Forecast (as of {n} judged documents): {note}", judged, { note });
}

const asOf = (state) => ngettext(
  "State after {n} judged document.", "State after {n} judged documents.", state.prospects.judged,
);

function matrix(state) {
  const found = state.prospects?.matrix;
  if (!found) return [faint(gettext("Computing the decision matrix …"))];
  if (found.reason) return [faint(`${found.reason.replace(/\.$/, "")}. ${asOf(state)}`)];
  const all = found.cases.reduce((sum, [, pairs]) => sum + pairs, 0) + found.untested;
  const pairsOf = (place) => {
    const [, pairs, meaning] = found.cases[place - 1];
    const strength = place % 2 ? gettext("case {place}, strong", { place }) : gettext("case {place}, weak", { place });
    const name = make("span", { class: "faint" }, found.early ? gettext("case {place}", { place }) : strength);
    return make("td", { title: meaning }, make("strong", {}, String(pairs)), make("br"), name);
  };
  const line = (words, ...places) => row(make("th", { scope: "row" }, words), ...places.map(pairsOf));
  const untested = found.untested
    ? ngettext("{n} pair could not be tested.", "{n} pairs could not be tested.", found.untested)
    : "";
  const unseen = found.unseen
    ? ngettext("{n} of them because a run has no judged documents.", "{n} of them because a run has no judged documents.", found.unseen)
    : "";
  const size = gettext("Pairs of runs: {pairs}. Topics with judgments: {topics}.", { pairs: all, topics: found.topics });
  return [
    ...(found.early ? [make("p", { class: "advice" }, found.early)] : []),
    faint(`${size} ${asOf(state)}`),
    make(
      "table", { class: "cases", "aria-label": gettext("Decision matrix") },
      make("thead", {}, row(make("td"), head(gettext("Evenly judged")), head(gettext("Unevenly judged")))),
      make(
        "tbody", {},
        line(gettext("No significant difference"), 1, 2),
        line(gettext("Significant difference"), 3, 4),
      ),
    ),
    faint([
      gettext("Performance: {method}. Assessment: judged share of the top {depth}.", found),
      gettext("Case 4: the better run was also judged more completely."),
      gettext("Unjudged documents count as not relevant here, but not in the ranking above."),
      untested, unseen,
    ].filter(Boolean).join(" ")),
  ];
}

const unstated = (state) => gettext("No confidence is stated: {reason}.", { reason: state.not_stated });

function verdict(state, goal) {
  if (state.reason) return state.reason;
  if (!state.pairs) return gettext("There is only one run. Add another on the page Project to compare them.");
  if (state.not_stated) return unstated(state);
  if (!state.open_pairs) return gettext("Judging can stop: the order of every pair of runs is at least {goal} certain.", { goal });
  if (state.ranking < state.sure) return gettext("Keep judging: confidence in the ranking is below {goal}.", { goal });
  return ngettext(
    "The ranking is at least {goal} certain on average; {n} pair is still undecided.",
    "The ranking is at least {goal} certain on average; {n} pairs are still undecided.",
    state.open_pairs, { goal },
  );
}

// ---- people and topics

function assessors(state) {
  const names = [
    gettext("Assessor"), gettext("Judged"), gettext("Relevant"), gettext("Cannot judge"), gettext("Changed"),
    gettext("Last hour"), gettext("Per working hour"),
  ];
  return table(names, state.assessors.map((one) => [
    one.name, one.judged, one.relevant, one.cannot, one.changed, one.last_hour,
    number(shown(one.per_active_hour, 0)),
  ]));
}

function elsewhere(state) {
  const some = state.assessors.filter((one) => one.elsewhere);
  const words = some.map((one) => `${one.name} ${shownNumber(one.elsewhere)}`).join(", ");
  return words && gettext("Judgments for other topics, not counted: {words}.", { words });
}

function agreement(state) {
  if (!state.agreement.length) return [];
  const rows = state.agreement.map((one) => [
    gettext("{one} and {other}", { one: one.first, other: one.second }), one.common, number(percent(one.observed)), number(shown(one.kappa, 2)),
  ]);
  const { fewest } = find("#agreement").dataset;
  const isFew = state.agreement.some((one) => one.common < Number(fewest));
  return [
    make("h3", {}, gettext("Agreement")),
    table([gettext("Assessors"), gettext("Judged by both"), gettext("Same grade"), gettext("Cohen's kappa")], rows),
    ...(isFew ? [faint(gettext("Kappa appears once a pair has {fewest} documents in common.", { fewest }))] : []),
  ];
}

function topics(state) {
  const some = [["unsettled", gettext("Unsettled")], ["again", gettext("To judge again")]].filter(([count]) => state[count]);
  document.getElementById("again-legend").hidden = !state.again;
  const rows = state.topics.map((one) => [
    one.id, one.title, one.judged, one.relevant, one.left, ...some.map(([count]) => one[count]),
  ]);
  return table([
    gettext("Topic"), gettext("Title"), gettext("Judged"), gettext("Relevant"), gettext("Left"),
    ...some.map(([, name]) => name),
  ], rows);
}

function unused(state) {
  if (!state.unused.length) return "";
  const names = state.unused.map((one) => one.id).join(", ");
  return gettext("Not counted, because they are candidate, dropped or in no run: {topics}.", { topics: names });
}

// ---- the whole page

function unclear({ cannot, unsettled }) {
  const none = cannot
    ? `, ${ngettext("{n} of them impossible to judge", "{n} of them impossible to judge", cannot)}`
    : "";
  if (!unsettled) return none;
  return `${none}; ${ngettext("{n} other to be settled", "{n} others to be settled", unsettled)}`;
}

function model({ fitted, fittable }) {
  if (find("#live.pairs")) return gettext("preferences fit no relevance model");
  if (!fitted) return gettext("the relevance model is not fitted yet");
  return ngettext(
    "relevance model fitted to {fitted} of {n} judgment",
    "relevance model fitted to {fitted} of {n} judgments",
    fittable, { fitted },
  );
}

function draw(state) {
  const goal = roundedPercent(state.sure);
  const alone = `${gettext("Nothing is judged yet: the ranking only reflects how far the runs agree.")} `;
  const words = {
    judged: shownNumber(state.judged),
    unclear: unclear(state),
    relevant: shownNumber(state.relevant),
    ranking: chance(state.ranking),
    open: state.pairs && !state.not_stated ? gettext("{open} of {all}", { open: state.open_pairs, all: state.pairs }) : "–",
    measure: state.measure,
    updated: gettext("Updated {time}; {model}.", { time: clockTime(new Date()), model: model(state) }),
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
  notice(closed ? gettext("This page no longer updates. Reload it.") : gettext("Connection lost. Reconnecting …"));
});
