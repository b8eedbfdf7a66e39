"use strict";
// The skillbook: its skills, and each skill with its sources and readers.

function skillLink(id) {
  const book = state.books[0];
  return book ? el("a", { href: link("skill", book, id) }, id) : el("code", {}, id);
}

async function showBook(main, [name]) {
  const book = await load(["book", name], { fresh: !embedded });
  document.title = `${named(name)} · Apprentice`;
  draw(main, 
    el("p", { class: "kicker" }, "skillbook ", state.books.length > 1 ? state.books.filter((one) => one !== name).map((one) => [el("a", { href: link("book", one) }, named(one)), " "]) : ""),
    el("h1", {}, named(name)), problems(book.problems),
    el("p", {}, `${counted(book.skills.length, "skill")}, ${counted(book.history.length, "operation")}`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Skills" }, el("table", {},
      el("thead", {}, el("tr", {}, ["skill", "version", "read", "followed", "helped", "harmed"].map((word) => el("th", { scope: "col" }, word)))),
      el("tbody", {}, book.skills.map((skill) => el("tr", {},
        el("th", { scope: "row" }, el("a", { href: link("skill", name, skill.id) }, skill.id), el("span", { class: "soft block" }, skill.description)),
        [skill.version, skill.counts.times_requested, skill.counts.times_followed, skill.counts.positive_impact, skill.counts.negative_impact].map((value) => el("td", { class: "n" }, value))))))),
    el("h2", {}, "History"), historyList(name, book.history.slice(-300).reverse()),
    book.history.length > 300 ? el("p", { class: "soft" }, `The latest 300 of ${book.history.length} operations; \`apprentice skills log\` lists all.`) : "");
}

function historyList(book, entries) {
  return el("ol", { class: "history" }, entries.map((entry) => el("li", { id: entry.id },
    el("code", {}, entry.id), ` ${String(entry.time).slice(0, 16).replace("T", " ")} · ${entry.op.replaceAll("_", " ")} · ${entry.actor} `,
    entry.skills.map((skill) => [el("a", { href: link("skill", book, skill) }, skill), " "]), el("span", {}, entry.summary),
    entry.cause ? [" ", attemptLink(entry.cause.trajectory)] : null)));
}

// An attempt as skillbooks name it: RUN/TRIAL/ATTEMPT, with the run's id.
function attemptLink(trajectory, step) {
  const parts = String(trajectory || "").split("/");
  const run = parts.length === 3 ? state.runs.find((one) => one.id === parts[0]) : null;
  const words = step ? `step ${String(step).replace("s", "")}` : "its attempt";
  if (!run) return el("span", { class: "soft", title: "The run of this attempt is not among the opened ones." }, step ? words : trajectory || "");
  return el("a", { href: link("source", run.name, parts[1], parts[2], step || "") }, words);
}

// A link to a step by its id in the trace, which is not its place.
async function showSource(main, [run, trial, attempt, step]) {
  const data = await load(["attempt", run, trial, attempt]);
  const wanted = Number(String(step || "").replace("s", ""));
  const found = data.turns.findIndex((turn) => turn.step === wanted);
  location.replace(link("attempt", run, trial, attempt, found < 0 ? 0 : found));
}

async function showSkill(main, [book, id]) {
  const skill = await load(["skill", book, id], { fresh: !embedded });
  document.title = `${id} · Apprentice`;
  const sections = ["situation", "guidance", "annotations"];
  draw(main, 
    el("p", { class: "kicker" }, el("a", { href: link("book", book) }, book), ` · version ${skill.version}`),
    el("h1", {}, skill.id), el("p", { class: "instruction" }, skill.description),
    el("p", { class: "soft" }, `read ${skill.counts.times_requested}, followed ${skill.counts.times_followed}, helped ${skill.counts.positive_impact}, harmed ${skill.counts.negative_impact}, changed little ${skill.counts.neutral_impact}`),
    sections.map((section) => {
      const lines = skill.lines.filter((line) => line.section === section);
      return lines.length ? [el("h2", {}, section[0].toUpperCase() + section.slice(1)), el("div", { class: "blame" }, lines.map((line) => blameLine(line)))] : null;
    }).flat(),
    skill.lines.length ? null : el("pre", {}, `${skill.situation}\n\n${skill.guidance}`),
    skill.figures.length ? el("div", { class: "figures" }, skill.figures.map((figure) => {
      const source = pictureOf("figure", book, figure.sha256);
      return el("figure", {}, source ? el("img", { src: source, alt: figure.alt }) : el("p", { class: "soft" }, "The figure is missing."), el("figcaption", {}, figure.alt));
    })) : null,
    el("h2", {}, `Attempts that read it (${skill.read_by.length})`), readers(skill),
    skill.trials.length ? [el("h2", {}, "What attempts did with it, as far as their acts show"), el("ul", { class: "plain" }, skill.trials.map((trial) => el("li", {},
      badge(trial.passed ? "pass" : "fail"), ` version ${trial.version}, `, trial.followed === null ? "the text names no acts to compare with" : trial.followed ? "its acts follow the text" : "its acts do not show that the text was followed", " · ", attemptLink(trial.trajectory))))] : null,
    el("h2", {}, "History"), historyList(book, skill.history.slice().reverse()));
}

function blameLine(line) {
  const sources = line.steps.length ? line.steps : line.trajectory ? [null] : [];
  return el("div", { class: "line" }, el("span", { class: "text" }, line.text || " "),
    el("span", { class: "from soft" }, el("code", {}, line.operation), ` ${line.actor} `,
      sources.map((step) => [attemptLink(line.trajectory, step), " "]),
      (line.origins || []).map((origin) => `${String(origin.source).replaceAll("_", " ")} `)));
}

function readers(skill) {
  if (!skill.read_by.length) return el("p", { class: "soft" }, "No attempt of the opened runs read it.");
  return el("ul", { class: "plain" }, skill.read_by.map((one) => el("li", {},
    el("a", { href: link("attempt", one.run, one.trial, one.attempt) }, badge(one.verdict), ` ${one.task} · ${one.model} · ${one.arm} · seed ${one.seed}`),
    one.turns === null ? " (its trace cannot be read)" : one.turns.map((turn) => [" · ", el("a", { href: link("attempt", one.run, one.trial, one.attempt, turn) }, `turn ${turn + 1}`)]))));
}
