// Sets the value of a form field as an input by hand would: through the field's own setter, so that a page that
// watches the field notices, and with the events `input` and `change`. What the field cannot take changes nothing.
async function (wanted) {
  const plain = (text) => (text || '').replace(/\s+/g, ' ').trim();
  const same = (one, other) => plain(one).toLowerCase() === plain(other).toLowerCase();
  let field = this.nodeType === 1 ? this : this.parentElement;
  if (!this.isConnected || !field) return { filled: 'gone' };
  const page = field.ownerDocument.defaultView;
  const role = () => field.getAttribute('role') || '';
  // What has a context of its own draws its text itself, and hears keys.
  const isField = () => field.matches('input,textarea,select') || field.isContentEditable || !!field.editContext;
  const switches = ['checkbox', 'switch', 'radio', 'menuitemcheckbox', 'menuitemradio'];
  if (field.tagName === 'OPTION') field = field.closest('select') || field;
  if (!isField() && !switches.includes(role())) {
    const label = field.closest('label');
    field = (label && label.control) || field;
  }
  const kind = field.tagName === 'INPUT' ? field.type : field.tagName.toLowerCase();
  if (kind === 'file') return { filled: 'file' };
  const isSlider = !isField() && role() === 'slider';
  const isSwitch = ['checkbox', 'radio'].includes(kind) || (!isField() && switches.includes(role()));
  if ((!isField() && !isSwitch && !isSlider) || ['button', 'submit', 'reset', 'image', 'hidden'].includes(kind)) {
    return { filled: 'no_field', what: kind + (role() ? ` role=${role()}` : '') };
  }
  if (field.matches(':disabled') || field.getAttribute('aria-disabled') === 'true') return { filled: 'disabled' };
  if (field.readOnly || field.getAttribute('aria-readonly') === 'true') return { filled: 'read_only' };
  if (isSlider) {
    const [min, max] = [field.getAttribute('aria-valuemin') || '', field.getAttribute('aria-valuemax') || ''];
    const value = String(wanted).trim() === '' || typeof wanted === 'boolean' ? NaN : Number(wanted);
    const fits = !(min !== '' && value < Number(min)) && !(max !== '' && value > Number(max));
    return Number.isNaN(value) || !fits ? { filled: 'form', kind: 'range', min, max, step: '' } : { filled: 'slider', value };
  }
  const tell = () => {
    field.dispatchEvent(new page.Event('input', { bubbles: true, composed: true }));
    field.dispatchEvent(new page.Event('change', { bubbles: true }));
  };
  const nameOf = (one) => plain(one.labels && one.labels[0] ? one.labels[0].textContent : one.value);

  const isOn = () => {
    if (kind === 'checkbox' || kind === 'radio') return field.checked && !field.indeterminate;
    return field.getAttribute('aria-checked') === 'true';
  };
  const turn = async (on) => {
    if (isOn() === on) return { filled: 'yes' };
    const changed = new Promise((resolve) => {
      const observer = new page.MutationObserver(() => { if (isOn() === on) resolve(); });
      observer.observe(field, { attributes: true });
      setTimeout(resolve, 500);
    });
    field.click();
    if (isOn() !== on) await changed;
    return isOn() === on ? { filled: 'yes' } : { filled: 'kept', value: isOn() ? 'on' : 'off' };
  };
  if (isSwitch) {
    const words = { true: true, on: true, yes: true, 1: true, false: false, off: false, no: false, 0: false };
    const group = kind === 'radio'
      ? [...field.getRootNode().querySelectorAll('input[type=radio]')].filter(
          (one) => one === field || (field.name && one.name === field.name && one.form === field.form))
      : [];
    const others = group.map(nameOf);
    const chosen = typeof wanted === 'string'
      && group.find((one) => one.value === wanted || same(nameOf(one), wanted));
    if (chosen) {
      field = chosen;
      if (field.matches(':disabled')) return { filled: 'disabled_option' };
      return turn(true);
    }
    const on = typeof wanted === 'boolean' ? wanted : words[String(wanted).toLowerCase()];
    if (on === undefined && group.length) return { filled: 'no_option', options: others.slice(0, 40) };
    if (on === undefined) return { filled: 'switch' };
    if (!on && kind === 'radio' && field.checked) return { filled: 'radio_stays', options: others.slice(0, 40) };
    return turn(on);
  }

  if (kind === 'select') {
    const label = (option) => plain(option.label || option.text);
    const options = [...field.options];
    const find = (name) =>
      options.find((one) => label(one) === plain(name)) || options.find((one) => one.value === name)
      || options.find((one) => same(label(one), name));
    const names = Array.isArray(wanted) ? wanted : [String(wanted)];
    if (!field.multiple && names.length !== 1) return { filled: 'one_only' };
    const chosen = names.map(find);
    if (chosen.includes(undefined)) return { filled: 'no_option', options: options.slice(0, 40).map(label) };
    if (chosen.some((one) => one.disabled || one.closest('optgroup:disabled'))) return { filled: 'disabled_option' };
    field.focus();
    if (field.multiple) options.forEach((one) => { one.selected = chosen.includes(one); });
    else field.selectedIndex = chosen[0].index;
    tell();
    return { filled: 'yes' };
  }

  if (Array.isArray(wanted) || typeof wanted === 'boolean') return { filled: 'text_only' };
  const text = String(wanted);
  field.focus();
  const task = () => new Promise((resolve) => setTimeout(resolve));
  if (field.editContext) return { filled: 'by_keys' };
  if (field.isContentEditable) {
    const editor = field.ownerDocument;
    const holds = () => plain(field.innerText) === plain(text);
    // What empties a field is a key.
    if (text === '') return holds() ? { filled: 'yes' } : { filled: 'by_keys' };
    // An editor that keeps a text of its own hears of a selection a moment later, and of commands not at all; what is pasted it
    // takes. Where nothing takes it, the browser's own command changes the text.
    const timers = page[Symbol.for('apprentice.timers')];
    const settled = async () => { await task(); if (timers) await timers(); await task(); };
    editor.execCommand('selectAll');
    await settled();
    const pasted = new page.DataTransfer();
    pasted.setData('text/plain', text);
    const told = { bubbles: true, cancelable: true, composed: true };
    const goesOn = field.dispatchEvent(new page.ClipboardEvent('paste', { ...told, clipboardData: pasted }))
      && field.dispatchEvent(new page.InputEvent('beforeinput', { ...told, inputType: 'insertFromPaste', data: text, dataTransfer: pasted }));
    if (goesOn) editor.execCommand('insertText', false, text);
    await settled();
    return holds() ? { filled: 'yes' } : { filled: 'by_keys' };
  }
  if (field.maxLength >= 0 && text.length > field.maxLength) return { filled: 'too_long', most: field.maxLength };
  const owner = kind === 'textarea' ? page.HTMLTextAreaElement : page.HTMLInputElement;
  const put = (value) => Object.getOwnPropertyDescriptor(owner.prototype, 'value').set.call(field, value);
  const before = field.value;
  const strict = ['number', 'range', 'date', 'time', 'datetime-local', 'month', 'week', 'color'];
  put(text);
  if (strict.includes(kind)) {
    const numeric = kind === 'number' || kind === 'range';
    const taken = (kind !== 'range' && text === '')
      || (numeric ? field.value !== '' && Number(field.value) === Number(text)
        : kind === 'color' ? same(field.value, text) : field.value !== '');
    if (!taken) {
      put(before);
      return { filled: 'form', kind, min: field.min || '', max: field.max || '', step: field.step || '' };
    }
  }
  tell();
  // A page that keeps the value itself may have put the old one back.
  await task();
  if (text !== before && field.value === before) return strict.includes(kind) ? { filled: 'kept', value: before } : { filled: 'by_keys' };
  const complaint = field.validity && !field.validity.valid ? field.validationMessage : '';
  const value = kind === 'password' || field.value === text || strict.includes(kind) ? null : field.value;
  return { filled: 'yes', value, complaint };
}
