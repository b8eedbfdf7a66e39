"use strict";
// One attempt: what it was asked, how it ended, and its steps.

const PARTS = [
  ["model", "model"], ["waiting", "waiting for rate limits"], ["world", "world"], ["tools", "tools"], ["check", "check"], ["setup", "set-up"],
];

function bar(times, label) {
  const all = PARTS.reduce((sum, [name]) => sum + (times[name] || 0), 0);
  if (!all) return null;
  const text = PARTS.filter(([name]) => times[name]).map(([name, words]) => `${words} ${duration(times[name])}`).join(", ");
  return el("span", { class: "times", role: "img", title: text, "aria-label": `${label || "Time"}: ${text}` },
    PARTS.filter(([name]) => times[name]).map(([name]) =>
      el("span", { class: `part ${name}`, css: { "flex-grow": times[name] / all } })));
}

function legend() {
  return el("p", { class: "legend soft" }, PARTS.map(([name, words]) => [el("span", { class: `part ${name}` }), ` ${words}  `]));
}

async function showAttempt(main, [run, trial, attempt, place]) {
  const [data, all] = await Promise.all([load(["attempt", run, trial, attempt], { fresh: !embedded }), load(["grid"])]);
  document.title = `${data.task} · ${data.model} · Apprentice`;
  const at = Math.min(Math.max(Number(place) || 0, 0), Math.max(data.turns.length - 1, 0));
  const panel = el("section", { class: "step", id: "step", "aria-label": "Step" });
  const list = el("ol", { class: "steps", "aria-label": "Steps" }, data.turns.map((turn) => stepLine(data, turn)));
  draw(main, head(data, all), el("div", { class: "attempt" }, list, panel));
  drawStep(panel, list, data, at);
  state.keys = {
    j: () => go(at + 1), ArrowDown: () => go(at + 1), ArrowRight: () => go(at + 1),
    k: () => go(at - 1), ArrowUp: () => go(at - 1), ArrowLeft: () => go(at - 1),
    b: () => { const range = document.getElementById("slider"); if (range) { range.value = range.value === "0" ? "100" : "0"; range.dispatchEvent(new Event("input")); } },
    c: () => { const first = document.querySelector(".siblings a.aside"); if (first) location.hash = first.getAttribute("href"); },
  };
  function go(next) {
    if (next >= 0 && next < data.turns.length) location.hash = link("attempt", run, trial, attempt, next);
  }
}

function head(data, all) {
  const row = data.row;
  const verdict = data.judged ? data.judged.verdict : row ? row.verdict : null;
  const why = data.judged ? data.judged.explanation : row && row.void_cause ? row.void_cause.replaceAll("_", " ") : "";
  const tokens = data.turns.reduce((sum, turn) => sum + turn.input_tokens + turn.output_tokens, 0);
  const costs = data.turns.map((turn) => turn.cost_usd).filter((cost) => cost !== null);
  return el("header", { class: "head" },
    el("p", { class: "kicker" }, [data.model, row && row.arm, row && `seed ${row.seed}`, row && row.split, data.world, data.began.slice(0, 19).replace("T", " "),
      `attempt ${data.attempt}`].filter(Boolean).join(" · ")),
    el("h1", {}, data.task),
    el("p", { class: "instruction" }, data.instruction),
    el("p", { class: "result" }, verdict ? badge(verdict, data.judged ? `, score ${data.judged.score.toFixed(2)}` : "") : badge("not judged yet"), " ", why),
    el("p", { class: "soft" }, data.ended ? `Ended: ${data.ended.reason}${data.ended.detail ? ` (${data.ended.detail})` : ""}` : "The trace has no end: the attempt is running, or was cut off.",
      ` · ${counted(data.turns.length, "turn")} · ${number(tokens)} tokens · ${money(costs.length ? costs.reduce((a, b) => a + b, 0) : null)} · ${duration(data.times.whole)}`),
    bar(data.times, "Time of the attempt"), legend(),
    problems(data.problems),
    checks(data),
    siblings(data, all),
    data.opening.length ? el("details", {}, el("summary", {}, "How the world was opened"), noteList(data.opening)) : null);
}

function checks(data) {
  const judged = data.judged ? data.judged.checks : [];
  if (!judged.length && !data.evidence.length) return null;
  const found = (number, side) => data.evidence.filter((one) => one.number === number && one.side === side);
  const numbers = [...new Set([...judged.map((_, at) => at + 1), ...data.evidence.map((one) => one.number)])];
  return el("details", { class: "checks", open: Boolean(data.judged && data.judged.verdict !== "pass") },
    el("summary", {}, "What the checks found"),
    numbers.map((at) => {
      const check = judged[at - 1];
      return el("div", { class: "check" },
        check ? el("p", {}, el("code", {}, check.metric), ` ${check.score === null ? "no score" : check.score.toFixed(2)} `, check.explanation) : null,
        el("div", { class: "two" }, ["found", "expected"].map((side) => el("div", {}, found(at, side).map((one) => [
          el("p", { class: "soft" }, side, " · ", el("code", {}, one.getter), one.code === null ? "" : ` · exit code ${one.code}`, one.took_ms ? ` · ${duration(one.took_ms)}` : ""),
          one.command ? el("details", {}, el("summary", {}, "command"), el("pre", {}, one.command)) : null,
          one.texts.map((text) => [text.name === "value" ? null : el("p", { class: "soft" }, text.name), el("pre", {}, text.text)]),
        ])))));
    }));
}

// Other attempts at the same task, each with a way to see both side by side.
function siblings(data, all) {
  const others = all.rows.filter((row) => row.task === data.task && !(row.run === data.run && row.trial === data.trial && row.attempt === data.attempt));
  if (!others.length) return null;
  const own = data.row ? data.row.seed : null;
  others.sort((one, other) => (other.seed === own) - (one.seed === own));
  return el("details", { class: "siblings", open: others.length <= 6 }, el("summary", {}, `${counted(others.length, "other attempt")} at this task`),
    el("ul", {}, others.slice(0, 60).map((row) => el("li", {},
      el("a", { href: link("attempt", row.run, row.trial, row.attempt) }, badge(row.verdict), ` ${row.model} · ${row.arm} · seed ${row.seed}`),
      el("span", { class: "soft" }, " · "), el("a", { class: "aside", href: link("compare", data.run, data.trial, data.attempt, row.run, row.trial, row.attempt) }, "side by side")))));
}

function stepLine(data, turn) {
  const act = turn.acts.map((one) => `${one.text}${one.target ? ` ${one.target}` : ""}`).concat(turn.tools.map((tool) => tool.name)).join("; ");
  const failed = turn.acts.some((one) => one.outcome === "failed") || turn.tools.some((tool) => tool.is_error);
  return el("li", {}, el("a", { href: link("attempt", data.run, data.trial, data.attempt, turn.place) },
    el("span", { class: "n" }, turn.step === null ? turn.place + 1 : turn.step),
    el("span", { class: "what" }, act || turn.say[0] || "no act"),
    turn.skills.some((one) => one.kind === "skill.viewed") ? el("span", { class: "tag skill" }, "skill") : null,
    failed ? el("span", { class: "tag fail" }, "refused") : null,
    turn.check_changed ? el("span", { class: "tag" }, "checked state changed") : null,
    bar(turn.time)));
}

function drawStep(panel, list, data, at) {
  const turn = data.turns[at];
  if (!turn) {
    draw(panel, picture(data.run, data.last, []), el("p", { class: "soft" }, "The model was never asked."));
    return;
  }
  [...list.children].forEach((line, place) => {
    const current = place === at;
    line.classList.toggle("current", current);
    if (current) { line.firstChild.setAttribute("aria-current", "step"); line.scrollIntoView({ block: "nearest" }); }
  });
  say(`Step ${turn.step === null ? at + 1 : turn.step} of ${data.turns.length}`);
  const move = (to, text) => el("a", { class: "move", "aria-disabled": String(to < 0 || to >= data.turns.length),
    href: link("attempt", data.run, data.trial, data.attempt, Math.min(Math.max(to, 0), data.turns.length - 1)) }, text);
  const more = el("div", { class: "more-of-step" });
  draw(panel, 
    el("h2", {}, `Step ${turn.step === null ? at + 1 : turn.step}`, el("span", { class: "soft" }, ` at ${duration(turn.at_ms)} · model ${duration(turn.time.model)}` +
      `${turn.time.waiting ? `, waiting ${duration(turn.time.waiting)}` : ""}, world ${duration(turn.time.world)} · ${number(turn.input_tokens)} tokens in, ${number(turn.output_tokens)} out` +
      `${turn.cost_usd === null ? "" : ` · ${money(turn.cost_usd)}`}`),
    el("span", { class: "moves" }, move(at - 1, "‹ previous"), move(at + 1, "next ›"))),
    slider(data.run, turn),
    conduct(turn, data),
    more,
    at === data.turns.length - 1 && data.last ? el("div", {}, el("h3", {}, "At the end"), picture(data.run, data.last, [])) : null);
  details(more, data, at);
}

function conduct(turn) {
  return el("div", { class: "conduct" },
    turn.say.map((text) => el("blockquote", {}, text)),
    el("ul", { class: "acts" },
      turn.acts.map((act, index) => el("li", { class: act.outcome, id: act.event }, el("i", { class: `mark ${act.outcome}` }, String(index + 1)), " ",
        act.text, act.target ? el("span", { class: "target" }, ` ${act.target}`) : null, act.line ? el("span", { class: "soft" }, ` (line ${act.line} of a function)`) : null,
        act.outcome === "not_executed" ? el("span", { class: "soft" }, " not executed") : null,
        act.note ? el("span", { class: act.outcome === "failed" ? "why" : "soft" }, ` ${act.note}`) : null)),
      turn.tools.map((tool) => el("li", { class: tool.is_error ? "failed" : "done" }, el("code", {}, tool.name), ` ${tool.arguments}`,
        tool.took_ms === null ? null : el("span", { class: "soft" }, ` ${duration(tool.took_ms)}`),
        tool.answer ? el("details", {}, el("summary", {}, "answer"), el("pre", {}, tool.answer)) : null)),
      turn.skills.filter(isNews).map((one) => el("li", { class: "skill", id: one.event }, one.kind.replace("skill.", "skill ").replaceAll("_", " "), " ",
        one.skill ? skillLink(one.skill) : null, one.version ? ` version ${one.version}` : "", one.detail ? el("span", { class: "soft" }, ` ${one.detail}`) : null,
        one.text ? el("details", {}, el("summary", {}, "the text"), el("pre", {}, one.text)) : null))),
    noteList(turn.notes));
}

// Listing a domain is recorded for each of its skills; one line says it.
function isNews(one, at, all) {
  const same = (other) => other.kind === one.kind && !other.skill && other.detail === one.detail;
  return Boolean(one.skill) || !all.slice(0, at).some(same);
}

function noteList(notes) {
  return el("ul", { class: "acts" }, notes.map((one) => el("li", { class: one.class, id: one.event }, one.label,
    one.note ? el("span", { class: "soft" }, ` ${one.note}`) : null,
    one.text ? el("details", {}, el("summary", {}, "text"), el("pre", {}, one.text)) : null)));
}

// What is read only when somebody looks at the step: messages, raw reply, outline, changes.
async function details(box, data, at) {
  draw(box, el("p", { class: "soft" }, "Loading…"));
  let step;
  try {
    step = await load(["step", data.run, data.trial, data.attempt, String(at)]);
  } catch (error) {
    draw(box, problems([error.message]));
    return;
  }
  const changed = step.changes ? step.changes.filter((line) => line.sign === "+" || line.sign === "-").length : 0;
  draw(box, [
    problems(step.problems),
    fold(`What changed on the screen (${counted(changed, "line")})`, step.changes && changed ? el("pre", { class: "changes" },
      step.changes.map((line) => el("span", { class: line.sign === "+" ? "plus" : line.sign === "-" ? "minus" : "same" }, `${line.sign} ${line.text}\n`)))
      : el("p", { class: "soft" }, step.changes ? "The outline is the same." : "There is no outline to compare."), changed > 0 && changed < 40),
    fold("What the model was sent", step.has_sent ? el("div", {}, step.sent.map((message) => sentMessage(data.run, message)))
      : el("p", { class: "soft" }, "This trace does not hold what was sent.")),
    fold("The outline", step.outline === null ? el("p", { class: "soft" }, "There is none.") : el("pre", {}, step.outline || "(empty)")),
    step.shown === null ? null : fold("The outline as the model got it", el("pre", {}, step.shown)),
    step.system === null ? null : fold("System prompt and tools", el("div", {}, el("pre", {}, step.system),
      step.tools.map((tool) => el("details", {}, el("summary", {}, tool.name), el("p", {}, tool.description), el("pre", {}, JSON.stringify(tool.schema, null, 2)))))),
    fold("The raw reply", step.raw.length ? el("div", {}, step.raw.map((text) => el("pre", {}, text))) : el("p", { class: "soft" }, "This trace does not hold it.")),
  ]);
}

function fold(title, content, open) {
  return el("details", { open: Boolean(open) }, el("summary", {}, title), content);
}

function sentMessage(run, message) {
  return el("div", { class: "sent" }, el("p", { class: "soft" }, message.role), message.parts.map((part) => part.text !== undefined
    ? el("pre", {}, part.text)
    : sentPicture(run, part.picture)));
}

function sentPicture(run, name) {
  const source = pictureOf("picture", run, name);
  return source ? el("img", { class: "sent-picture", src: source, alt: "A picture that was sent", loading: "lazy" }) : el("p", { class: "soft" }, `a picture, ${name.slice(0, 12)}`);
}
