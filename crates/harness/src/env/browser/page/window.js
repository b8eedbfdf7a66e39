// The window onto a node's document: its size and how far it was scrolled, in its own pixels, and how many pixels of its process's
// window one of these is.
function () {
  const page = (this.ownerDocument || this).defaultView;
  return { width: page.innerWidth, height: page.innerHeight, ratio: page.devicePixelRatio, left: page.scrollX, top: page.scrollY };
}
