// Whether an element is part of a form control that is disabled: the page would not notice a click on it.
function () {
  const element = this.nodeType === 1 ? this : this.parentElement;
  const control = element && element.closest('button, input, select, textarea');
  return !!control && control.matches(':disabled');
}
