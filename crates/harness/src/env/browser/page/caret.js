// Tells where the caret of a field stands, or what is selected of it, which is what typing replaces; null if nothing can be told.
function () {
  // A page does not decide how much of it travels with each view.
  const most = 200000;
  if (!this.isConnected || this.nodeType !== Node.ELEMENT_NODE || this.type === 'password') return null;
  if (this.isContentEditable) {
    const root = this.getRootNode();
    const selection = (root.getSelection ? root : document).getSelection();
    if (!selection || selection.isCollapsed || !this.contains(selection.anchorNode)) return null;
    const text = selection.toString();
    return text && text.length <= most ? { text } : null;
  }
  const { value, selectionStart: start, selectionEnd: end } = this;
  // Fields of numbers and of addresses do not tell.
  if (typeof value !== 'string' || typeof start !== 'number' || !value || value.length > most) return null;
  // The text after the place matters up to the end of its line.
  const place = { before: value.slice(0, start), after: value.slice(end, end + 200).replace(/[\uD800-\uDBFF]$/, ''), has_lines: value.includes('\n') };
  return { text: start === end ? null : value.slice(start, end), place };
}
