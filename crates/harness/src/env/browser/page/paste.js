// Pastes a text where the focus is. Says whether the page took it for itself, which it says by preventing what a browser would do.
function (text) {
  const field = this.nodeType === 1 ? this : this.parentElement;
  const page = field.ownerDocument.defaultView;
  const pasted = new page.DataTransfer();
  pasted.setData('text/plain', text);
  const told = { bubbles: true, cancelable: true, composed: true, clipboardData: pasted };
  return !field.dispatchEvent(new page.ClipboardEvent('paste', told));
}
