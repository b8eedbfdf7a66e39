// The widgets of the local pages. They behave as many web applications do: table cells open on a double
// click and take a value with Enter, labels count once Enter is pressed, list entries move with Alt and an
// arrow key, and what was changed is written only by "Save changes" behind the button with three dots.
"use strict";

const main = document.getElementById("main");
const state = {};

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
}

function store() {
  const blob = new Blob([JSON.stringify(state) + "\n"], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = DATA.file + ".json";
  link.click();
  document.getElementById("status").textContent = "Saved.";
}

function table(spec) {
  state.rows = spec.rows;
  const grid = element("table", "", main);
  const head = element("tr", "", grid);
  spec.head.forEach((name) => element("th", name, head));
  spec.rows.forEach((row) => {
    const line = element("tr", "", grid);
    row.forEach((value, column) => {
      const cell = element("td", value, line);
      if (column > 0) cell.addEventListener("dblclick", () => edit(cell, row, column));
    });
  });
}

function edit(cell, row, column) {
  if (cell.querySelector("input")) return;
  cell.textContent = "";
  const input = element("input", "", cell);
  input.value = row[column];
  input.setAttribute("aria-label", "New value");
  const leave = () => { cell.textContent = row[column]; };
  input.addEventListener("blur", leave);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    if (event.key !== "Enter") return;
    row[column] = input.value.trim();
    leave();
  });
  input.focus();
}

function chips(spec) {
  state.chips = spec.values;
  const list = element("p", "", main);
  const label = element("label", spec.label, main);
  const input = element("input", "", label);
  const show = () => {
    list.textContent = "";
    state.chips.forEach((value) => { element("span", value, list).className = "chip"; });
  };
  input.addEventListener("keydown", (event) => {
    const value = input.value.trim();
    if (event.key !== "Enter" || !value) return;
    state.chips.push(value);
    input.value = "";
    show();
  });
  show();
}

function order(entries) {
  state.order = entries;
  const list = element("ul", "", main);
  list.id = "order";
  const show = (focused) => {
    list.textContent = "";
    state.order.forEach((entry) => {
      const item = element("li", entry, list);
      item.tabIndex = 0;
      item.setAttribute("aria-label", entry);
      item.addEventListener("keydown", (event) => move(event, entry, show));
      if (entry === focused) item.focus();
    });
  };
  show();
}

function move(event, entry, show) {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!event.altKey || !step) return;
  event.preventDefault();
  const from = state.order.indexOf(entry);
  const to = from + step;
  if (to < 0 || to >= state.order.length) return;
  state.order.splice(to, 0, state.order.splice(from, 1)[0]);
  show(entry);
}

function field(name) {
  state.field = "";
  const label = element("label", name + " ", main);
  const input = element("input", "", label);
  input.addEventListener("input", () => { state.field = input.value.trim(); });
}

function boxes(names) {
  state.boxes = [];
  names.forEach((name) => {
    const label = element("label", "", main);
    const box = element("input", "", label);
    box.type = "checkbox";
    label.append(" " + name);
    box.addEventListener("change", () => {
      state.boxes = names.filter((_, at) => main.querySelectorAll("input[type=checkbox]")[at].checked);
    });
  });
}

function start() {
  document.title = DATA.title;
  document.getElementById("title").textContent = DATA.title;
  if (DATA.table) table(DATA.table);
  if (DATA.chips) chips(DATA.chips);
  if (DATA.order) order(DATA.order);
  if (DATA.field) field(DATA.field);
  if (DATA.boxes) boxes(DATA.boxes);
  const more = document.getElementById("more");
  const menu = document.getElementById("menu");
  if (DATA.button) {
    more.hidden = true;
    element("button", DATA.button, main).addEventListener("click", store);
  }
  const open = (shown) => {
    menu.hidden = !shown;
    more.setAttribute("aria-expanded", String(shown));
  };
  more.addEventListener("click", () => open(menu.hidden));
  document.getElementById("print").addEventListener("click", () => open(false));
  document.getElementById("save").addEventListener("click", () => { open(false); store(); });
}

start();
