"use strict";
// Builds elements. Text is always set as text, so nothing that a page, a model or a file said becomes markup.

// el("div", {class: "a", onclick: f}, "text", child, [children], null)
function el(tag, attributes, ...children) {
  const node = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "css") for (const [key, set] of Object.entries(value)) node.style.setProperty(key, set);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

function add(node, child) {
  if (child === null || child === undefined || child === false) return node;
  if (Array.isArray(child)) child.forEach((one) => add(node, one));
  else if (child instanceof Node) node.append(child);
  else node.append(document.createTextNode(String(child)));
  return node;
}

// Puts new content into an element.
function draw(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

// A path of this page: link("attempt", run, trial, 1)
function link(...parts) {
  return "#/" + parts.map((part) => encodeURIComponent(part)).join("/");
}

// The words of a key: the folder of a run or a book below what was opened, "" for that itself.
function named(key) {
  return key.replace(/^~/, "");
}

function say(text) {
  document.getElementById("said").textContent = text;
}

function counted(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function money(usd) {
  if (usd === null || usd === undefined) return "no price";
  return usd === 0 ? "$0" : `$${usd < 0.01 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

function number(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

const VERDICTS = {
  pass: { mark: "✓", word: "passed" },
  fail: { mark: "✗", word: "failed" },
  void: { mark: "○", word: "void" },
};

function badge(verdict, more) {
  const known = VERDICTS[verdict] || { mark: "?", word: verdict };
  return el("span", { class: `badge ${verdict in VERDICTS ? verdict : ""}` }, `${known.mark} ${known.word}`, more);
}

function problems(list) {
  if (!list || list.length === 0) return null;
  return el("div", { class: "problems", role: "note" }, el("strong", {}, "Not everything could be read."),
    el("ul", {}, list.map((one) => el("li", {}, one))));
}

// A term with its explanation, for readers who know none of the program's words.
const GLOSSARY = {
  arm: "What help the model got: for example none, or the skillbook by request (pull).",
  pull: "The model sees the names of the skills' areas and asks for a skill's text when it wants it.",
  placebo: "True skills that do not bear on the task, of the same length. It shows what more text alone does.",
  template: "The pattern from which similar tasks are made. Tasks of one template are not independent evidence.",
  void: "The attempt says nothing about the model, because the world, the check or the model's server failed.",
  seed: "The number of the variation: other names, values and files in the same task.",
  flipped: "The same task and seed passed in one column and failed in another.",
};

function term(word, shown) {
  return el("span", { class: "term", title: GLOSSARY[word], tabindex: "0" }, shown || word);
}
