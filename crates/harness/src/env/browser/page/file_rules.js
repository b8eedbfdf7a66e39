// What a file input takes.
function () {
  return { several: this.multiple, folder: !!this.webkitdirectory, disabled: this.matches(':disabled') };
}
