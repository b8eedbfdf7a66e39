// Gives a field the focus.
function () {
  // The field of an option is what is asked.
  const one = this.nodeType === 1 ? this : this.parentElement;
  const list = one.tagName === 'OPTION' && one.closest('select, datalist');
  const field = !list ? one : list.tagName === 'SELECT' ? list
    : [...list.getRootNode().querySelectorAll('input')].find((input) => input.list === list) || one;
  field.focus();
  return true;
}
