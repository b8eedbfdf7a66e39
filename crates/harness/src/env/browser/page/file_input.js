// The file input that an element is, labels or holds; `null` if there is none.
function () {
  const element = this.nodeType === 1 ? this : this.parentElement;
  if (!element) return null;
  const isInput = (one) => one && one.tagName === 'INPUT' && one.type === 'file';
  if (isInput(element)) return element;
  const label = element.closest('label');
  if (label && isInput(label.control)) return label.control;
  const inside = element.querySelectorAll('input[type=file]');
  return inside.length === 1 ? inside[0] : null;
}
