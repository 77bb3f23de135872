const PAGE_ROWS = 50;
const MANY_ROWS = 20; // a table with more can be searched

async function unpacked(name) {
  const letters = atob(document.getElementById(name).textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// -- downloads ------------------------------------------------------------------------------------

for (const button of document.querySelectorAll("[data-download]")) {
  button.addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await unpacked(button.dataset.download)], { type: "text/csv" }));
    link.download = button.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
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

function elementOf(row, columns) {
  if (row.element) return row.element;
  const line = document.createElement("tr");
  row.cells.forEach((text, place) => {
    const cell = document.createElement(place ? "td" : "th");
    if (!place) cell.scope = "row";
    if (!columns[place].left) cell.className = "number";
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
    bar.append(labelled("Search", search));
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
    bar.append(labelled(name, choice));
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

function labelled(text, control) {
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

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details.terms")) details.open = true;
});
start();
