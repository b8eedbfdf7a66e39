// Resolves once the document has been unchanged for `still` milliseconds and drawn twice, or after `cap`.
(still, cap) => new Promise((resolve) => {
  let timer;
  const observer = new MutationObserver(() => wait());
  const done = (calm) => {
    observer.disconnect();
    clearTimeout(timer);
    clearTimeout(limit);
    resolve(calm);
  };
  const drawn = () => requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(drawn, still);
  };
  const limit = setTimeout(() => done(false), cap);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  wait();
})
