// Tells whether the focused element accepts typed text.
(() => {
  let element = document.activeElement;
  while (element) {
    const inner = element.shadowRoot && element.shadowRoot.activeElement;
    if (inner) { element = inner; continue; }
    if (element.tagName === 'IFRAME' || element.tagName === 'FRAME') {
      try {
        const inside = element.contentDocument;
        if (!inside) return true;
        if (inside.designMode === 'on') return true;
        element = inside.activeElement;
        continue;
      } catch { return true; }
    }
    break;
  }
  if (!element) return false;
  if (element.isContentEditable || element.ownerDocument.designMode === 'on') return true;
  if (element.tagName === 'TEXTAREA') return !element.disabled && !element.readOnly;
  if (element.tagName === 'SELECT' || element.tagName === 'EMBED' || element.tagName === 'OBJECT') return true;
  const untyped = ['button', 'checkbox', 'radio', 'submit', 'reset', 'image', 'file', 'color', 'range', 'hidden'];
  return element.tagName === 'INPUT' && !untyped.includes(element.type) && !element.disabled && !element.readOnly;
})()
