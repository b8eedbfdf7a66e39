// A wiki's page: who may edit it, its name, where it is sorted, its talk, and how it is read.
"use strict";

const GROUPS = {
  Places: ["Bridges", "Parks", "Streets", "Wells"],
  People: ["Bakers", "Mayors", "Painters", "Teachers"],
  Times: ["Floods", "Markets", "Strikes"],
};
let sheet = "Article";

function protection() {
  const editors = choice("May change it", ["everyone", "members", "editors"], state.editors);
  const until = choice("Lasts", ["a day", "a month", "for ever"], state.until);
  dialog("Protection", [editors.line, until.line], "Protect", () => {
    state.editors = editors.value();
    state.until = until.value();
    keep("Protected.");
  });
}

function move() {
  const title = field("New name", state.title);
  const signpost = tick("Leave a signpost at the old name", true);
  dialog("Move", [title.line, signpost.line], "Move it", () => {
    if (!title.value()) return false;
    state.signpost = signpost.value() ? state.title : "";
    state.title = title.value();
    keep("Moved.");
    return true;
  });
}

function sortUnder() {
  const boxes = [];
  const groups = Object.entries(GROUPS).map(([group, names]) => make("details", {}, make("summary", {}, group),
    ...names.map((name) => {
      const box = tick(name, state.sorted.includes(name));
      boxes.push([name, box]);
      return box.line;
    })));
  dialog("Sort under", groups, "File", () => {
    state.sorted = boxes.filter(([, box]) => box.value()).map(([name]) => name);
    keep("Filed.");
  });
}

function reading() {
  const size = choice("Letters", ["small", "medium", "large"], state.reading.size);
  const contents = tick("Contents above the text", state.reading.contents);
  dialog("Reading", [size.line, contents.line], "Use", () => {
    state.reading.size = size.value();
    state.reading.contents = contents.value();
    keep("Used.");
  });
}

function article() {
  const sorted = state.sorted.join(", ") || "nothing";
  return [make("p", {}, state.text), make("footer", {}, `Sorted under ${sorted}. `,
    make("button", { onclick: sortUnder }, "Sort"))];
}

function talk() {
  return state.topics.map((topic) => make("section", { "aria-label": topic.name }, make("h3", {}, topic.name),
    make("p", {}, topic.closed ? "This topic is closed." : "Open for replies."),
    menu("Topic " + topic.name, [
      { name: "Quote", act: () => {} },
      { name: "Close topic", act: () => { topic.closed = true; keep("Closed."); } },
    ], "⋮")));
}

function draw() {
  const header = document.querySelector("header");
  header.querySelectorAll(".menu, .reading").forEach((old) => old.remove());
  header.append(menu("Page", [
    { name: "Protection…", act: protection },
    { name: "Move…", act: move },
    { name: "Print", act: () => {} },
  ]), make("button", { class: "reading", "aria-label": "Reading", onclick: reading }, "Aa"));
  const open = (name) => { sheet = name; draw(); };
  const bar = ["Article", "Talk"].map((name) =>
    make("button", { role: "tab", "aria-selected": String(name === sheet), onclick: () => open(name) }, name));
  main.replaceChildren(make("div", { role: "tablist" }, ...bar), make("h2", {}, state.title),
    ...(sheet === "Talk" ? talk() : article()));
}

draw();
