// Helpers that all scripts share: elements, the notice at the top, and the browser's storage.

export const find = (selector, root = document) => root.querySelector(selector);
export const every = (selector, root = document) => [...root.querySelectorAll(selector)];

export const { account } = document.body.dataset; // differs between projects; empty for a guest

const DRAWN = ["svg", "line", "circle", "polyline", "text", "title"];

export function make(name, attributes = {}, ...children) {
  const element = DRAWN.includes(name)
    ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Unchanged text is not written again, so that screen readers do not repeat it.
export function put(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

export function notice(text) {
  const box = find("#notice");
  box.hidden = !text;
  put(box, text);
}

// Browsers may refuse to store anything.
export const storage = {
  keys() {
    try { return Object.keys(localStorage); } catch { return []; }
  },
  get(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  },
  set(key, text) {
    try { localStorage.setItem(key, text); return true; } catch { return false; }
  },
  remove(key) {
    try { localStorage.removeItem(key); } catch { /* no storage, nothing to remove */ }
  },
};
