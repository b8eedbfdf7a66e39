// Finds a point at which the pointer hits an element: in the middle of the visible part of one of its boxes, or elsewhere in it
// where something covers that. What has no box of its own is hit where it is drawn: by its contents, its label, its part of an
// image. An element that moves is waited for, for up to a second. A disabled one is not clicked: a person sees that it is grey.
// `row` are texts of the row that the model saw the element in.
async function (clicks, row) {
  const element = this.nodeType === Node.ELEMENT_NODE ? this : this.parentElement;
  if (!this.isConnected || !element) return { found: 'gone' };
  const page = element.ownerDocument.defaultView;
  if (element.tagName === 'OPTION' && element.closest('select, datalist') && !element.getClientRects().length) return { found: 'option' };
  if (element.tagName === 'SELECT' && !element.multiple && element.size <= 1
    && page.getComputedStyle(element).appearance !== 'base-select') return { found: 'list' };
  const control = element.closest('button, input, select, textarea');
  const disabled = (control && control.matches(':disabled')) || element.closest('[aria-disabled="true"]');
  if (clicks && disabled) return { found: 'disabled' };

  // Where pages reuse an element for another row, its own name may be the same.
  const plain = (text) => (text || '').replace(/\s+/g, '').toLowerCase();
  if (row.length) {
    const label = (one) => plain(one.getAttribute('aria-label') || one.innerText || one.value);
    const own = label(element);
    const holds = (holder) => [...holder.querySelectorAll(element.tagName)].some((one) => one !== element && label(one) === own);
    let holder = element;
    for (let up = element; up; up = up.parentElement || (up.getRootNode().host ?? null)) {
      if (up !== element && holds(up)) break;
      holder = up;
    }
    const text = plain(holder.innerText) + [...holder.querySelectorAll('input,textarea,[aria-label],img[alt]')]
      .map((one) => plain(one.value || one.getAttribute('aria-label') || one.alt)).join('');
    const kept = row.filter((one) => text.includes(plain(one)));
    // Among elements of its kind that show no text either, an icon's own surroundings may say nothing.
    if (text && kept.length * 2 < row.length) {
      return { found: 'replaced', now: (holder.innerText || '').replace(/\s+/g, ' ').trim().slice(0, 60) };
    }
  }

  const style = page.getComputedStyle(element);
  const reached = ({ right, bottom }) => right + page.scrollX > 0 && bottom + page.scrollY > 0;
  const drawn = (boxes) => [...boxes].filter((box) => box.width > 0 && box.height > 0);
  const contents = (node) => {
    const range = element.ownerDocument.createRange();
    range.selectNodeContents(node);
    return drawn(range.getClientRects());
  };
  // What may be hit in place of the element, and the boxes of that.
  const places = () => {
    const all = [];
    if (element.tagName === 'AREA') {
      const map = element.closest('map');
      const image = map && element.ownerDocument.querySelector(`img[usemap="#${CSS.escape(map.name)}"]`);
      if (!image) return all;
      const frame = image.getBoundingClientRect(), look = page.getComputedStyle(image);
      const left = frame.x + parseFloat(look.borderLeftWidth) + parseFloat(look.paddingLeft);
      const top = frame.y + parseFloat(look.borderTopWidth) + parseFloat(look.paddingTop);
      const numbers = element.coords.split(',').map(Number);
      const [xs, ys] = [numbers.filter((_, at) => at % 2 === 0), numbers.filter((_, at) => at % 2 === 1)];
      const box = element.shape === 'circle'
        ? new DOMRect(numbers[0] - numbers[2] / 2, numbers[1] - numbers[2] / 2, numbers[2], numbers[2])
        : element.shape === 'default' ? new DOMRect(0, 0, frame.width, frame.height)
          : new DOMRect(Math.min(...xs), Math.min(...ys), Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
      all.push({ of: image, boxes: [new DOMRect(left + box.x, top + box.y, box.width, box.height)] });
      return all;
    }
    const own = this === element ? drawn(element.getClientRects()) : contents(this);
    if (own.length && style.visibility === 'visible') all.push({ of: element, boxes: own });
    if (this === element && (style.display === 'contents' || !own.length)) {
      const inner = contents(element);
      if (inner.length) all.push({ of: element, boxes: inner });
      for (const child of element.querySelectorAll('*')) {
        const boxes = drawn(child.getClientRects());
        if (boxes.length && page.getComputedStyle(child).visibility === 'visible') { all.push({ of: child, boxes }); break; }
      }
    }
    // A switch is drawn by its label where it is itself too small to be seen.
    for (const label of element.labels || []) {
      for (const part of [...label.querySelectorAll('span,i,svg,div,label'), label]) {
        const boxes = part.contains(element) && part !== label ? [] : drawn(part.getClientRects());
        if (boxes.length) all.push({ of: part, boxes });
      }
    }
    if (standIn) all.push({ of: standIn, boxes: drawn(standIn.getClientRects()) });
    return all.slice(0, 8);
  };
  // A drawn field may hear keys by an input that is never drawn: it lies before the page's beginning, is clipped away, is clear or
  // has no size. Then the nearest thing around it that is drawn stands for it, if it holds no other control.
  const controls = 'a, button, input, select, textarea, iframe';
  const isUndrawn = (one) => {
    const look = page.getComputedStyle(one);
    return !drawn(one.getClientRects()).some(reached) || look.opacity === '0' || /^rect\((0|1)px[, ]+(0|1)px[, ]+(0|1)px[, ]+(0|1)px\)$/.test(look.clip)
      || /^inset\((50|100)%\)$/.test(look.clipPath);
  };
  const standInOf = () => {
    const isField = element.matches('input, textarea, select, [role=slider], [role=textbox], [role=combobox]') || element.isContentEditable;
    if (this !== element || !isField || !element.checkVisibility({ visibilityProperty: true }) || !isUndrawn(element)) return null;
    for (let up = element.parentElement || element.getRootNode().host; up; up = up.parentElement || up.getRootNode().host) {
      if (up === up.ownerDocument.body || up === up.ownerDocument.documentElement) return null;
      if (!drawn(up.getClientRects()).some(({ width, height }) => width >= 8 && height >= 8) || isUndrawn(up)) continue;
      const isOther = (one) => one !== element && !element.contains(one) && one.tabIndex >= 0
        && !one.closest('[aria-hidden=true]') && one.checkVisibility({ visibilityProperty: true });
      return [...up.querySelectorAll(controls)].some(isOther) ? null : up;
    }
    return null;
  };
  const standIn = standInOf();

  const inside = ({ left, top, right, bottom }) => right > 0 && bottom > 0 && left < page.innerWidth && top < page.innerHeight;
  const first = places().find(({ boxes }) => boxes.some(reached)) || places()[0];
  if (first && !first.boxes.some(inside)) first.of.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });

  const place = () => { const { x, y } = (first ? first.of : element).getBoundingClientRect(); return `${x} ${y}`; };
  const stands = await new Promise((resolve) => {
    const limit = setTimeout(() => resolve(false), 1000);
    // What an animation moves stands still between two frames, so only another frame's place says something.
    let before = place(), drawnAt = document.timeline.currentTime;
    const compare = () => {
      const now = place(), frame = document.timeline.currentTime;
      if (now === before && (frame === null || frame > drawnAt)) { clearTimeout(limit); resolve(true); return; }
      before = now;
      drawnAt = frame;
      requestAnimationFrame(compare);
    };
    requestAnimationFrame(compare);
  });
  if (!stands) return { found: 'moving' };

  const within = (node, wanted) => {
    for (let at = node; at; at = at.assignedSlot || at.parentNode || at.host) if (at === wanted) return true;
    return false;
  };
  const hitAt = (x, y) => {
    const root = element.getRootNode();
    let hit = element.ownerDocument.elementFromPoint(x, y);
    while (hit && hit.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return root instanceof ShadowRoot && within(root.elementFromPoint(x, y), element) ? element : hit;
  };
  const acts = 'a, button, input, select, textarea, summary, label, [role=button], [role=link], [onclick]';
  const own = element.closest(acts) || element;
  const isHit = (hit) => {
    if (!hit) return false;
    if (within(hit, element)) return true;
    if (standIn && within(hit, standIn)) return true;
    const label = hit.closest('label');
    if (label && label.control === element) return true;
    if (element.tagName === 'AREA') return hit.tagName === 'IMG' && hit.useMap === `#${element.closest('map')?.name}`;
    // A hit on what holds the element is meant where that is what acts; not where the element acts and lets clicks through.
    return within(element, hit) && (hit === own || !element.matches(acts));
  };
  let covered = null, outside = true;
  for (const { boxes } of places()) {
    for (const { left, top, right, bottom } of boxes) {
      const [from, to] = [Math.max(left, 0), Math.min(right, page.innerWidth)];
      const [above, below] = [Math.max(top, 0), Math.min(bottom, page.innerHeight)];
      if (to <= from || below <= above) continue;
      for (const [across, down] of [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.2], [0.5, 0.8]]) {
        const [x, y] = [from + (to - from) * across, above + (below - above) * down];
        const hit = hitAt(x, y);
        if (!hit) continue;
        outside = false;
        if (isHit(hit)) return { found: 'free', x, y, width: page.innerWidth, height: page.innerHeight };
        covered = covered || hit;
      }
    }
  }
  if (!places().length) return { found: 'hidden' };
  if (outside) return { found: 'outside' };
  if (element.closest('[inert]')) return { found: 'untouchable', how: 'the page made it inert' };
  if (within(element, covered) && page.getComputedStyle(own).pointerEvents === 'none') {
    return { found: 'untouchable', how: 'clicks go through it (pointer-events: none)' };
  }
  const words = (covered.getAttribute('aria-label') || covered.id || covered.textContent || '').replace(/\s+/g, ' ').trim().slice(0, 60);
  return { found: 'covered', by: `${covered.tagName.toLowerCase()}${words ? ` "${words}"` : ''}` };
}
