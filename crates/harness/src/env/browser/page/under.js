// The innermost element at a point of the page, through shadow roots and accessible frames.
(x, y) => {
  let root = document;
  let element = null;
  for (;;) {
    const hit = root.elementFromPoint(x, y);
    if (!hit || hit === element) return element;
    element = hit;
    if (hit.shadowRoot) { root = hit.shadowRoot; continue; }
    if (hit.tagName === 'IFRAME' || hit.tagName === 'FRAME') {
      let inside = null;
      try { inside = hit.contentDocument; } catch { return element; }
      if (!inside) return element;
      const box = hit.getBoundingClientRect();
      x -= box.x + hit.clientLeft;
      y -= box.y + hit.clientTop;
      root = inside;
      continue;
    }
    return element;
  }
}
