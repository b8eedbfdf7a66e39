// Resolves to true when the document changes, and to false after `cap` milliseconds without a change.
(cap) => new Promise((resolve) => {
  const end = (changed) => {
    observer.disconnect();
    clearTimeout(timer);
    resolve(changed);
  };
  const observer = new MutationObserver(() => end(true));
  const timer = setTimeout(() => end(false), cap);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})
