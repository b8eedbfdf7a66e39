// Finds what the pointer would hit at an element that was scrolled into view: which of its boxes, and
// where in that box the middle of the visible part lies. An element that moves is waited for, for up to a second. A disabled
// one is not clicked: a person sees that it is grey.
async function (clicks) {
  const element = this.nodeType === Node.ELEMENT_NODE ? this : this.parentElement;
  if (!this.isConnected || !element) return { found: 'gone' };
  if (element.tagName === 'OPTION' && element.closest('select')) return { found: 'option' };
  if (element.tagName === 'SELECT' && !element.multiple && element.size <= 1) return { found: 'list' };
  const control = element.closest('button, input, select, textarea');
  const disabled = (control && control.matches(':disabled')) || element.closest('[aria-disabled="true"]');
  if (clicks && disabled) return { found: 'disabled' };
  const place = () => { const { x, y } = element.getBoundingClientRect(); return `${x} ${y}`; };
  const stands = await new Promise((resolve) => {
    const limit = setTimeout(() => resolve(false), 1000);
    // What an animation moves stands still between two frames, so only another frame's place says something.
    let before = place(), drawn = document.timeline.currentTime;
    const compare = () => {
      const now = place(), frame = document.timeline.currentTime;
      if (now === before && (frame === null || frame > drawn)) { clearTimeout(limit); resolve(true); return; }
      before = now;
      drawn = frame;
      requestAnimationFrame(compare);
    };
    requestAnimationFrame(compare);
  });
  if (!stands) return { found: 'moving' };
  const range = document.createRange();
  if (this !== element) range.selectNodeContents(this);
  const boxes = [...(this === element ? element : range).getClientRects()];
  const box = boxes.findIndex((box) => box.width > 0 && box.height > 0);
  if (box < 0 || getComputedStyle(element).visibility !== 'visible') return { found: 'hidden' };
  const { left, top, right, bottom, width, height } = boxes[box];
  const x = (Math.max(left, 0) + Math.min(right, innerWidth)) / 2;
  const y = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2;
  const root = element.getRootNode();
  let hit = document.elementFromPoint(x, y);
  while (hit && hit.shadowRoot) {
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  if (root instanceof ShadowRoot && root.elementFromPoint(x, y) === element) hit = element;
  if (!hit) return { found: 'outside' };
  const within = (node, wanted) => {
    for (let at = node; at; at = at.assignedSlot || at.parentNode || at.host) if (at === wanted) return true;
    return false;
  };
  const label = hit.closest('label');
  if (!within(hit, element) && !within(element, hit) && !(label && label.control === element)) {
    const words = (hit.getAttribute('aria-label') || hit.id || hit.textContent || '').trim().slice(0, 60);
    return { found: 'covered', by: `${hit.tagName.toLowerCase()}${words ? ` "${words}"` : ''}` };
  }
  return { found: 'free', box, across: (x - left) / width, down: (y - top) / height };
}
