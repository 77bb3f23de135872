// Texts, numbers and times in the language of the page. The English texts stand in the scripts; the server puts
// what the language's catalogue has for them into the page.

const { lang, dir } = document.documentElement;
const texts = JSON.parse(document.querySelector("#texts").textContent);
const plurals = new Intl.PluralRules(lang);
const times = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
const clock = new Intl.DateTimeFormat(lang, { timeStyle: "medium", hourCycle: "h23" });
const PLACE = /\{(\w+)\}/;

export const number = (value) => value.toLocaleString(lang);
export const decimals = (value, digits) =>
  value.toLocaleString(lang, { minimumFractionDigits: digits, maximumFractionDigits: digits });
export const percents = (share, digits) =>
  share.toLocaleString(lang, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });
export const roundedPercent = (share) => share.toLocaleString(lang, { style: "percent", maximumFractionDigits: 4 });
export const moment = (when) => times.format(when);
export const clockTime = (when) => clock.format(when);

// Between letters of the other direction, a value keeps its own.
const apart = (value) => (dir === "rtl" ? `\u2068${value}\u2069` : value);
const shown = (value) => (typeof value === "number" ? number(value) : apart(value));
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (place, name) => (name in values ? shown(values[name]) : place));

// A text in the language of the page, with its places filled.
export const gettext = (text, values = {}) => fill(texts[text] ?? text, values);

// The form of a text for a number: `{n}` is the number.
export function ngettext(one, other, n, values = {}) {
  const forms = texts[one] ?? { one, other };
  return fill(forms[plurals.select(n)] ?? forms.other, { n, ...values });
}

// The same as nodes, with elements or lists of nodes in its places.
export function elements(text, values) {
  return (texts[text] ?? text).split(PLACE).flatMap((part, place) => (place % 2 ? values[part] : part));
}

export const sentence = (text) => `${text.charAt(0).toLocaleUpperCase(lang)}${text.slice(1)}.`;
