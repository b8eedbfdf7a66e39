// What a field holds, as a person reads it. What has a context of its own may tell of it the part around the caret alone, which is
// at the end of `wanted` when that was entered.
function (wanted) {
  const field = this.nodeType === 1 ? this : this.parentElement;
  if (field.tagName === 'SELECT') return field.selectedOptions[0] ? (field.selectedOptions[0].label || field.selectedOptions[0].text) : '';
  if (field.editContext) {
    const plain = (text) => text.replace(/\s+/g, ' ').trim();
    const part = field.editContext.text;
    return plain(part) && plain(wanted).endsWith(plain(part)) ? wanted : part;
  }
  return field.isContentEditable ? field.innerText : String(field.value ?? '');
}
