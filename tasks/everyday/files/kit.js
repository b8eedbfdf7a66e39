// The widgets of the programs of this suite, and what each of them keeps. A program starts from DATA, which a task
// writes into data.js, and keeps its state as JSON in the browser under the name PROGRAM, where a check reads it.
"use strict";

const state = JSON.parse(localStorage.getItem(PROGRAM)) ?? structuredClone(DATA);
const main = document.querySelector("main");

// Keeps the state, draws the page again and says what happened.
function keep(message) {
  localStorage.setItem(PROGRAM, JSON.stringify(state));
  draw();
  document.querySelector("[role=status]").textContent = message;
}

// Makes an element; `children` are elements and texts.
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A button that opens a menu. Each entry is a name and what it does; one with `checked` is a switch.
function menu(label, entries, text = label) {
  const list = make("ul", { role: "menu", "aria-label": label, hidden: true });
  const opener = make("button", { "aria-haspopup": "menu", "aria-expanded": "false", "aria-label": label }, text);
  const open = (shown) => {
    list.hidden = !shown;
    opener.setAttribute("aria-expanded", String(shown));
  };
  for (const { name, act, checked } of entries) {
    const role = checked === undefined ? "menuitem" : "menuitemcheckbox";
    const entry = make("li", { role, tabindex: "0" }, name);
    if (checked !== undefined) entry.setAttribute("aria-checked", String(checked));
    entry.addEventListener("click", () => { open(false); act(); });
    entry.addEventListener("keydown", (event) => { if (event.key === "Enter") entry.click(); });
    list.append(entry);
  }
  opener.addEventListener("click", () => open(list.hidden));
  document.addEventListener("click", (event) => { if (!opener.contains(event.target)) open(false); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") open(false); });
  return make("span", { class: "menu" }, opener, list);
}

function choice(label, options, chosen) {
  const list = make("select", {}, ...options.map((option) => make("option", { selected: option === chosen }, option)));
  return { line: make("p", {}, make("label", {}, label + " ", list)), value: () => list.value };
}

function tick(label, checked) {
  const box = make("input", { type: "checkbox", checked });
  return { line: make("p", {}, make("label", {}, box, " " + label)), value: () => box.checked };
}

function field(label, value = "") {
  const input = make("input", { value, autocomplete: "off" });
  return { line: make("p", {}, make("label", {}, label + " ", input)), value: () => input.value.trim(), input };
}

// A dialog. Whatever it says, it changes nothing before its button `done` is pressed.
function dialog(title, lines, done, act) {
  const box = make("dialog", { "aria-label": title }, make("h2", {}, title), ...lines);
  const close = () => { box.close(); box.remove(); };
  const accept = make("button", { onclick: () => { if (act() !== false) close(); } }, done);
  box.append(make("p", {}, accept, " ", make("button", { onclick: close }, "Back")));
  box.addEventListener("cancel", () => box.remove());
  document.body.append(box);
  box.showModal();
}

// Tabs, of which one is shown. `sheets` are names and elements.
function tabs(label, sheets) {
  const bar = make("div", { role: "tablist", "aria-label": label });
  const whole = make("div", {}, bar);
  const buttons = sheets.map(([name], at) => make("button", { role: "tab", onclick: () => show(at) }, name));
  const panels = sheets.map(([name, ...lines]) => make("div", { role: "tabpanel", "aria-label": name }, ...lines));
  const show = (chosen) => panels.forEach((panel, at) => {
    panel.hidden = at !== chosen;
    buttons[at].setAttribute("aria-selected", String(at === chosen));
  });
  bar.append(...buttons);
  whole.append(...panels);
  show(0);
  return whole;
}

function table(head, rows) {
  const line = (cells, name) => make("tr", {}, ...cells.map((cell) => make(name, {}, cell)));
  return make("table", {}, line(head, "th"), ...rows.map((row) => line(row, "td")));
}
