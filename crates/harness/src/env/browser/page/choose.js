// Chooses an option of a native list box: by its text, or the option that `this` is. Says what the list shows then.
async function (wanted) {
  const plain = (text) => (text || '').replace(/\s+/g, ' ').trim();
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
