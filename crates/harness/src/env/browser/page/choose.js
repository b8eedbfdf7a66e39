// Chooses an option of a native list box, or a suggestion of a field: by its text, or the option that `this` is. Says what the list
// shows then.
async function (wanted) {
  const plain = (text) => (text || '').replace(/\s+/g, ' ').trim();
  const suggested = this.closest && this.closest('datalist');
  const field = suggested ? [...this.getRootNode().querySelectorAll('input')].find((one) => one.list === suggested) : this;
  if (field && field.tagName === 'INPUT' && field.list) {
    const all = [...field.list.options];
    const fits = (one) => [one.value, one.label].some((text) => plain(text).toLowerCase() === plain(wanted).toLowerCase());
    const option = suggested ? this : all.find(fits);
    if (!option) return { chosen: 'no_such_option', options: all.slice(0, 40).map((one) => plain(one.value)) };
    if (field.disabled || field.readOnly || option.disabled) return { chosen: 'disabled' };
    field.focus();
    const page = field.ownerDocument.defaultView;
    Object.getOwnPropertyDescriptor(page.HTMLInputElement.prototype, 'value').set.call(field, option.value);
    field.dispatchEvent(new page.InputEvent('input', { bubbles: true, composed: true, inputType: 'insertReplacementText', data: option.value }));
    field.dispatchEvent(new page.Event('change', { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve));
    return field.value === option.value ? { chosen: 'yes' } : { chosen: 'kept', wanted: option.value };
  }
  const list = this.tagName === 'OPTION' ? this.closest('select') : this.closest && this.closest('select');
  if (!list) return { chosen: 'not_a_list', what: this.tagName ? this.tagName.toLowerCase() : 'text' };
  const label = (option) => plain(option.label || option.text);
  const options = [...list.options];
  const same = (option) => label(option) === plain(wanted);
  const alike = (option) => label(option).toLowerCase() === plain(wanted).toLowerCase();
  const option = this.tagName === 'OPTION' ? this : options.find(same) || options.find(alike);
  if (!option) return { chosen: 'no_such_option', options: options.slice(0, 40).map(label) };
  if (list.disabled || option.disabled || option.closest('optgroup:disabled')) return { chosen: 'disabled' };
  list.focus();
  if (list.multiple) option.selected = true;
  else list.value === option.value && option.selected ? null : (list.selectedIndex = option.index);
  list.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  list.dispatchEvent(new Event('change', { bubbles: true }));
  // A page that keeps the value itself may have put the old one back.
  await new Promise((resolve) => setTimeout(resolve));
  const shown = list.selectedOptions[0];
  return option.selected ? { chosen: 'yes' } : { chosen: 'kept', value: shown ? label(shown) : '', wanted: label(option) };
}
