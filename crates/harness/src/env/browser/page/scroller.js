// Finds a point over what the wheel would scroll: the given one if it does there, else the middle of the largest part of the page
// that scrolls in that direction. `null` if nothing does.
((x, y, dx, dy) => {
  const moves = (element) => {
    const isPage = element === document.scrollingElement;
    const style = getComputedStyle(element);
    const can = (overflow, now, whole, window) => {
      const scrolls = isPage ? !['hidden', 'clip'].includes(overflow) : ['auto', 'scroll', 'overlay'].includes(overflow);
      return scrolls && whole > window + 1 && now;
    };
    const down = dy !== 0 && can(style.overflowY,
      dy > 0 ? element.scrollTop + element.clientHeight < element.scrollHeight - 1 : element.scrollTop > 0, element.scrollHeight, element.clientHeight);
    const across = dx !== 0 && can(style.overflowX,
      dx > 0 ? element.scrollLeft + element.clientWidth < element.scrollWidth - 1 : element.scrollLeft > 0, element.scrollWidth, element.clientWidth);
    return down || across;
  };
  const at = document.elementFromPoint(x, y);
  // What is in a frame, or unknown, is left to the wheel.
  if (at && (at.tagName === 'IFRAME' || at.shadowRoot)) return [x, y];
  for (let up = at; up; up = up.parentElement) if (moves(up)) return [x, y];
  if (document.scrollingElement && moves(document.scrollingElement)) return [x, y];
  let best = null, most = 0;
  for (const element of document.querySelectorAll('*')) {
    if (element.scrollHeight <= element.clientHeight + 1 && element.scrollWidth <= element.clientWidth + 1) continue;
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const [from, to] = [Math.max(left, 0), Math.min(right, innerWidth)], [above, below] = [Math.max(top, 0), Math.min(bottom, innerHeight)];
    const size = (to - from) * (below - above);
    if (to <= from || below <= above || size <= most || !moves(element)) continue;
    const middle = [(from + to) / 2, (above + below) / 2];
    const hit = document.elementFromPoint(...middle);
    if (hit && element.contains(hit)) { best = middle; most = size; }
  }
  return best;
})
