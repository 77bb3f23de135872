// How long somebody was at work on each document, and how long away. Work is when the page is in front and
// something has moved lately; the rest is being away. Every document has a time of its own: what was spent on
// one is still there after another was in between.

const IDLE = 120000; // milliseconds without a movement after which somebody is away: a screen of text is read
const DAY = 86400; // seconds; no more is told of a document that was left open for long

export class Clock {
  #spent = new Map(); // document -> milliseconds
  #present; // the document that is shown; undefined: none
  #until; // up to when all is accounted for
  #moved;
  #visible;

  constructor(now, visible) {
    this.#until = now;
    this.#moved = now;
    this.#visible = visible;
  }

  // Whether somebody is at work.
  works(now) {
    return this.#visible && now - this.#moved < IDLE;
  }

  moved(now) {
    this.#account(now);
    this.#moved = now;
  }

  // The page comes to the front, which somebody did, or goes behind.
  look(now, visible) {
    this.#account(now);
    if (visible) this.#moved = now;
    this.#visible = visible;
  }

  // Another document is shown, or none.
  turn(now, doc) {
    this.#account(now);
    this.#present = doc;
  }

  // The seconds that the document shown has taken since they were last asked for.
  take(now) {
    this.#account(now);
    const { active = 0, away = 0 } = this.#spent.get(this.#present) ?? {};
    this.#spent.delete(this.#present);
    const seconds = (spent) => Math.min(Math.round(spent) / 1000, DAY);
    return { active: seconds(active), away: seconds(away) };
  }

  // Time that was taken and told to nobody.
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
