"use strict";
// A screen with the acts drawn on it.

function picture(run, screen, acts, options) {
  const shown = options || {};
  if (!screen) return el("div", { class: "screen none" }, "The world was not observed.");
  const box = el("div", { class: "screen" });
  const source = screen.screenshot ? pictureOf("picture", run, `${screen.screenshot}.png`) : null;
  if (source) {
    const image = el("img", { src: source, alt: `The screen: ${screen.title || "no title"}`,
      loading: shown.lazy ? "lazy" : "eager", draggable: "false" });
    image.addEventListener("error", () => image.replaceWith(missing(screen.screenshot)));
    box.append(image);
  } else {
    box.append(screen.screenshot ? missing(screen.screenshot) : el("div", { class: "screen none" }, "No screenshot was taken."));
  }
  if (acts && acts.length) box.append(overlay(acts));
  return box;
}

function missing(hash) {
  return el("div", { class: "screen none" }, `The screenshot ${String(hash).slice(0, 12)} is missing or is not the recorded one.`);
}

// One numbered mark per act, and a line for a drag.
function overlay(acts) {
  const layer = el("div", { class: "overlay" });
  acts.forEach((act, index) => {
    if (act.marks.length > 1) {
      const line = el("svg:svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" },
        el("svg:polyline", { points: act.marks.map((mark) => `${mark.x},${mark.y}`).join(" ") }));
      layer.append(line);
    }
    const last = act.marks[act.marks.length - 1];
    if (last) {
      layer.append(el("i", { class: `mark ${act.outcome}`, css: { left: `${last.x}%`, top: `${last.y}%` },
        title: `${act.text} ${act.target}` }, String(index + 1)));
    }
  });
  return layer;
}

// The screen before and after, with a slider between both.
function slider(run, turn) {
  const before = picture(run, turn.before, turn.acts);
  if (!turn.after || !turn.after.screenshot || !turn.before || turn.after.screenshot === turn.before.screenshot) {
    return el("figure", { class: "shot" }, before,
      el("figcaption", {}, caption(turn.before), turn.after ? " · the screenshot after the step is the same" : ""));
  }
  const after = picture(run, turn.after, []);
  after.classList.add("after");
  const stack = el("div", { class: "stack" }, before, after);
  const range = el("input", { type: "range", min: "0", max: "100", value: "0", id: "slider",
    "aria-label": "Show the screen after the step", oninput: (event) => {
      stack.style.setProperty("--shown", `${event.target.value}%`);
      stack.classList.toggle("compared", event.target.value !== "0");
    } });
  return el("figure", { class: "shot" }, stack,
    el("div", { class: "range" }, el("span", {}, "before"), range, el("span", {}, "after")),
    el("figcaption", {}, caption(turn.before), turn.after.title !== turn.before.title ? ` → ${turn.after.title || "no title"}` : ""));
}

function caption(screen) {
  if (!screen) return "";
  return (screen.title || "no title") + (screen.focused ? ` · focus on ${screen.focused}` : "");
}
