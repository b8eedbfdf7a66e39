"use strict";
// Which page is shown, and the keys.

const state = { page: "", keys: {}, leave: null, report: false, books: [], runs: [] };

const PAGES = {
  "": showGrid, attempt: showAttempt, compare: showComparison, book: showBook, skill: showSkill, source: showSource, live: showLive,
};

function failed(main, error) {
  draw(main, el("h1", {}, "This cannot be shown"), el("p", {}, error.message), el("p", {}, el("a", { href: "#/" }, "All results")));
}

async function route() {
  const main = document.getElementById("main");
  const parts = location.hash.replace(/^#\/?/, "").split("/").map((part) => {
    try { return decodeURIComponent(part); } catch (error) { return part; }
  });
  const page = parts[0];
  if (state.leave) state.leave();
  state.leave = null;
  const moved = state.page !== page;
  state.page = page;
  state.keys = {};
  try {
    const show = PAGES[page];
    if (!show) throw new Error(`There is no page ${page}.`);
    await show(main, parts.slice(1));
  } catch (error) {
    failed(main, error);
  }
  if (moved) window.scrollTo(0, 0);
  document.querySelectorAll("#nav a").forEach((one) => {
    if (one.dataset.page === page) one.setAttribute("aria-current", "page"); else one.removeAttribute("aria-current");
  });
  main.dataset.ready = location.hash || "#/";
}

function keys(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { document.activeElement.blur(); document.getElementById("help").close(); return; }
  if (typing) return;
  const common = {
    "/": () => { const box = document.getElementById("search"); if (box) box.focus(); else location.hash = "#/"; },
    g: () => { location.hash = "#/"; },
    "?": () => document.getElementById("help").showModal(),
  };
  const act = state.keys[event.key] || common[event.key];
  if (act) { event.preventDefault(); act(); }
}

function help() {
  const lines = [["j, ↓", "next step or row"], ["k, ↑", "previous step or row"], ["b", "before or after"], ["c", "side by side with another attempt"],
    ["p", "the row where two attempts part"], ["g", "all results"], ["/", "search"], ["?", "this list"]];
  return el("dialog", { id: "help", "aria-label": "Keys" }, el("h2", {}, "Keys"),
    el("dl", { class: "keys" }, lines.map(([key, meaning]) => [el("dt", {}, key), el("dd", {}, meaning)])),
    el("form", { method: "dialog" }, el("button", {}, "Close")));
}

async function start() {
  document.body.append(help());
  try {
    const all = await load(["grid"]);
    state.books = all.books;
    state.report = all.report;
    state.runs = all.runs;
    document.getElementById("title").textContent = all.title;
  } catch (error) {
    failed(document.getElementById("main"), error);
  }
  const nav = document.getElementById("nav");
  const entry = (page, href, text) => el("a", { href, "data-page": page }, text);
  add(nav, [entry("", "#/", "Results"), state.books.length ? entry("book", link("book", state.books[0]), "Skillbook") : null,
    embedded || !state.report ? null : el("a", { href: "report.html" }, "Report"),
    embedded ? null : entry("live", "#/live", "Live"), el("button", { type: "button", class: "key", title: "Keys", onclick: () => document.getElementById("help").showModal() }, "?")]);
  window.addEventListener("hashchange", route);
  document.addEventListener("keydown", keys);
  await route();
}

start();
