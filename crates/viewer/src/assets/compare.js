"use strict";
// Two attempts side by side, aligned by the state in which each step began.

async function showComparison(main, [run, trial, attempt, otherRun, otherTrial, otherAttempt, rowPlace]) {
  const [left, right, data] = await Promise.all([
    load(["attempt", run, trial, attempt]),
    load(["attempt", otherRun, otherTrial, otherAttempt]),
    comparison([run, trial, attempt], [otherRun, otherTrial, otherAttempt]),
  ]);
  document.title = `${left.task}, side by side · Apprentice`;
  const parting = data.parting;
  const at = rowPlace === undefined ? (parting === null ? 0 : parting) : Math.min(Math.max(Number(rowPlace) || 0, 0), Math.max(data.rows.length - 1, 0));
  const here = (row) => link("compare", run, trial, attempt, otherRun, otherTrial, otherAttempt, row);
  const panel = el("div", { class: "sides" }, column(left, data.rows[at] && data.rows[at].left, at), column(right, data.rows[at] && data.rows[at].right, at));
  const cell = (side, place) => {
    const turn = place === null ? null : side.turns[place];
    if (!turn) return el("td", { class: "empty" }, "");
    const text = turn.acts.map((act) => `${act.text}${act.target ? ` ${act.target}` : ""}`).concat(turn.tools.map((tool) => `${tool.name} ${tool.arguments}`)).join("; ");
    return el("td", {}, el("span", { class: "n" }, turn.step === null ? place + 1 : turn.step), " ", text || "no act",
      turn.skills.filter((one) => one.kind === "skill.viewed").map((one) => [" ", el("span", { class: "tag skill" }, one.skill)]));
  };
  draw(main, 
    el("p", { class: "kicker" }, "side by side, aligned by what was on the screen"),
    el("h1", {}, left.task),
    el("p", { class: "instruction" }, left.instruction),
    left.instruction === right.instruction ? null : el("p", { class: "instruction" }, right.instruction),
    el("p", { class: "result" }, parting === null ? "Both did the same to the end." : ["They part at row ", el("a", { href: here(parting) }, String(parting + 1)), "."],
      data.left_out ? ` ${counted(data.left_out, "later turn")} are left out.` : "", data.unread ? ` ${counted(data.unread, "outline")} could not be read.` : ""),
    panel,
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All steps" },
      el("table", { class: "aligned" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "row"), el("th", { scope: "col" }, who(left)), el("th", { scope: "col" }, who(right)))),
        el("tbody", {}, data.rows.map((row, place) => el("tr", { class: `${place === at ? "current" : ""}${place === parting ? " parting" : ""}` },
          el("th", { scope: "row" }, el("a", { href: here(place) }, String(place + 1))), cell(left, row.left), cell(right, row.right)))))));
  state.keys = {
    j: () => go(at + 1), ArrowDown: () => go(at + 1), k: () => go(at - 1), ArrowUp: () => go(at - 1),
    p: () => { if (parting !== null) location.hash = here(parting); },
  };
  function go(next) {
    if (next >= 0 && next < data.rows.length) location.hash = here(next);
  }
}

// An exported page holds each pair once.
async function comparison(left, right) {
  try {
    return await load(["compare", ...left, ...right]);
  } catch (error) {
    if (!embedded) throw error;
    const data = await load(["compare", ...right, ...left]);
    return { ...data, rows: data.rows.map((row) => ({ left: row.right, right: row.left })) };
  }
}

function who(side) {
  const verdict = side.judged ? side.judged.verdict : side.row ? side.row.verdict : "not judged";
  return [badge(verdict), ` ${side.model}`, side.row ? ` · ${side.row.arm} · seed ${side.row.seed}` : ""];
}

function column(side, place) {
  const turn = place === null || place === undefined ? null : side.turns[place];
  const title = el("h2", {}, el("a", { href: link("attempt", side.run, side.trial, side.attempt, place || 0) }, who(side)));
  if (!turn) return el("section", { class: "side" }, title, el("p", { class: "soft" }, "This attempt has no step in this state."));
  return el("section", { class: "side" }, title, el("p", { class: "soft" }, `step ${turn.step === null ? place + 1 : turn.step}`), slider(side.run, turn), conduct(turn));
}
