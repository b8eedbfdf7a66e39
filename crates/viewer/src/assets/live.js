"use strict";
// What runs now: states come as server-sent events, orders go by POST.

const DOING = { setting_up: "setting up the world", waiting_for_model: "waiting for the model", acting: "acting",
  waiting_for_person: "waiting for a person", judging: "being judged" };
// While mouse and keyboard are taken over, the lease is renewed and the screen looked at this often.
const RENEW_MS = 3000;
const WATCHER = `page ${Math.floor(Math.random() * 900 + 100)}`;

async function showLive(main) {
  document.title = "Live · Apprentice";
  if (embedded) {
    draw(main, el("h1", {}, "Live"), el("p", {}, "An exported page shows nothing live. Serve the run with apprentice view."));
    return;
  }
  const about = el("div", {});
  const list = el("div", { class: "live" });
  const cards = new Map();
  draw(main, el("h1", {}, "Live"), about, list);
  const events = new EventSource("control/events");
  state.leave = () => { events.close(); cards.forEach((card) => card.leave()); };
  events.onmessage = (event) => {
    const processes = JSON.parse(event.data);
    draw(about, processes.length ? processes.map(processLine) : el("p", { class: "soft" }, "Nothing runs at the moment."));
    const seen = new Set();
    for (const process of processes) {
      for (const trial of process.trials) {
        const key = `${process.process}/${trial.trial}`;
        seen.add(key);
        if (!cards.has(key)) {
          const card = liveCard(process.process, trial.trial);
          cards.set(key, card);
          list.append(card.node);
        }
        cards.get(key).update(process, trial);
      }
    }
    for (const [key, card] of cards) {
      if (!seen.has(key)) { card.leave(); card.node.remove(); cards.delete(key); }
    }
    main.dataset.live = String(cards.size);
  };
  events.onerror = () => say("The viewer does not answer; the page tries again.");
}

async function order(process, content) {
  const answer = await fetch(`control/order/${process}`, { method: "POST",
    headers: { "content-type": "application/json" }, body: JSON.stringify({ by: WATCHER, ...content }) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

function processLine(process) {
  const done = process.passed + process.failed;
  const all = (name, label) => el("button", { type: "button", onclick: () => order(process.process, { order: name }).catch((error) => say(error.message)) }, label);
  return el("section", {}, el("h2", {}, (process.run && named(process.run)) || process.command,
    el("span", { class: "soft" }, ` ${done} of ${process.planned} done: ${process.passed} passed, ${process.failed} failed, ${process.void} void · ${money(process.cost_usd)}`)),
  el("progress", { max: process.planned || 1, value: done }),
  el("p", { class: "choices" }, process.paused ? all("continue", "Continue all") : all("pause", "Pause all")));
}

// A card that lives as long as its trial, so that buttons and the screen keep the focus while the state changes.
function liveCard(process, trial) {
  const held = { key: null, timer: 0, queue: Promise.resolve(), text: "" };
  let shot = 0;
  const head = el("h3", {});
  const doing = el("p", {});
  const act = el("p", {});
  const words = el("blockquote", {});
  const problem = el("p", { class: "problems", role: "alert", hidden: true });
  const image = el("img", { alt: "The newest picture of the screen", draggable: "false", hidden: true });
  const none = el("p", { class: "none" }, "No picture yet.");
  const screen = el("div", { class: "screen", tabindex: "-1" }, image, none);
  const showPicture = (is) => { image.hidden = !is; none.hidden = is; };
  image.addEventListener("error", () => showPicture(false));
  image.addEventListener("load", () => showPicture(true));
  const failed = (error) => { problem.textContent = error ? error.message : ""; problem.hidden = !error; };
  const send = (content) => order(process, { trial, ...content }).then((done) => { failed(null); return done; }, (error) => {
    failed(error);
    if (/lease has ended|does not run/.test(error.message)) release();
    return null;
  });
  const button = (label, onclick) => el("button", { type: "button", onclick }, label);
  const pause = button("Pause", () => send({ order: "pause" }));
  const goOn = button("Continue", () => send({ order: "continue" }));
  const step = button("Step", () => send({ order: "step" }));
  const take = button("Take over", takeOver);
  const back = button("Hand back", async () => { await flush(); await send({ order: "hand_back", key: held.key }); release(); });
  const stop = button("Stop", () => { if (confirm("Stop this trial? It will be void.")) send({ order: "stop" }); });
  const hint = el("p", { class: "soft" }, "You have mouse and keyboard: click into the picture and type. What you do is recorded as yours.");
  hint.hidden = true;

  async function takeOver() {
    const done = await send({ order: "take_over" });
    if (!done || !done.key) return;
    held.key = done.key;
    screen.classList.add("held");
    screen.tabIndex = 0;
    screen.focus();
    hint.hidden = false;
    held.timer = setInterval(() => { enqueue({ order: "look", key: held.key }); }, RENEW_MS);
    enqueue({ order: "look", key: held.key });
  }

  function release() {
    clearInterval(held.timer);
    held.key = null;
    screen.classList.remove("held");
    screen.tabIndex = -1;
    hint.hidden = true;
  }

  // Acts are performed one after the other, in the order in which they were made.
  function enqueue(content) {
    held.queue = held.queue.then(() => (held.key ? send(content) : null));
    return held.queue;
  }

  const perform = (action) => enqueue({ order: "act", key: held.key, action });

  // Letters that were typed in a row are one act.
  function flush() {
    const text = held.text;
    held.text = "";
    clearTimeout(held.typing);
    return text ? perform({ do: "type", text }) : held.queue;
  }

  function place(event) {
    const box = image.getBoundingClientRect();
    const at = (position, size, natural) => Math.min(natural - 1, Math.max(0, Math.round(position / size * natural)));
    return { x: at(event.clientX - box.left, box.width, image.naturalWidth), y: at(event.clientY - box.top, box.height, image.naturalHeight) };
  }

  const BUTTONS = ["left", "middle", "right"];
  let from = null;
  screen.addEventListener("mousedown", (event) => { if (held.key) { event.preventDefault(); screen.focus(); from = place(event); } });
  screen.addEventListener("mouseup", (event) => {
    if (!held.key || !from) return;
    event.preventDefault();
    flush();
    const to = place(event);
    const used = BUTTONS[event.button] || "left";
    if (Math.hypot(to.x - from.x, to.y - from.y) > 6) perform({ do: "drag", path: [from, to], button: used });
    else perform({ do: "click", at: { point: to }, button: used, count: Math.min(Math.max(event.detail, 1), 3) });
    from = null;
  });
  screen.addEventListener("contextmenu", (event) => { if (held.key) event.preventDefault(); });
  screen.addEventListener("wheel", (event) => {
    if (!held.key) return;
    event.preventDefault();
    flush();
    perform({ do: "scroll", at: { point: place(event) }, dx: Math.sign(event.deltaX) * 2, dy: Math.sign(event.deltaY) * 2 });
  }, { passive: false });
  screen.addEventListener("keydown", (event) => {
    if (!held.key) return;
    if (["Control", "Shift", "Alt", "Meta", "AltGraph", "Dead"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const mods = [event.ctrlKey && "ctrl", event.altKey && "alt", event.metaKey && "super"].filter(Boolean);
    if ([...event.key].length === 1 && mods.length === 0) {
      held.text += event.key;
      clearTimeout(held.typing);
      held.typing = setTimeout(flush, 400);
      return;
    }
    flush();
    const named = { " ": "space", "+": "plus", ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
      PageUp: "page_up", PageDown: "page_down" }[event.key] || event.key.toLowerCase();
    perform({ do: "key", chord: [...mods, event.shiftKey && named.length > 1 && "shift", named].filter(Boolean).join("+") });
  });

  const node = el("article", { "data-trial": trial }, head, screen, hint, problem,
    el("p", { class: "choices" }, pause, goOn, step, take, back, stop), doing, act, words);

  function update(owner, now) {
    held.isOwn = now.model === "person";
    if (held.isOwn) hint.textContent = "You do this task: click into the picture and type. Hand back when it is done; then it is judged.";
    const title = owner.run
      ? el("a", { href: link("attempt", owner.run, trial, now.attempt, Math.max(now.turns - 1, 0)) }, now.task) : now.task;
    draw(head, title, el("span", { class: "soft" }, ` ${now.model} ${now.arm}`));
    if (now.picture !== shot) {
      shot = now.picture;
      image.src = `control/${pathOf(["picture", String(process), trial])}?n=${shot}`;
    }
    const who = now.held ? `${now.held.by} has taken over` : DOING[now.phase] || now.phase;
    const then = now.mode === "paused" && now.phase !== "waiting_for_person" ? ", then paused" : "";
    draw(doing, el("strong", {}, who + then), ` · step ${now.world_steps} of ${now.limits.world_steps} · ${number(now.tokens)} tokens · ${money(now.cost_usd)} · ${duration(now.elapsed_ms)}`);
    act.textContent = now.last_act || "";
    words.textContent = now.say || "";
    words.hidden = !now.say;
    const isMine = held.key !== null;
    const isOther = now.held !== undefined && now.held !== null && !isMine;
    if (isMine && !now.held) release();
    pause.hidden = now.mode === "paused";
    goOn.hidden = now.mode === "running";
    step.hidden = now.mode !== "paused";
    take.hidden = isMine;
    back.hidden = !isMine;
    [pause, goOn, step, take].forEach((one) => { one.disabled = isOther || isMine; });
  }

  // Whoever leaves the page hands back; if that does not arrive, the lease ends by itself.
  function leave() {
    // Whoever does a task themselves and leaves has not finished it.
    if (held.key && held.isOwn) release();
    if (held.key) { order(process, { trial, order: "hand_back", key: held.key }).catch(() => {}); release(); }
  }

  return { node, update, leave };
}
