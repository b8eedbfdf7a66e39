// What a field holds, as a person reads it.
function () {
  const field = this.nodeType === 1 ? this : this.parentElement;
  if (field.tagName === 'SELECT') return field.selectedOptions[0] ? (field.selectedOptions[0].label || field.selectedOptions[0].text) : '';
  return field.isContentEditable ? field.innerText : String(field.value ?? '');
}
