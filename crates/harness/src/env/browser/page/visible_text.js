// Tells which part of a long text is on the screen: { text, start, end }, offsets in characters of the text; null if none of
// it is, or nothing can be told. `this` is a text node, or a field.
function () {
  const node = this;
  const isText = node.nodeType === Node.TEXT_NODE;
  const element = isText ? node.parentElement : node;
  if (!element || !element.isConnected) return null;
  // A page does not decide how much of it travels with each view.
  const whole = isText ? node.data : element.value;
  if (typeof whole === "string" && whole.length > 200000) return null;
  // The part of a box that no scrolling element around it and no edge of the page cuts off.
  const clip = (box, from) => {
    let { left, top, right, bottom } = box;
    const cut = (other) => {
      left = Math.max(left, other.left);
      top = Math.max(top, other.top);
      right = Math.min(right, other.right);
      bottom = Math.min(bottom, other.bottom);
    };
    for (let up = from; up; up = up.parentElement) {
      if (up !== document.documentElement && up !== document.body && getComputedStyle(up).overflowY !== "visible") {
        cut(up.getBoundingClientRect());
      }
    }
    cut({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
    return right > left && bottom > top ? { left, top, right, bottom } : null;
  };
  if (isText) {
    const range = document.createRange();
    range.selectNodeContents(node);
    const area = clip(range.getBoundingClientRect(), element);
    if (!area) return null;
    // Lines follow on each other from top to bottom: the first character whose middle lies below an edge.
    const firstBelow = (edge) => {
      let above = -1, below = node.data.length;
      while (below - above > 1) {
        const middle = (above + below) >> 1;
        range.setStart(node, middle);
        range.setEnd(node, middle + 1);
        const box = range.getBoundingClientRect();
        if ((box.top + box.bottom) / 2 < edge) above = middle; else below = middle;
      }
      return below;
    };
    return { text: node.data, start: firstBelow(area.top), end: firstBelow(area.bottom) };
  }
  const text = element.value;
  if (typeof text !== "string" || element.type === "password") return null;
  const style = getComputedStyle(element);
  let line = parseFloat(style.lineHeight);
  if (!line) {
    // The height of a line is that of its font.
    const drawn = document.createElement("canvas").getContext("2d");
    drawn.font = style.font;
    const font = drawn.measureText("x");
    line = Math.round(font.fontBoundingBoxAscent) + Math.round(font.fontBoundingBoxDescent);
  }
  const inner = element.scrollHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  const lines = text.split("\n");
  // A field whose lines are broken has more rows than lines: which one stands where is not told.
  if (Math.abs(inner / line - lines.length) > 0.5 && element.scrollHeight > element.clientHeight) return null;
  const area = clip(element.getBoundingClientRect(), element.parentElement);
  if (!area) return null;
  const top = element.scrollTop - parseFloat(style.paddingTop);
  const first = Math.max(0, Math.round(top / line));
  const last = Math.min(lines.length, Math.round((top + element.clientHeight) / line));
  const length = (part) => part.reduce((sum, each) => sum + each.length + 1, 0);
  return { text, start: length(lines.slice(0, first)), end: length(lines.slice(0, last)) };
}
