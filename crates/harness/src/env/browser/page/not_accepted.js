// The names of the chosen files that the attribute `accept` does not name. A browser lets a person choose them all the same.
function () {
  const wanted = (this.accept || '').split(',').map((one) => one.trim().toLowerCase()).filter(Boolean);
  const fits = (file) => wanted.some((one) => one.startsWith('.') ? file.name.toLowerCase().endsWith(one)
    : one.endsWith('/*') ? file.type.startsWith(one.slice(0, -1)) : file.type === one);
  const files = wanted.length ? [...(this.files || [])].filter((file) => !fits(file)) : [];
  return { accept: this.accept || '', files: files.map((file) => file.name), count: (this.files || []).length };
}
