// Resolves once the page has come to rest: a frame was drawn, and its main thread has no task, timer or frame to come
// for `idle` milliseconds. Where it never rests (an animation by script), once the document has been unchanged for
// `still` milliseconds and was drawn twice. In any case after `cap`. The browser draws no frames of a document that is
// out of sight, so those of other processes are not waited for (`draws` is false). Resolves to the number of elements, and
// whether the document has the focus.
(idle, still, cap, draws) => new Promise((resolve) => {
  let changed = performance.now();
  const observer = new MutationObserver(() => { changed = performance.now(); });
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const done = () => {
    observer.disconnect();
    clearTimeout(limit);
    resolve([document.getElementsByTagName('*').length, document.hasFocus()]);
  };
  const limit = setTimeout(() => done(), cap);
  const frame = (then) => { if (draws) requestAnimationFrame(then); else then(); };
  // An idle callback is told how long nothing will happen that the browser knows of: up to 50 ms. The time limits here
  // count as tasks to come, so they are longer.
  const look = (period) => {
    if (period.timeRemaining() >= idle) done();
    else if (performance.now() - changed >= still) frame(() => frame(() => done()));
    else requestIdleCallback(look, { timeout: 100 });
  };
  // What the page does a moment after an act, such as suggestions, is waited for.
  const timers = window[Symbol.for('apprentice.timers')];
  const begin = () => frame(() => requestIdleCallback(look, { timeout: 100 }));
  if (timers) timers().then(begin); else begin();
})
