// Measures how long a person works on each document, and how long they are away. Work is time with the page in
// front and recent input; all other time is away. Each document keeps its own time, even if another one comes
// in between.

const IDLE = 120000; // milliseconds without input before a person counts as away: the time to read a screen
const DAY = 86400; // seconds; the most that is reported for a document left open

export class Clock {
  #spent = new Map(); // document -> milliseconds
  #present; // the document in view; undefined: none
  #until; // all time before this is accounted for
  #moved;
  #visible;

  constructor(now, visible) {
    this.#until = now;
    this.#moved = now;
    this.#visible = visible;
  }

  // Whether the person is working.
  works(now) {
    return this.#visible && now - this.#moved < IDLE;
  }

  moved(now) {
    this.#account(now);
    this.#moved = now;
  }

  // The page comes to the front, which counts as input, or goes to the background.
  look(now, visible) {
    this.#account(now);
    if (visible) this.#moved = now;
    this.#visible = visible;
  }

  // Switch to another document, or to none.
  turn(now, doc) {
    this.#account(now);
    this.#present = doc;
  }

  // Return the seconds spent on the document in view since the last call.
  take(now) {
    this.#account(now);
    const { active = 0, away = 0 } = this.#spent.get(this.#present) ?? {};
    this.#spent.delete(this.#present);
    const seconds = (spent) => Math.min(Math.round(spent) / 1000, DAY);
    return { active: seconds(active), away: seconds(away) };
  }

  // Return seconds that were taken but never sent.
  giveBack(doc, { active, away }) {
    this.#add(doc, active * 1000, away * 1000);
  }

  #account(now) {
    const work = this.#visible ? Math.min(now, this.#moved + IDLE) - this.#until : 0;
    const active = Math.max(0, work);
    if (this.#present !== undefined) this.#add(this.#present, active, now - this.#until - active);
    this.#until = now;
  }

  #add(doc, active, away) {
    const before = this.#spent.get(doc) ?? { active: 0, away: 0 };
    this.#spent.set(doc, { active: before.active + active, away: before.away + away });
  }
}
