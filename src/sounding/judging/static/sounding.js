"use strict";
// Everything that the pages do by themselves. No other script runs here: the content security policy says so.
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const every = (selector, root = document) => [...root.querySelectorAll(selector)];
  const account = document.body.dataset.account;
  let token = document.body.dataset.token;
  document.body.classList.add("js");

  const make = (name, attributes = {}, ...children) => {
    const drawn = ["svg", "line", "circle", "polyline", "text", "title"].includes(name);
    const element = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const put = (element, text) => { if (element.textContent !== String(text)) element.textContent = text; }; // what stays is not read out again
  const notice = (text) => {
    const box = find("#notice");
    box.hidden = !text;
    put(box, text);
  };
  const plural = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  const are = (number, what) => `${plural(number, what)} ${number === 1 ? "is" : "are"}`;
  // A page that is not served over HTTPS has no crypto.randomUUID.
  const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  // ---- talking to the server

  const refused = (status, message) => Object.assign(new Error(message), { status });

  async function request(path, options) {
    let answer;
    try {
      answer = await fetch(path, options);
    } catch {
      throw refused(0, "no connection");
    }
    if (answer.status === 204) return null;
    const content = await answer.json().catch(() => null);
    if (content === null) throw refused(answer.ok ? 0 : answer.status, "the answer cannot be read");
    if (!answer.ok) throw refused(answer.status, content.detail || answer.statusText);
    return content;
  }

  async function identity() {
    const known = await request("/api/token");
    token = known.token;
    return known;
  }

  async function post(path, content, again = true) {
    const options = { method: "POST", headers: { "Content-Type": "application/json", "X-Page-Token": token }, body: JSON.stringify(content) };
    try {
      return await request(path, options);
    } catch (problem) {
      if (problem.status !== 403 || !again) throw problem;
      const before = token; // another tab may have signed in anew, and this page has the old token
      const known = await identity();
      if (known.account !== account) throw refused(401, "not signed in");
      if (token === before) throw problem;
      return post(path, content, false);
    }
  }

  // ---- what has not been sent yet: one entry of the browser's storage for each, so that tabs cannot collide

  const PREFIX = `sounding:unsent:${account}:`;
  const memory = new Map(); // where the browser stores nothing
  let entries = 0;
  const storage = {
    keys: () => { try { return Object.keys(localStorage); } catch { return []; } },
    get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
    set: (key, text) => { try { localStorage.setItem(key, text); return true; } catch { return false; } },
    remove: (key) => { try { localStorage.removeItem(key); } catch { /* there is none */ } },
  };
  const unsent = () => [...storage.keys().filter((key) => key.startsWith(PREFIX)), ...memory.keys()].sort()
    .map((place) => ({ place, ...JSON.parse(memory.get(place) ?? storage.get(place)) }));
  const forget = (place) => { memory.delete(place); storage.remove(place); };
  const keep = (path, content) => {
    const place = `${PREFIX}${String(Date.now()).padStart(15, "0")}:${String(entries++).padStart(6, "0")}:${content.key}`;
    const text = JSON.stringify({ path, content });
    if (!storage.set(place, text)) memory.set(place, text);
  };

  let sending = null;
  let retry = 0;
  let wait = 1000;
  let onSent = () => {};
  let onRefused = () => {};
  let onSignedIn = () => {};
  let goesOn = () => true; // whether there is something to do without the server
  let wanted = () => ({ count: 0 });

  const send = () => {
    sending ??= drain().finally(() => { sending = null; });
    return sending;
  };

  async function drain() {
    clearTimeout(retry);
    for (let item = unsent()[0]; item; item = unsent()[0]) {
      try {
        const reply = await post(item.path, { ...item.content, ...wanted(item.content.topic) });
        forget(item.place);
        wait = 1000;
        notice("");
        onSent(item, reply);
      } catch (problem) {
        if (problem.status === 401) return signInAgain();
        if (problem.status === 0 || problem.status >= 500 || [408, 429].includes(problem.status)) return sendLater(problem);
        forget(item.place);
        storage.set(`sounding:refused:${account}:${item.content.key}`, JSON.stringify(item));
        notice(`The server refused a judgment of ${item.content.doc ?? "a document"}: ${problem.message}.`);
        onRefused(item);
      }
    }
    return undefined;
  }

  function sendLater(problem) {
    const count = unsent().length;
    const why = problem.status === 0 ? "No connection" : `The server cannot answer now (${problem.message})`;
    if (count) notice(`${why}. ${are(count, "judgment")} kept in this browser and sent later; ${goesOn() ? "you can go on" : "waiting for the connection"}.`);
    else notice(`${why}; waiting for the connection.`);
    retry = setTimeout(send, wait);
    wait = Math.min(wait * 2, 30000);
  }

  function signInAgain() {
    const dialog = find("#again");
    const count = unsent().length;
    find("#again-kept").textContent = count ? `${are(count, "judgment")} kept in this browser and will be sent.` : "";
    if (dialog.open) return;
    dialog.showModal();
    find("[name=password]", dialog).focus();
  }

  if (account) {
    const dialog = find("#again");
    find("form", dialog).addEventListener("submit", async (event) => {
      event.preventDefault();
      const form = event.target;
      const wrong = find(".wrong", form);
      try {
        await identity();
        await post("/api/sign-in", { name: form.elements.name.value, password: form.elements.password.value }, false);
        const known = await identity();
        form.elements.password.value = "";
        wrong.hidden = true;
        dialog.close();
        if (known.account !== account) return location.assign("/"); // what is unsent waits for its own user
        send().then(onSignedIn);
      } catch (problem) {
        wrong.textContent = `${problem.message}.`;
        wrong.hidden = false;
      }
      return undefined;
    });
    window.addEventListener("online", send);
    window.addEventListener("beforeunload", (event) => { if (memory.size) event.preventDefault(); });
    if (unsent().length) send();
  }

  // ---- tables that are wider than their box: it can be reached by keyboard, and says that there is more

  const sides = (box) => {
    const aside = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("more", aside);
    if (!aside && box.scrollHeight <= box.clientHeight + 1) {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      return;
    }
    const heading = find("summary", box.closest("details") ?? make("p")) ?? find("h1, h2", box.closest("section, main"));
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `${heading.textContent.trim()}: scroll for more`);
  };
  const wide = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.isConnected) sides(target.closest(".wide"));
      else wide.unobserve(target); // another table has taken its place
    }
  });
  const widen = (box) => { wide.observe(box); for (const child of box.children) wide.observe(child); sides(box); };
  for (const box of every(".wide")) {
    box.insertAdjacentElement("beforebegin", make("p", { class: "hint", "aria-hidden": "true" }, "More to the side: swipe or scroll →"));
    new MutationObserver(() => widen(box)).observe(box, { childList: true });
    widen(box);
  }

  // ---- forms

  for (const form of every("form[data-confirm]")) {
    form.addEventListener("submit", (event) => { if (!confirm(form.dataset.confirm)) event.preventDefault(); });
  }
  for (const field of every("[data-select]")) field.addEventListener("focus", () => field.select());
  for (const field of every("select[data-send]")) field.addEventListener("change", () => field.form.requestSubmit());
  for (const form of every("form[data-draft]")) { // text survives an ended sign-in or a closed tab
    const place = `sounding:draft:${account}:${form.dataset.draft}`;
    const fields = every("input:not([type=hidden]), textarea", form);
    const text = () => JSON.stringify(fields.map((field) => field.value));
    const saved = text();
    const said = new URLSearchParams(location.search).get("said");
    if (said) storage.remove(place);
    if (said === "begun") storage.remove(`sounding:draft:${account}:new`); // it has a page of its own now
    const draft = storage.get(place);
    if (draft !== null && draft !== saved) {
      JSON.parse(draft).forEach((value, number) => { if (fields[number]) fields[number].value = value; });
      form.prepend(make("p", { class: "said", role: "status" }, "Text that was not saved yet is here again."));
    }
    form.addEventListener("input", () => storage.set(place, text()));
  }

  // ---- judging

  const judging = find("#judge");
  if (judging) {
    const { topic, doc: only, query, status: chosen } = judging.dataset;
    const waits = chosen === "candidate";
    const status = find("#status");
    const comment = find("#comment");
    const texts = new Map(); // document -> what shows it
    const comments = new Map(); // document -> the comment of a judgment that is being taken back
    const passed = []; // documents that were judged or skipped here, the last one last
    let documents = []; // at hand: the one that is shown, then those that are loaded already
    let judged = Number(judging.dataset.judged);
    let time = { active: 0, away: 0 };
    let ticked = performance.now();
    let moved = performance.now();
    let renewed = performance.now();

    const remember = (list) => list.map((one) => {
      if (one.html !== null || one.missing) texts.set(one.doc, one);
      const known = one.html === null ? texts.get(one.doc) : one;
      return { ...known, ...one, heading: known?.heading ?? "", html: known?.html ?? null };
    });
    const say = (text) => { status.textContent = text; };
    const count = (by) => { judged += by; find("#count").textContent = judged; };
    const named = (one) => (one.heading && new DOMParser().parseFromString(one.heading, "text/html").body.textContent) || one.doc;
    const coming = (reply) => { if (find("#coming")) put(find("#coming"), reply.coming.words); };

    function show(focus = true) {
      const [present] = documents;
      const title = find("#doc .title");
      title.innerHTML = present?.heading ?? ""; // escaped by the server
      find("#doc bdi").hidden = title.textContent === present?.doc;
      find("#doc bdi").textContent = present ? present.doc : only ? "" : "Nothing left";
      if (!present) find("#text").replaceChildren(make("p", {}, waits ? "This topic is not chosen for judging yet: an organiser does that." : "No document of this topic is left for you."), make("p", {}, make("a", { href: "/" }, "To my topics")));
      else if (present.missing) find("#text").replaceChildren(make("p", { class: "wrong" }, "The collection does not have the text of this document: it cannot be judged."));
      else find("#text").innerHTML = present.html; // escaped or cleaned by the server
      for (const button of every(".grading button")) {
        const grade = button.dataset.grade;
        button.disabled = button.dataset.do !== "undo" && (!present || (present.missing && grade !== undefined));
        button.setAttribute("aria-pressed", String(Boolean(present?.judged && (grade === undefined ? button.dataset.do === "cannot" && present.grade === null : present.grade === Number(grade)))));
      }
      comment.value = present?.comment || comments.get(present?.doc) || "";
      find("details.comment").open = Boolean(comment.value);
      time = { active: 0, away: 0 };
      if (focus) { scrollTo(0, 0); find("#document").focus({ preventScroll: true }); }
    }

    const pending = () => new Set(unsent().filter((item) => item.content.topic === topic && item.path !== "/api/undo").map((item) => item.content.doc));
    function take(list, first) { // never swaps a document away that somebody reads
      const [present] = documents;
      const gone = pending();
      const fresh = remember(list).filter((one) => !gone.has(one.doc) && (one.html !== null || one.missing));
      const stays = present && !first ? [present] : [];
      documents = [...stays, ...fresh.filter((one) => !stays.some((other) => other.doc === one.doc))];
      for (const name of [...texts.keys()].slice(0, -30)) texts.delete(name);
      if (!stays.length) show(Boolean(present) || document.activeElement === document.body);
    }

    wanted = (asked) => (asked === topic && !only ? { count: 2, have: documents.map((one) => one.doc) } : { count: 0 });
    onSent = (item, reply) => {
      if (item.content.topic !== topic) return;
      coming(reply);
      if (item.path === "/api/undo") {
        say(reply.sequence ? `Taken back: ${named(reply.documents.find((one) => one.doc === reply.doc) ?? reply)}.` : "There is nothing to take back.");
        if (reply.sequence && !item.counted) count(-1);
      }
      if (!only) take(reply.documents, item.path === "/api/undo" && reply.sequence > 0);
      else if (item.path === "/api/undo") load();
    };
    onRefused = () => { if (!only) load(); };
    onSignedIn = () => { if (!documents.length) load(); };
    goesOn = () => documents.length > 0;

    async function load() {
      try {
        if (only) documents = remember([await request(`/api/document?${new URLSearchParams({ topic, doc: only, query })}`)]);
        else {
          const work = await request(`/api/next?${new URLSearchParams({ topic, count: 2 })}`);
          coming(work);
          return take(work.documents, true);
        }
        show();
      } catch (problem) {
        if (problem.status === 401) return signInAgain();
        notice(`${problem.status === 0 ? "No connection" : problem.message}.`);
        if (problem.status === 0 || problem.status >= 500) setTimeout(load, 3000);
      }
      return undefined;
    }

    function pass(path, content, words) {
      const [present] = documents;
      if (!present) return;
      tick();
      comments.delete(present.doc);
      const key = newKey();
      keep(path, { topic, doc: present.doc, key, ...content });
      say(`${words}: ${named(present)}.`);
      if (only) {
        if (!present.judged) count(1);
        documents = [{ ...present, judged: true, grade: content.grade, comment: content.comment }];
        show(false);
      } else {
        passed.push({ document: { ...present, comment: content.comment ?? "" }, key, counted: path === "/api/judge" });
        if (path === "/api/judge") count(1);
        documents = documents.slice(1);
        if (documents.length) show();
        else { find("#text").replaceChildren(make("p", { class: "faint" }, "Loading …")); for (const button of every(".grading button")) button.disabled = true; }
      }
      send();
    }
    const judge = (grade, label) => pass("/api/judge", {
      grade, comment: comment.value, active: Math.round(time.active) / 1000, away: Math.round(time.away) / 1000,
    }, label);

    function undo() {
      const last = passed.pop();
      const item = last && unsent().find((one) => one.content.key === last.key);
      if (item && !(sending && item.place === unsent()[0].place)) { // not on its way: nobody has heard of it
        forget(item.place);
        if (last.counted) count(-1);
        documents = [last.document, ...documents];
        say(`Taken back: ${named(last.document)}.`);
        show();
        return;
      }
      if (last && !last.counted) { // skipped: show it again
        documents = [last.document, ...documents];
        show();
        return;
      }
      if (last?.document.comment) comments.set(last.document.doc, last.document.comment);
      if (only && comment.value) comments.set(only, comment.value);
      keep("/api/undo", { topic, doc: last?.document.doc ?? (only || null), key: newKey() });
      send();
    }

    const acts = { cannot: () => judge(null, "Could not be judged"), skip: () => pass("/api/skip", {}, "Put off"), undo };
    for (const button of every(".grading button")) {
      const { grade, do: act } = button.dataset;
      button.addEventListener("click", act ? acts[act] : () => judge(Number(grade), button.textContent.trim()));
    }
    document.addEventListener("keydown", (event) => {
      const field = event.target.closest("input, textarea, select, [contenteditable]");
      if (event.key === "Escape" && field) find("#document").focus({ preventScroll: true });
      if (field || event.repeat || event.isComposing || event.ctrlKey || event.altKey || event.metaKey || find("dialog[open]")) return;
      if (event.key.toLowerCase() === "c") {
        event.preventDefault();
        find("details.comment").open = true;
        comment.focus();
        return;
      }
      const button = find(`.grading button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
      if (!button || button.disabled) return;
      event.preventDefault();
      button.click();
    });
    find("details.comment").addEventListener("toggle", (event) => { if (event.target.open && !comment.value) comment.focus(); });

    // Work is when the page is looked at and something has moved in the last minute; the rest is being away.
    function tick() {
      const now = performance.now();
      const working = document.visibilityState === "visible" && now - moved < 60000;
      time[working ? "active" : "away"] += now - ticked;
      ticked = now;
      if (working && now - renewed > 120000) { renewed = now; post("/api/at-work", {}).catch(() => {}); }
    }
    for (const kind of ["keydown", "pointermove", "pointerdown", "scroll", "wheel", "touchmove"]) {
      document.addEventListener(kind, () => { moved = performance.now(); }, { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", tick);
    setInterval(tick, 1000);
    if (matchMedia("(max-width: 760px)").matches) find("#topic").open = false;
    send().finally(load);
  }

  // ---- the live page

  const live = find("#live");
  if (live) {
    const shown = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits));
    const percent = (value) => (value === null || value === undefined ? "–" : `${(Math.floor(value * 1000) / 10).toFixed(1)}%`);
    const chance = (value) => (value >= 0.9995 ? ">99.9%" : percent(value)); // draws do not make anything certain
    const table = (names, rows) => make("table", {},
      make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col", class: typeof rows[0]?.[names.indexOf(name)] === "string" ? "" : "number" }, name)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", typeof cell === "string" ? {} : { class: "number" }, typeof cell === "number" ? String(cell) : typeof cell === "string" ? make("bdi", {}, cell) : cell))))));
    const right = (text) => make("span", {}, text);

    function interval(run, most) {
      const x = (value) => (4 + (192 * value) / most).toFixed(1);
      return make("div", { class: "spread" },
        make("svg", { viewBox: "0 0 200 16", class: "interval", "aria-hidden": "true" },
          make("line", { x1: x(run.low), x2: x(run.high), y1: 8, y2: 8 }), make("circle", { cx: x(run.value), cy: 8, r: 4 })),
        make("span", { class: "faint" }, `${shown(run.low)} to ${shown(run.high)}`));
    }

    function curve(points, sure, runs, judged) {
      const known = points.filter(([, value]) => value !== null);
      if (known.length < 2) return make("p", { class: "faint" }, judged < 2 ? "Two judgments make a curve." : "The curve so far is being worked out …");
      const most = Math.max(...known.map(([judged]) => judged), 1);
      const low = Math.min(0.5, ...known.map(([, value]) => value));
      const x = (judged) => (40 + (450 * judged) / most).toFixed(1);
      const y = (value) => (10 + (180 * (1 - value)) / (1 - low)).toFixed(1);
      const last = known[known.length - 1];
      return make("svg", { viewBox: "0 0 500 220", class: "curve", role: "img", "aria-label": `After ${plural(last[0], "judgment")} the confidence is ${percent(last[1])}` },
        ...[low, sure, 1].map((value) => make("line", { x1: 40, x2: 490, y1: y(value), y2: y(value), class: value === sure ? "goal" : "grid" })),
        ...[low, sure, 1].map((value) => make("text", { x: 36, y: Number(y(value)) + (value === 1 ? 0 : 8), class: "left" }, `${Math.round(100 * value)}%`)),
        ...runs.filter((run) => run.joined && run.joined <= most).map((run) => make("line", { x1: x(run.joined), x2: x(run.joined), y1: 10, y2: 190, class: "late" }, make("title", {}, `${run.name} came after ${run.joined} judged`))),
        make("polyline", { points: known.map(([judged, value]) => `${x(judged)},${y(value)}`).join(" ") }),
        make("text", { x: 40, y: 212 }, "0"), make("text", { x: 490, y: 212, class: "left" }, `${most} judged`));
    }

    function chances(state) {
      const names = state.runs.map((run) => run.name);
      if (names.length > 40) return make("p", { class: "faint" }, `${names.length} runs are too many for a table of pairs; see the ranking and the exports.`);
      const turned = { better: "worse", worse: "better" };
      const held = new Map((state.prospects?.held ?? []).flatMap(([one, other, said, chance]) => [[`${one}\n${other}`, [said, chance]], [`${other}\n${one}`, [turned[said] ?? said, chance]]]));
      const told = (one, other) => { const [said, chance] = held.get(`${one}\n${other}`) ?? []; return said ? { title: `${one} against ${other}, by a test of what is judged: ${said}; holds: ${chance}` } : {}; };
      const cell = (value, names) => make("td", value === null ? { class: "self" } : { class: `sure s${Math.min(5, Math.max(0, Math.floor((value - 0.5) * 10)))}${value >= state.sure ? " settled" : ""}`, ...told(...names) }, value === null ? "" : value > 0.99 ? ">99" : String(Math.floor(value * 100)));
      return make("table", { class: "matrix" },
        make("thead", {}, make("tr", {}, make("td"), ...names.map((name, number) => make("th", { scope: "col", title: name, "aria-label": name }, String(number + 1))))),
        make("tbody", {}, ...names.map((name, number) => make("tr", {}, make("th", { scope: "row" }, `${number + 1} `, make("bdi", {}, name)), ...state.chances[number].map((value, other) => cell(value, [name, names[other]]))))));
    }

    function coverage(state) {
      const whole = (value) => right(value === null ? "–" : `${Math.floor(100 * value)}%`);
      const later = state.runs.some((run) => run.joined);
      return table(["Run", ...(later ? ["Came"] : []), ...state.depths.map((depth) => `First ${depth}`), "Not judged"], state.runs.map((run) => [
        run.name, ...(later ? [right(run.joined ? `after ${run.joined} judged` : "at first")] : []), ...run.coverage.map(whole), run.ungraded]));
    }

    function tested(state) { // what stands behind the cells of the table of pairs, for those who cannot point at them
      const held = state.prospects?.held ?? [];
      find("#tested").hidden = !held.length;
      find("#tested .wide").replaceChildren(table(["Run", "Against", "By a test of what is judged", "Holds"], held.map(([one, other, said, chance]) => [one, other, said, right(chance)])));
    }

    function late(state) { // what is known of runs that came when others had been judged for
      const depth = state.depths.indexOf(10) < 0 ? 0 : state.depths.indexOf(10);
      const first = state.runs.filter((run) => !run.joined && run.coverage[depth] !== null);
      const mean = first.length ? first.reduce((sum, run) => sum + run.coverage[depth], 0) / first.length : null;
      return state.runs.map((run, place) => [run, place]).filter(([run]) => run.joined).map(([run, place]) => {
        const others = state.chances[place].filter((value) => value !== null);
        const open = others.filter((value) => value < state.sure).length;
        const share = (value) => (value === null ? "none" : `${Math.floor(100 * value)}%`);
        return make("p", { class: "advice" }, make("strong", {}, make("bdi", {}, run.name)),
          ` came after ${plural(run.joined, "judgment")}. Of its first ${plural(state.depths[depth], "document")} ${share(run.coverage[depth])} are judged`,
          mean === null ? "" : ` (of those of the runs that were there at first, ${share(mean)})`, `, and ${run.ungraded} of all that it retrieved ${run.ungraded === 1 ? "is" : "are"} not. `,
          `Its expected value is ${shown(run.value)}, with 95% chance between ${shown(run.low)} and ${shown(run.high)}: place ${place + 1} of ${state.runs.length}. `,
          open ? `Against ${open} of the ${plural(others.length, "other run")} that is not sure yet.` : "That is sure against every other run.");
      });
    }

    function forecast(state) {
      const found = state.prospects?.forecast;
      if (!state.runs.length || (state.pairs && !state.open_pairs)) return "";
      const behind = state.prospects && state.prospects.judged < state.judged;
      if (!found || (found.reason && behind)) return state.prospects ? "What it would take is being worked out …" : "";
      return found.reason || `What it would take, as of ${state.prospects.judged} judged: ${found.note}`;
    }

    function matrix(state) {
      const found = state.prospects?.matrix;
      if (!found) return [make("p", { class: "faint" }, "Being worked out …")];
      if (found.reason) return [make("p", { class: "faint" }, found.reason)];
      const all = found.cases.reduce((sum, [, pairs]) => sum + pairs, 0) + found.untested;
      const cell = (number) => { const [, pairs, meaning] = found.cases[number - 1]; return make("td", { title: meaning }, make("strong", {}, String(pairs)), make("br", {}), make("span", { class: "faint" }, `case ${number}${found.early ? "" : number % 2 ? ", strong" : ", weak"}`)); };
      return [...(found.early ? [make("p", { class: "advice" }, found.early)] : []), make("p", { class: "faint" }, `${plural(all, "pair")} of runs by ${plural(found.topics, "topic")} in use with judgments, as of ${state.prospects.judged} judged`),
      make("table", { class: "cases", "aria-label": "Decision matrix" },
        make("thead", {}, make("tr", {}, make("td"), make("th", { scope: "col" }, "Assessed alike"), make("th", { scope: "col" }, "Assessed unlike"))),
        make("tbody", {},
          make("tr", {}, make("th", { scope: "row" }, "No significant difference"), cell(1), cell(2)),
          make("tr", {}, make("th", { scope: "row" }, "Significant difference"), cell(3), cell(4)))),
      make("p", { class: "faint" }, `Performance: ${found.method}. Assessment: judged among the first ${found.depth}. Case 4: the better run is also more assessed. What is not judged counts as not relevant here; the ranking above does not do so.${found.untested ? ` ${plural(found.untested, "pair")} could not be tested${found.unseen ? `, ${found.unseen} of them since nothing of a run is judged` : ""}.` : ""}`)];
    }

    function draw(state) {
      put(find("#judged"), state.judged.toLocaleString("en"));
      put(find("#relevant"), state.relevant.toLocaleString("en"));
      put(find("#ranking"), chance(state.ranking));
      put(find("#open"), state.pairs ? `${state.open_pairs} of ${state.pairs}` : "–");
      put(find("#measure"), state.measure);
      put(find("#updated"), `As of ${new Date().toLocaleTimeString("en-GB")}; follows every judgment by itself.`);
      const goal = `${Math.round(100 * state.sure)}%`;
      put(find("#verdict"), (state.runs.length && !state.judged ? "Nothing is judged yet: what stands here is the model alone. " : "") + (state.reason ? state.reason
        : state.pairs && !state.open_pairs ? `Every pair of runs is settled at ${goal}: judging can stop.`
          : state.ranking >= state.sure ? `The ranking as a whole is as sure as ${goal}; ${are(state.open_pairs, "pair")} less sure by ${state.open_pairs === 1 ? "itself" : "themselves"}.`
            : state.pairs ? `Not sure enough yet: the ranking as a whole should reach ${goal}.`
              : "One run makes no order: add another on the page Project."));
      const most = Math.max(...state.runs.map((run) => run.high ?? 0), 1e-9);
      find("#runs").replaceChildren(table(["Place", "Run", "Value", "95% interval", "Above the next"], state.runs.map((run, number) => [
        number + 1, run.name, right(shown(run.value)), run.value === null ? right("–") : interval(run, most), right(chance(run.above_next))])));
      find("#coverage").replaceChildren(coverage(state));
      find("#matrix").replaceChildren(...matrix(state));
      put(find("#forecast"), forecast(state));
      find("#late").replaceChildren(...late(state));
      find("#curve").replaceChildren(curve(state.curve, state.sure, state.runs, state.judged));
      find("#chances").replaceChildren(chances(state));
      put(find("#framed"), `Per cent, the better run first. Framed: ${goal} or more.`);
      tested(state);
      find("#assessors").replaceChildren(table(["Assessor", "Judged", "Relevant", "Cannot", "Changed", "Last hour", "Per hour of work"], state.assessors.map((one) => [
        one.name, one.judged, one.relevant, one.cannot, one.changed, one.last_hour, right(shown(one.per_active_hour, 0))])));
      find("#agreement").replaceChildren(...(state.agreement.length ? [make("h3", {}, "Agreement"), table(["Assessors", "Both", "Same grade", "Kappa"], state.agreement.map((one) => [
        `${one.first} and ${one.second}`, one.common, right(percent(one.observed)), right(shown(one.kappa, 2))]))] : []));
      put(find("#unused"), state.unused.length ? `Candidate or dropped, so that their judgments are not counted here: ${state.unused.map((one) => one.id).join(", ")}.` : "");
      find("#per-topic").replaceChildren(table(["Topic", "Title", "Judged", "Relevant", "Left"], state.topics.map((one) => [one.id, one.title, one.judged, one.relevant, one.left])));
    }

    const stream = new EventSource("/api/live/stream");
    stream.addEventListener("message", (event) => { notice(""); draw(JSON.parse(event.data)); });
    stream.addEventListener("error", () => notice(stream.readyState === EventSource.CLOSED ? "This page is no longer kept up to date; load it again." : "No connection; trying again."));
  }
})();
