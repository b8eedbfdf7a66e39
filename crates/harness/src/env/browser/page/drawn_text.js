// The text that is drawn in the place of a field that is never drawn itself and tells none of its own (an editor, a terminal), as
// far as no accessibility tree lists it: line by line, as it stands on the screen.
function (most) {
  const field = this.nodeType === 1 ? this : this.parentElement;
  const page = field.ownerDocument.defaultView;
  const above = (node) => node.parentElement || node.getRootNode().host;
  const large = (node) => { const { width, height } = node.getBoundingClientRect(); return width >= 8 && height >= 8; };
  let holder = above(field);
  while (holder && !large(holder)) holder = above(holder);
  if (!holder || holder === field.ownerDocument.body) return '';
  const frame = holder.getBoundingClientRect();
  const texts = field.ownerDocument.createTreeWalker(holder, NodeFilter.SHOW_TEXT);
  const range = field.ownerDocument.createRange();
  const found = [];
  for (let looked = 0; looked < 2000 && texts.nextNode(); looked++) {
    const text = texts.currentNode, parent = text.parentElement;
    if (!text.data.trim() || field.contains(text) || !parent.closest('[aria-hidden=true]')) continue;
    range.selectNodeContents(text);
    const { left, top, right, bottom, width, height } = range.getBoundingClientRect();
    const middle = (top + bottom) / 2;
    if (!width || !height || middle < frame.top || middle > frame.bottom || right < frame.left || left > frame.right) continue;
    if (page.getComputedStyle(parent).visibility !== 'visible') continue;
    found.push({ text: text.data, left, right, middle });
  }
  found.sort((one, other) => one.middle - other.middle);
  const lines = [];
  for (const part of found) {
    const line = lines[lines.length - 1];
    if (line && part.middle - line[0].middle < 5) line.push(part); else lines.push([part]);
  }
  const inOrder = (line) => {
    line.sort((one, other) => one.left - other.left);
    const apart = (at) => at > 0 && line[at].left - line[at - 1].right > 4;
    return line.map(({ text }, at) => (apart(at) ? '  ' : '') + text).join('').replace(/\u00a0/g, ' ').trimEnd();
  };
  return lines.map(inOrder).join('\n').slice(0, most);
}
