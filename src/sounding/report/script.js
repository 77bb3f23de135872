const PAGE_ROWS = 50;
const MANY_ROWS = 20; // a table with more can be searched

async function unpacked(name) {
  const letters = atob(document.getElementById(name).textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// -- downloads ------------------------------------------------------------------------------------

for (const button of document.querySelectorAll("[data-download], [data-listing]")) {
  button.addEventListener("click", async () => {
    const link = document.createElement("a");
    const { download, listing } = button.dataset;
    const text = download ? await unpacked(download) : rowsAsCsv(JSON.parse(await unpacked(listing)));
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = button.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}

function rowsAsCsv(columns) {
  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const lines = columns[0].cells.map((_, row) => columns.map((column) => quoted(column.cells[row])).join(","));
  return [columns.map((column) => quoted(column.name)).join(","), ...lines, ""].join("\n");
}

// -- what a column means, where it stands ---------------------------------------------------------

const tip = document.getElementById("tip");
let place = () => {}; // puts the tip beside what it explains

function explain(heading, owner) {
  const meaning = heading.title;
  if (!meaning) return;
  heading.removeAttribute("title");
  const show = () => {
    tip.textContent = meaning;
    tip.hidden = false;
    place = () => {
      const box = heading.getBoundingClientRect();
      const left = Math.min(box.left, innerWidth - tip.offsetWidth - 8);
      const above = box.top - tip.offsetHeight - 6;
      tip.style.left = `${Math.max(8, left)}px`;
      tip.style.top = `${above > 0 ? above : box.bottom + 6}px`;
    };
    place();
  };
  const hide = () => { tip.hidden = true; };
  owner.setAttribute("aria-description", meaning);
  owner.addEventListener("focus", show);
  owner.addEventListener("blur", hide);
  heading.addEventListener("pointerenter", show);
  heading.addEventListener("pointerleave", hide);
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
document.addEventListener("scroll", () => place(), { capture: true, passive: true });

// -- tables ---------------------------------------------------------------------------------------

// A table is rows of {cells, values, text}: those that stand in the page, or those that were packed.
function rowsOfPage(body) {
  return [...body.rows].map((row) => {
    const cells = [...row.cells];
    return {
      element: row,
      values: cells.map((cell) => value(cell.dataset.value ?? cell.textContent)),
      text: row.textContent.toLowerCase(),
    };
  });
}

function value(text) {
  const plain = text.replace(/[,%]/g, "").trim();
  return plain !== "" && !Number.isNaN(Number(plain)) ? Number(plain) : text;
}

function rowsOfData(columns) {
  return columns[0].cells.map((_, row) => ({
    cells: columns.map((column) => column.cells[row]),
    values: columns.map((column) => (column.values ? column.values[row] : value(column.cells[row]))),
    text: columns.map((column) => column.cells[row]).join(" ").toLowerCase(),
  }));
}

const SHORT = 19; // characters that are not broken into lines, as in html.py

function elementOf(row, columns) {
  if (row.element) return row.element;
  const line = document.createElement("tr");
  row.cells.forEach((text, place) => {
    const cell = document.createElement(place ? "td" : "th");
    if (!place) cell.scope = "row";
    if (!columns[place].left) cell.className = "number";
    else if (place && text && text.length <= SHORT) cell.className = "short";
    cell.textContent = text;
    line.append(cell);
  });
  return line;
}

const unknown = (cell) => cell === null || cell === undefined || cell === "–" || cell === "";

function compared(a, b) {
  if (unknown(a) || unknown(b)) return Number(unknown(a)) - Number(unknown(b));
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

class Listing {
  constructor(block, rows, columns) {
    this.table = block.querySelector("table");
    this.body = this.table.tBodies[0];
    this.columns = columns;
    this.rows = rows;
    this.shown = rows;
    this.page = 0;
    this.size = rows.length > 500 ? PAGE_ROWS : rows.length;
    this.filters = new Map();
    this.words = [];
    if (rows.length > 1) this.headings();
    if (rows.length > MANY_ROWS) this.tools(block);
    if (columns) this.refresh();
  }

  headings() {
    for (const heading of this.table.querySelectorAll("th[data-column]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      heading.textContent = "";
      heading.append(button);
      heading.setAttribute("aria-sort", "none");
      explain(heading, button);
      button.addEventListener("click", () => this.sort(heading));
    }
  }

  sort(heading) {
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of this.table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const place = Number(heading.dataset.column);
    const order = (a, b) => {
      const [x, y] = [a.values[place], b.values[place]];
      const apart = compared(x, y);
      return unknown(x) || unknown(y) ? apart : down ? -apart : apart; // what is not known stays last
    };
    this.rows = this.rows.toSorted ? this.rows.toSorted(order) : [...this.rows].sort(order);
    this.page = 0;
    this.refresh();
  }

  tools(block) {
    const bar = document.createElement("div");
    bar.className = "tools";
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = "run, word, case ...";
    search.addEventListener("input", () => {
      this.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.page = 0;
      this.refresh();
    });
    bar.append(labeled("Search", search));
    if (this.columns) for (const name of ["measure", "case", "settled"]) this.filter(bar, name);
    this.status = document.createElement("span");
    this.status.setAttribute("role", "status");
    this.back = this.step(bar, "Previous", -1);
    this.ahead = this.step(bar, "Next", 1);
    bar.append(this.status);
    block.querySelector(".scroll").before(bar);
    this.refresh();
  }

  filter(bar, name) {
    const place = this.columns.findIndex((column) => column.name === name);
    if (place < 0) return;
    const choice = document.createElement("select");
    const texts = [...new Set(this.columns[place].cells)].sort();
    for (const text of ["all", ...texts]) choice.append(new Option(text, text));
    choice.addEventListener("change", () => {
      if (choice.selectedIndex) this.filters.set(place, choice.value);
      else this.filters.delete(place);
      this.page = 0;
      this.refresh();
    });
    bar.append(labeled(name, choice));
  }

  step(bar, text, by) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.hidden = this.rows.length <= this.size;
    button.addEventListener("click", () => { this.page += by; this.refresh(); });
    bar.append(button);
    return button;
  }

  refresh() {
    this.shown = this.rows.filter(
      (row) =>
        this.words.every((word) => row.text.includes(word)) &&
        [...this.filters].every(([place, text]) => row.cells[place] === text),
    );
    const pages = Math.max(1, Math.ceil(this.shown.length / this.size));
    const begin = this.page * this.size;
    const visible = this.shown.slice(begin, begin + this.size);
    this.body.replaceChildren(...visible.map((row) => elementOf(row, this.columns)));
    if (!this.status) return;
    const counted = `${this.shown.length.toLocaleString("en")} of ${this.rows.length.toLocaleString("en")} rows`;
    this.status.textContent = pages > 1 ? `${counted}, page ${this.page + 1} of ${pages}` : counted;
    this.back.disabled = this.page === 0;
    this.ahead.disabled = this.page >= pages - 1;
  }
}

function labeled(text, control) {
  const label = document.createElement("label");
  label.append(text, control);
  return label;
}

async function list(block) {
  const name = block.dataset.rows;
  const columns = name ? JSON.parse(await unpacked(name)) : null;
  const rows = columns ? rowsOfData(columns) : rowsOfPage(block.querySelector("tbody"));
  new Listing(block, rows, columns);
  for (const heading of block.querySelectorAll("th[title]")) {
    heading.tabIndex = 0;
    explain(heading, heading);
  }
}

// -- the first screen -----------------------------------------------------------------------------

for (const button of document.querySelectorAll("[data-screen]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-screen]")) other.setAttribute("aria-pressed", other === button);
    for (const screen of document.querySelectorAll(".screen")) screen.hidden = screen.dataset.of !== button.dataset.screen;
  });
}

for (const button of document.querySelectorAll(".all-runs")) {
  const text = button.textContent;
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", open);
    button.textContent = open ? "Show only the first runs" : text;
    const card = button.closest(".card");
    card.classList.toggle("all", open);
    for (const row of card.querySelectorAll("tr.more")) row.hidden = !open;
    for (const row of card.querySelectorAll("tr.gap")) row.hidden = open;
    rescale([...card.querySelectorAll("tr:not([hidden]) svg[data-ends]")]);
  });
}

// Draw the intervals on an axis that holds all of the rows in sight.
function rescale(drawings) {
  const ends = drawings.map((drawing) => drawing.dataset.ends.split(" ").map(Number)); // low, value, high
  const known = ends.flat().filter((end) => !Number.isNaN(end));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (end) => 4 + (192 * (end - low)) / (high - low || 1);
  drawings.forEach((drawing, place) => {
    const [from, value, to] = ends[place].map(x);
    drawing.querySelector("rect").setAttribute("x", value - 2);
    drawing.querySelector("line")?.setAttribute("x1", from);
    drawing.querySelector("line")?.setAttribute("x2", to);
  });
}

function openSection() {
  const section = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const outer = section?.closest("details.section");
  if (outer) { outer.open = true; section.scrollIntoView(); }
}
addEventListener("hashchange", openSection);
for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", () => setTimeout(openSection));

// -- two runs, topic by topic ---------------------------------------------------------------------

const TALL = 190; // pixels of the bars
const MOST_DOCUMENTS = 10; // listed for a pair

class Explorer {
  constructor(place, known) {
    this.place = place;
    this.known = known;
    this.pairs = new Map(known.pairs.map(([a, b], number) => [`${a} ${b}`, number]));
    const bar = place.querySelector(".tools");
    const [first, second] = known.order[0];
    this.measure = this.choice(bar, "measure", known.measures, 0);
    this.first = this.choice(bar, "run", known.runs, first);
    this.second = this.choice(bar, "and run", known.runs, second);
    place.hidden = false;
    this.refresh();
  }

  choice(bar, text, names, chosen) {
    const select = document.createElement("select");
    names.forEach((name, number) => select.append(new Option(name, number)));
    select.value = chosen;
    select.addEventListener("change", () => this.refresh());
    bar.append(labeled(text, select));
    return select;
  }

  refresh() {
    const [measure, a, b] = [this.measure, this.first, this.second].map((select) => Number(select.value));
    const [ours, theirs] = [this.known.values[measure][a], this.known.values[measure][b]];
    const rows = this.known.topics
      .map((topic, place) => ({ topic, a: ours[place], b: theirs[place], gap: ours[place] - theirs[place] }))
      .filter((row) => row.a !== null && row.b !== null)
      .sort((one, other) => other.gap - one.gap);
    const [nameA, nameB] = [this.known.runs[a], this.known.runs[b]];
    const mean = (key) => rows.reduce((sum, row) => sum + row[key], 0) / Math.max(rows.length, 1);
    const wins = rows.filter((row) => row.gap > 0).length;
    const losses = rows.filter((row) => row.gap < 0).length;
    const told = [
      `${nameA} ${mean("a").toFixed(4)}, ${nameB} ${mean("b").toFixed(4)}: difference ${signed(mean("a") - mean("b"), 4)} on ${rows.length} topics.`,
      `${nameA} is better on ${wins}, ${nameB} on ${losses}.`,
      this.tested(measure, a, b),
    ];
    this.place.querySelector(".told").textContent = a === b ? "Choose two different runs." : told.join(" ").trim();
    this.place.querySelector(".bars").replaceChildren(a === b ? "" : bars(rows, nameA, nameB));
    this.documents(a, b);
  }

  tested(measure, a, b) {
    const pair = this.pairs.get(`${a} ${b}`) ?? this.pairs.get(`${b} ${a}`);
    if (pair === undefined) return "";
    const [p, stays] = [this.known.p[measure][pair], this.known.stays?.[measure][pair]];
    const significance = p === null ? "" : `Adjusted p ${p < 0.001 ? "< 0.001" : `= ${p.toFixed(4)}`}.`;
    const chance = stays === null || stays === undefined ? "" : ` The run ahead would stay ahead with a chance of ${Math.min(99, Math.max(1, Math.floor(100 * stays)))}% if ${this.known.until} were judged.`;
    return significance + chance;
  }

  documents(a, b) {
    const place = this.place.querySelector(".documents");
    place.replaceChildren();
    if (!this.known.unjudged || a === b) return;
    const own = (run) => new Map(this.known.unjudged[run].map(([topic, rank, doc]) => [`${topic} ${doc}`, { topic, rank, doc }]));
    const [ofA, ofB] = [own(a), own(b)];
    const apart = [
      ...[...ofA].filter(([key]) => !ofB.has(key)).map(([, row]) => ({ ...row, run: this.known.runs[a] })),
      ...[...ofB].filter(([key]) => !ofA.has(key)).map(([, row]) => ({ ...row, run: this.known.runs[b] })),
    ].sort((one, other) => one.rank - other.rank || one.topic - other.topic);
    const heading = document.createElement("h3");
    heading.textContent = "Unjudged documents that only one of them ranks high";
    const note = document.createElement("p");
    note.className = "small";
    note.textContent = apart.length
      ? `${apart.length.toLocaleString("en")} documents are unjudged and in the top ${this.known.depth} of one run only. Judge these first: they can still change this pair. The first ${Math.min(apart.length, MOST_DOCUMENTS)}:`
      : `Every document that only one of the two has in its top ${this.known.depth} is judged.`;
    place.append(heading, note);
    if (apart.length) place.append(listing(["topic", "document", "rank", "run"], apart.slice(0, MOST_DOCUMENTS)
      .map((row) => [this.known.topics[row.topic], row.doc, row.rank, row.run])));
  }
}

const signed = (number, digits) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(digits)}`;

function listing(names, rows) {
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const name of names) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    head.append(cell);
  }
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const text of row) line.insertCell().textContent = text;
  }
  return table;
}

function bars(rows, nameA, nameB) {
  const wide = Math.max(3, Math.min(40, Math.floor(1150 / Math.max(rows.length, 1))));
  const named = wide >= 9;
  const largest = Math.max(...rows.map((row) => Math.abs(row.gap)), 1e-9);
  const half = TALL / 2;
  const svg = element("svg", { width: 46 + wide * rows.length, height: TALL + (named ? 60 : 14), role: "img",
    "aria-label": `Difference by topic, ${nameA} minus ${nameB}; bars upward: ${nameA} is better` });
  for (const [value, y] of [[largest, 10], [0, half], [-largest, TALL - 2]]) {
    svg.append(element("text", { x: 40, y: y + 4, "text-anchor": "end" }, value ? signed(value, 2) : "0"));
  }
  svg.append(element("line", { class: "zero", x1: 44, x2: 46 + wide * rows.length, y1: half, y2: half }));
  rows.forEach((row, place) => {
    const tall = Math.max((Math.abs(row.gap) / largest) * (half - 6), row.gap ? 1 : 0);
    const bar = element("rect", { class: row.gap > 0 ? "ahead" : "behind", x: 46 + place * wide, width: Math.max(wide - 2, 2),
      y: row.gap > 0 ? half - tall : half, height: tall });
    bar.append(element("title", {}, `topic ${row.topic}: ${nameA} ${row.a.toFixed(4)}, ${nameB} ${row.b.toFixed(4)}`));
    svg.append(bar);
    if (named) {
      const [x, y] = [46 + place * wide + wide / 2, TALL + 4];
      svg.append(element("text", { x, y, "text-anchor": "end", transform: `rotate(-60 ${x} ${y})` }, row.topic.slice(0, 9)));
    }
  });
  return svg;
}

function element(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

// -- charts ---------------------------------------------------------------------------------------

async function draw(place) {
  const specification = JSON.parse(await unpacked(place.dataset.chart));
  const canvas = document.createElement("div"); // within what scrolls, so that the page does not
  place.replaceChildren(canvas);
  await vegaEmbed(canvas, specification, chartOptions);
  for (const menu of place.querySelectorAll("summary")) menu.setAttribute("aria-label", "Save this chart");
}

async function start() {
  const told = (place, problem) => {
    const text = document.createElement("p");
    text.className = "missing";
    text.textContent = `This browser could not show it: ${problem.message}`;
    place.append(text);
  };
  openSection();
  const explorer = document.getElementById("explorer");
  if (explorer) {
    await unpacked(explorer.dataset.pairs)
      .then((text) => new Explorer(explorer, JSON.parse(text)))
      .catch((problem) => told(explorer, problem));
  }
  for (const block of document.querySelectorAll(".listed")) {
    await list(block).catch((problem) => told(block, problem));
  }
  for (const place of document.querySelectorAll("[data-chart]")) {
    await draw(place).catch((problem) => told(place, problem));
    await new Promise((later) => setTimeout(later)); // others may act between two charts
  }
  markWide();
  document.documentElement.dataset.ready = "yes";
}

// -- what is wider than the screen ----------------------------------------------------------------

function markWide() {
  for (const place of document.querySelectorAll(".scroll, .chart")) {
    place.classList.toggle("wide", place.scrollWidth > place.clientWidth + 1);
  }
}
addEventListener("resize", markWide);
for (const section of document.querySelectorAll("details.section")) section.addEventListener("toggle", markWide);

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
start();
