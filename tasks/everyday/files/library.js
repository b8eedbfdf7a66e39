// A library's desk: loans, readers and their cards, holds, and the rules of the house.
"use strict";

const WITH_SELECTED = ["…", "Extend by 1 week", "Extend by 2 weeks", "Extend by 4 weeks", "Mark as lost"];
const chosen = new Set();
let sheet = "Loans";
let reader = null;

function apply(what) {
  if (what === "…") return;
  for (const title of chosen) {
    const loan = state.loans.find((loan) => loan.title === title);
    if (what === "Mark as lost") loan.status = "lost";
    else loan.extended = what.replace("Extend by ", "");
  }
  chosen.clear();
  keep("Applied.");
}

function loans() {
  const bar = make("div", { hidden: chosen.size === 0 });
  const what = choice("With selected", WITH_SELECTED, "…");
  bar.append(what.line, make("button", { onclick: () => apply(what.value()) }, "Apply"));
  const rows = state.loans.map((loan) => {
    const box = make("input", { type: "checkbox", "aria-label": loan.title, checked: chosen.has(loan.title) });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(loan.title);
      else chosen.delete(loan.title);
      bar.hidden = chosen.size === 0;
    });
    return [box, loan.title, loan.reader, loan.extended ? "+ " + loan.extended : "", loan.status];
  });
  return [table(["", "Title", "Reader", "Extension", "Status"], rows), bar];
}

function card(person) {
  const status = choice("Card", ["valid", "blocked", "expired"], person.card);
  const group = choice("Group", ["child", "adult", "school", "staff"], person.group);
  dialog("Edit " + person.name, [status.line, group.line], "Store", () => {
    person.card = status.value();
    person.group = group.value();
    keep("Stored.");
  });
}

function readers() {
  const open = (person) => { reader = person.name; draw(); };
  const list = state.readers.map((person) => make("li", {}, make("button", { onclick: () => open(person) }, person.name)));
  const person = state.readers.find((person) => person.name === reader);
  if (!person) return [make("ul", {}, ...list)];
  const file = make("section", { "aria-label": person.name }, make("h2", {}, person.name),
    make("p", {}, `Card: ${person.card}. Group: ${person.group}.`),
    make("button", { onclick: () => card(person) }, "Edit"));
  return [make("ul", {}, ...list), file];
}

function holds() {
  const rows = state.holds.map((hold) => {
    const name = make("td", { tabindex: "0", title: "Double-click to pause or resume" }, hold.reader);
    const turn = () => { hold.paused = !hold.paused; keep(hold.paused ? "Paused." : "Resumed."); };
    name.addEventListener("dblclick", turn);
    return make("tr", {}, make("td", {}, hold.title), name, make("td", {}, hold.paused ? "paused" : "waiting"));
  });
  return [make("table", {}, ...rows)];
}

function rules() {
  const { rules } = state;
  const period = choice("Loan period", ["2 weeks", "3 weeks", "4 weeks", "6 weeks"], rules.period);
  const fee = choice("Fee for each day", ["none", "0.10", "0.20", "0.50"], rules.fee);
  const limit = choice("Most items for a card", ["5", "10", "20", "40"], rules.limit);
  dialog("House rules", [period.line, fee.line, limit.line], "Enact", () => {
    rules.period = period.value();
    rules.fee = fee.value();
    rules.limit = limit.value();
    keep("Enacted.");
  });
}

function draw() {
  const header = document.querySelector("header");
  header.querySelectorAll(".menu").forEach((old) => old.remove());
  header.append(menu("Desk", [
    { name: "House rules…", act: rules },
    { name: "Close the desk", act: () => {} },
  ]));
  const sheets = { Loans: loans, Readers: readers, Holds: holds };
  const open = (name) => { sheet = name; draw(); };
  const bar = Object.keys(sheets).map((name) =>
    make("button", { role: "tab", "aria-selected": String(name === sheet), onclick: () => open(name) }, name));
  main.replaceChildren(make("div", { role: "tablist" }, ...bar), ...sheets[sheet]());
}

draw();
