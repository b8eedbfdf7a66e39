// Says what typed keys go to: `takes` is "no" where the focus certainly takes no text, and "unknown" where only the page knows (a
// canvas, a grid, a frame of another process, a closed shadow root). `single` is whether the field holds one character.
(() => {
  let element = document.activeElement;
  while (element) {
    const inner = element.shadowRoot && element.shadowRoot.activeElement;
    if (inner) { element = inner; continue; }
    if (element.tagName === 'IFRAME' || element.tagName === 'FRAME') {
      let inside = null;
      try { inside = element.contentDocument; } catch { inside = null; }
      if (!inside) return { takes: 'unknown', single: false, what: '' };
      if (inside.designMode === 'on') return { takes: 'yes', single: false, what: '' };
      element = inside.activeElement;
      continue;
    }
    break;
  }
  const told = (takes, what) => ({ takes, single: !!element && element.maxLength === 1, what });
  if (!element) return told('no', '');
  const page = element.ownerDocument;
  if (element.isContentEditable || page.designMode === 'on') return told('yes', '');
  if (element === page.body || element === page.documentElement) return told('no', '');
  const isInput = element.tagName === 'INPUT';
  if (isInput || element.tagName === 'TEXTAREA') {
    const untyped = ['button', 'checkbox', 'radio', 'submit', 'reset', 'image', 'file', 'color', 'range', 'hidden'];
    if (isInput && untyped.includes(element.type)) return told('no', `a field of the type ${element.type}`);
    if (element.matches(':disabled')) return told('no', 'a disabled field');
    if (element.readOnly) return told('no', 'a read-only field');
    return told('yes', '');
  }
  if (element.tagName === 'BUTTON' || element.tagName === 'A') return told('no', element.tagName === 'A' ? 'a link' : 'a button');
  return told('unknown', '');
})()
