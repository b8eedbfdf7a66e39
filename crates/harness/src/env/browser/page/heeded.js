// Waits for the next key that goes down in a document of this session: resolves to whether the page took it for itself, which it
// says by preventing what the browser would do; `null` when none came within a second.
(() => {
  const documents = [];
  const gather = (page) => {
    documents.push(page);
    for (let index = 0; index < page.length; index++) {
      try { if (page[index].document) gather(page[index]); } catch { /* A frame of another process. */ }
    }
  };
  gather(window);
  const heard = new Promise((resolve) => {
    const hear = (event) => {
      if (['Control', 'Shift', 'Alt', 'Meta'].includes(event.key)) return;
      documents.forEach((page) => page.removeEventListener('keydown', hear, true));
      setTimeout(() => resolve(event.defaultPrevented));
    };
    documents.forEach((page) => page.addEventListener('keydown', hear, true));
    setTimeout(() => {
      documents.forEach((page) => page.removeEventListener('keydown', hear, true));
      resolve(null);
    }, 1000);
  });
  return { heard };
})()
