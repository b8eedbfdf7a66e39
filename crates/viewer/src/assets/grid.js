"use strict";
// The first page: tasks x columns, with filters and search.

const PAGE = 150;
const grid = { query: "", only: "all", skill: "", cost: 0, rows: PAGE };

function columnOf(row) {
  return `${row.model} · ${row.arm}`;
}

function cellKey(row) {
  return JSON.stringify([row.task, row.seed]);
}

// Tasks whose verdict differs between columns at the same seed.
function flippedKeys(rows) {
  const seen = new Map();
  for (const row of rows) {
    if (row.repeated || row.verdict === "void") continue;
    const key = cellKey(row);
    if (!seen.has(key)) seen.set(key, new Set());
    seen.get(key).add(row.verdict);
  }
  return new Set([...seen].filter(([, verdicts]) => verdicts.size > 1).map(([key]) => key));
}

function matches(row, flipped) {
  if (grid.only === "fail" && row.verdict !== "fail") return false;
  if (grid.only === "void" && row.verdict !== "void") return false;
  if (grid.only === "flipped" && !flipped.has(cellKey(row))) return false;
  if (grid.only === "looped" && !row.looped) return false;
  if (grid.only === "person" && !row.person_acts) return false;
  if (grid.cost > 0 && !(row.cost_usd >= grid.cost)) return false;
  if (grid.skill && !row.skills.includes(grid.skill)) return false;
  const words = grid.query.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [row.task, row.domain, row.instruction, row.template, row.model, row.arm, row.split, row.why, row.trial, ...row.skills].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

async function showGrid(main) {
  const data = await load(["grid"], { fresh: !embedded });
  document.title = `${data.title} · Apprentice`;
  const body = el("div", {});
  const redraw = () => drawGrid(body, data);
  const skills = [...new Set(data.rows.flatMap((row) => row.skills))].sort();
  const flipped = flippedKeys(data.rows);
  const looped = data.rows.filter((row) => row.looped).length;
  const byPerson = data.rows.filter((row) => row.person_acts).length;
  const priced = data.rows.some((row) => row.cost_usd > 0);
  const count = (verdict) => data.rows.filter((row) => !row.repeated && row.verdict === verdict).length;
  const choice = (name, text) => el("button", { type: "button", class: "choice", "aria-pressed": String(grid.only === name),
    onclick: (event) => {
      grid.only = name;
      grid.rows = PAGE;
      event.target.parentNode.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one === event.target)));
      redraw();
    } }, text);
  draw(main, 
    el("p", { class: "kicker" }, data.runs.map((run) => run.suite).filter((one, at, all) => all.indexOf(one) === at).join(", "),
      " · ", counted(data.runs.length, "run"), " · ", counted(data.rows.length, "attempt")),
    el("h1", {}, data.title),
    el("p", { class: "tally" }, badge("pass", ` ${count("pass")}`), " ", badge("fail", ` ${count("fail")}`), " ", badge("void", ` ${count("void")}`)),
    problems(data.problems) || "",
    el("div", { class: "filters", role: "search" },
      el("input", { type: "search", id: "search", value: grid.query, placeholder: "Search tasks, models, skills (key /)",
        "aria-label": "Search", oninput: (event) => { grid.query = event.target.value; grid.rows = PAGE; redraw(); } }),
      el("div", { class: "choices", role: "group", "aria-label": "Show" },
        choice("all", "All"), choice("fail", "Failed"), choice("void", "Void"),
        choice("flipped", `Flipped (${flipped.size})`), choice("looped", `Looped (${looped})`),
        byPerson ? choice("person", `Person acted (${byPerson})`) : null),
      priced ? el("input", { type: "number", min: "0", step: "any", value: grid.cost || "", placeholder: "cost from $",
        "aria-label": "Cost in dollars, at least", oninput: (event) => { grid.cost = Number(event.target.value) || 0; grid.rows = PAGE; redraw(); } }) : null,
      skills.length ? el("select", { "aria-label": "Attempts that read a skill", onchange: (event) => { grid.skill = event.target.value; redraw(); } },
        el("option", { value: "" }, "any skill"), skills.map((skill) => el("option", { value: skill, selected: skill === grid.skill }, skill))) : null),
    body,
    glossary());
  redraw();
}

function drawGrid(body, data) {
  const flipped = flippedKeys(data.rows);
  const rows = data.rows.filter((row) => matches(row, flipped));
  const columns = [...new Set(data.rows.map(columnOf))].sort();
  const used = columns.filter((column) => rows.some((row) => columnOf(row) === column));
  const firsts = new Map();
  for (const row of rows) if (!firsts.has(row.task)) firsts.set(row.task, row);
  const tasks = [...firsts.keys()];
  say(`${counted(rows.length, "attempt")} of ${data.rows.length}`);
  if (rows.length === 0) {
    draw(body, el("p", { class: "soft" }, data.rows.length ? "No attempt matches." : "No attempt is finished yet. Running ones are under Live."));
    return;
  }
  const cells = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.task, columnOf(row)]);
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(row);
  }
  const line = (task) => {
    const first = firsts.get(task);
    return el("tr", {},
      el("th", { scope: "row" }, el("span", { class: "task" }, task),
        el("span", { class: "soft" }, [first.domain, first.template !== task && first.template, first.split].filter(Boolean).join(" · ")),
        first.instruction ? el("span", { class: "soft instruction" }, first.instruction) : ""),
      used.map((column) => {
        const here = cells.get(JSON.stringify([task, column])) || [];
        return el("td", { "data-column": column }, here.map((row) => chip(row, flipped.has(cellKey(row)))));
      }));
  };
  const table = el("table", { class: "grid" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, counted(tasks.length, "task")),
      used.map((column) => {
        const counted = rows.filter((row) => columnOf(row) === column && !row.repeated && row.verdict !== "void");
        const passed = counted.filter((row) => row.verdict === "pass").length;
        const [model, arm] = column.split(" · ");
        return el("th", { scope: "col" }, el("span", { class: "model" }, model), el("strong", {}, arm), el("span", { class: "soft" }, `${passed} of ${counted.length}`));
      }))),
    el("tbody", {}, tasks.slice(0, grid.rows).map(line)));
  draw(body, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Results" }, table),
    tasks.length > grid.rows ? el("button", { type: "button", class: "more", onclick: () => { grid.rows += PAGE; drawGrid(body, data); } },
      `Show more (${tasks.length - grid.rows} tasks)`) : "");
}

function chip(row, isFlipped) {
  const known = VERDICTS[row.verdict] || { mark: "?", word: row.verdict };
  const words = `${known.word}: ${row.task}, ${row.model}, ${row.arm}, seed ${row.seed}, ${counted(row.steps, "step")}, ${row.why}` +
    (row.skills.length ? `; read ${row.skills.join(", ")}` : "") + (isFlipped ? "; flipped" : "") + (row.repeated ? "; repeated later" : "") +
    (row.person_acts ? `; ${counted(row.person_acts, "act")} of a person` : "") + (row.cost_usd > 0 ? `; ${money(row.cost_usd)}` : "");
  return el("a", { class: `chip ${row.verdict}${isFlipped ? " flipped" : ""}${row.repeated ? " repeated" : ""}`,
    href: link("attempt", row.run, row.trial, row.attempt), title: words, "aria-label": words }, known.mark);
}

function glossary() {
  return el("details", { class: "glossary" }, el("summary", {}, "What the words mean"),
    el("dl", {}, Object.entries(GLOSSARY).map(([word, meaning]) => [el("dt", {}, word), el("dd", {}, meaning)])));
}
