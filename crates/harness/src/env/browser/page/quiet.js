// Resolves once the page has come to rest: it was drawn since its last change, has been unchanged for `idle` milliseconds, and its main
// thread has no task and no frame to come. Where it never rests (an animation, a script that always works), once it has been unchanged
// for `still` milliseconds and was drawn twice. In any case after `cap`. The browser draws no frames of a document that is out of
// sight, so those of other processes are not waited for (`draws` is false). Resolves to the number of elements, and whether the
// document has the focus.
//
// Idle callbacks would say the same, but after a click on a page that answers, nearly every one came at its time limit alone
// (Chromium 156).
(idle, still, cap, draws) => new Promise((resolve) => {
  const work = window[Symbol.for('apprentice.work')]
    || { frames: () => 0, ticks: () => false, post: (task, options) => window.scheduler.postTask(task, options) };
  // What a clock of the page changes would not come to an end.
  let changed = performance.now();
  let drawn = draws ? -Infinity : Infinity;
  const observer = new MutationObserver(() => { if (!work.ticks()) changed = performance.now(); });
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const done = () => {
    observer.disconnect();
    clearTimeout(limit);
    resolve([document.getElementsByTagName('*').length, document.hasFocus()]);
  };
  const limit = setTimeout(() => done(), cap);
  const frame = (then) => { if (draws) requestAnimationFrame(then); else then(); };
  // Calls when no other task waits, and says so; or later, where one always does.
  const atLast = (then, delay) => {
    const other = new AbortController();
    const once = (free) => () => { if (!other.signal.aborted) { other.abort(); then(free); } };
    for (const [priority, wait, free] of [['background', delay, true], ['user-visible', delay + still, false]]) {
      work.post(once(free), { priority, delay: wait, signal: other.signal }).catch(() => {});
    }
  };
  const isAnimated = () => document.getAnimations()
    .some((one) => one.playState === 'running' && one.timeline === document.timeline);
  const look = (free) => {
    const age = performance.now() - changed;
    const moves = !free || (draws && (work.frames() > 0 || isAnimated()));
    if (moves && age >= still) frame(() => frame(() => done()));
    else if (moves || drawn < changed) draw();
    else if (age < idle) atLast(look, idle - age);
    else done();
  };
  const draw = () => frame((now) => {
    if (draws) drawn = performance.now();
    atLast(look, 0);
  });
  // What the page does a moment after an act, such as suggestions, is waited for.
  const timers = window[Symbol.for('apprentice.timers')];
  if (timers) timers().then(draw); else draw();
})
