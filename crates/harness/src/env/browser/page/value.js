// What a field holds, as a person reads it. What has a context of its own may tell of it the part around the caret alone, which is
// at the end of `wanted` when that was entered.
function (wanted) {
  // The field of an option is what is asked.
  const one = this.nodeType === 1 ? this : this.parentElement;
  const list = one.tagName === 'OPTION' && one.closest('select, datalist');
  const field = !list ? one : list.tagName === 'SELECT' ? list
    : [...list.getRootNode().querySelectorAll('input')].find((input) => input.list === list) || one;
  if (field.tagName === 'SELECT') return field.selectedOptions[0] ? (field.selectedOptions[0].label || field.selectedOptions[0].text) : '';
  if (field.editContext) {
    const plain = (text) => text.replace(/\s+/g, ' ').trim();
    const part = field.editContext.text;
    return plain(part) && plain(wanted).endsWith(plain(part)) ? wanted : part;
  }
  if (field.getAttribute('role') === 'slider' && field.value === undefined) return field.getAttribute('aria-valuenow') || '';
  return field.isContentEditable ? field.innerText : String(field.value ?? '');
}
