// Gives a field the focus.
function () {
  const field = this.nodeType === 1 ? this : this.parentElement;
  (field.tagName === 'OPTION' ? field.closest('select') : field).focus();
  return true;
}
