"use strict";
// What is running now.

const DOING = { setting_up: "setting up the world", waiting_for_model: "waiting for the model", acting: "acting", judging: "being judged" };

async function showLive(main) {
  document.title = "Live · Apprentice";
  if (embedded) {
    draw(main, el("h1", {}, "Live"), el("p", {}, "An exported page shows nothing live. Serve the run with apprentice view."));
    return;
  }
  const draw = async () => {
    const data = await load(["live"], { fresh: true });
    if (state.page !== "live") return;
    const busy = data.runs.filter((run) => run.is_running);
    draw(main, el("h1", {}, "Live"),
      busy.length ? busy.map(liveRun) : el("p", { class: "soft" }, "No run is working at the moment."));
    state.timer = setTimeout(() => draw().catch((error) => failed(main, error)), 1000);
  };
  await draw();
}

function liveRun(run) {
  const done = run.passed + run.failed + run.void;
  return el("section", {}, el("h2", {}, run.run, el("span", { class: "soft" }, ` ${done} of ${run.planned} finished: ${run.passed} passed, ${run.failed} failed, ${run.void} void · ${money(run.cost_usd)}`)),
    el("progress", { max: run.planned || 1, value: done }),
    el("div", { class: "live" }, run.attempts.map((one) => el("article", {},
      el("h3", {}, el("a", { href: link("attempt", run.run, one.trial, one.attempt, Math.max(one.turns - 1, 0)) }, one.task), el("span", { class: "soft" }, ` ${one.model}`)),
      picture(run.run, one.screen, []),
      el("p", {}, el("strong", {}, DOING[one.doing] || one.doing), ` · ${counted(one.turns, "turn")} · ${number(one.tokens)} tokens · ${money(one.cost_usd)}`),
      one.last_act ? el("p", {}, one.last_act) : null,
      one.say ? el("blockquote", {}, one.say) : null))));
}
