// Names an element in a few words.
function () {
  const element = this.nodeType === 1 ? this : this.parentElement;
  if (!element) return 'the page';
  const words = (element.getAttribute('aria-label') || element.id || element.textContent || '').replace(/\s+/g, ' ').trim().slice(0, 60);
  return `${element.tagName.toLowerCase()}${words ? ` "${words}"` : ''}`;
}
