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
    return text && text.length <= most ? { told: 'selected', text } : null;
  }
  const { value, selectionStart: start, selectionEnd: end } = this;
  // Fields of numbers and of addresses do not tell.
  if (typeof value !== 'string' || typeof start !== 'number' || !value || value.length > most) return null;
  if (start !== end) return { told: 'selected', text: value.slice(start, end) };
  return { told: 'caret', before: value.slice(0, start), has_lines: value.includes('\n'), at_end: start === value.length };
}
