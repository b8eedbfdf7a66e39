// Runs in each document before its own scripts. Tells when the short timers that are set now have ended, so that a view waits for
// what a page does a moment after an act (suggestions while typing). Prints nothing. And opens a file chooser for
// `showOpenFilePicker`, and downloads what is written to a file of `showSaveFilePicker`: a browser without a window refuses both (Chromium 156).
(() => {
  const LONGEST = 350;
  const pending = new Map();
  let generation = 0;
  const end = (id) => { const timer = pending.get(id); if (timer) { pending.delete(id); timer.ended(); } };
  // Whether a clock of the page runs just now, or the microtasks of what it did.
  let ticks = false;
  const ticking = (task, own) => function (...values) {
    ticks = true;
    generation = own;
    try { return Reflect.apply(task, this, values); } finally { generation = 0; queueMicrotask(() => { ticks = false; }); }
  };
  window.setInterval = new Proxy(window.setInterval, {
    apply(target, self, [task, ...rest]) {
      if (typeof task !== 'function') return Reflect.apply(target, self, [task, ...rest]);
      const later = ticking(task, 0);
      let fired = 0;
      return Reflect.apply(target, self, [function (...values) {
        fired += 1;
        return Reflect.apply(fired > 1 ? later : task, this, values);
      }, ...rest]);
    },
  });
  window.setTimeout = new Proxy(window.setTimeout, {
    apply(target, self, given) {
      const [task, wait, ...rest] = given;
      // Timers that set each other are a clock of the page, not an answer to an act. A debounce sets itself once more, though.
      const own = generation;
      if (typeof task !== 'function') return Reflect.apply(target, self, given);
      if (own > 1 || !(wait > 0 && wait <= LONGEST)) return Reflect.apply(target, self, [own > 1 ? ticking(task, own) : task, wait, ...rest]);
      let id = 0;
      const run = function (...values) {
        generation = own + 1;
        try { return Reflect.apply(task, this, values); } finally { generation = 0; end(id); }
      };
      id = Reflect.apply(target, self, [run, wait, ...rest]);
      let ended;
      const done = new Promise((resolve) => { ended = resolve; });
      pending.set(id, { ended, done });
      return id;
    },
  });
  for (const name of ['clearTimeout', 'clearInterval']) {
    window[name] = new Proxy(window[name], {
      apply(target, self, given) { end(given[0]); return Reflect.apply(target, self, given); },
    });
  }
  // The frames that the page has asked for and not got yet. Who always waits for one moves the page by itself.
  const frames = new Set();
  window.requestAnimationFrame = new Proxy(window.requestAnimationFrame, {
    apply(target, self, [task, ...rest]) {
      if (typeof task !== 'function') return Reflect.apply(target, self, [task, ...rest]);
      const id = Reflect.apply(target, self, [function (...values) {
        frames.delete(id);
        return Reflect.apply(task, this, values);
      }, ...rest]);
      frames.add(id);
      return id;
    },
  });
  window.cancelAnimationFrame = new Proxy(window.cancelAnimationFrame, {
    apply(target, self, given) { frames.delete(given[0]); return Reflect.apply(target, self, given); },
  });
  // Kept from the page, which may call something else `scheduler`.
  const { scheduler } = window;
  Object.defineProperty(window, Symbol.for('apprentice.work'), {
    value: { frames: () => frames.size, ticks: () => ticks, post: (task, options) => scheduler.postTask(task, options) },
  });
  const after = window.setTimeout;
  Object.defineProperty(window, Symbol.for('apprentice.timers'), {
    value: async () => {
      const all = () => Promise.all([...pending.values()].map((timer) => timer.done));
      if (!pending.size) return true;
      await Promise.race([all().then(all), new Promise((resolve) => after(resolve, LONGEST + 100))]);
      return true;
    },
  });

  // A dialog for printing would stand over the page and stop it until somebody answers. Chromium shows none without a window.
  window.print = new Proxy(window.print, {
    apply() { for (const name of ['beforeprint', 'afterprint']) window.dispatchEvent(new Event(name)); },
  });

  if (!window.showOpenFilePicker) return;
  const handle = (file, more = {}) => Object.defineProperties(Object.create(FileSystemFileHandle.prototype), {
    kind: { value: 'file' },
    name: { value: file.name },
    getFile: { value: async () => file },
    isSameEntry: { value: async (other) => other && other.name === file.name },
    queryPermission: { value: async () => 'granted' },
    requestPermission: { value: async () => 'granted' },
    createWritable: { value: async () => { throw new DOMException('This file cannot be written.', 'NotAllowedError'); } },
    ...more,
  });
  // A stream whose bytes are downloaded under a name when it is closed.
  const saving = (name, saved) => {
    let bytes = new Uint8Array(), at = 0;
    const resize = (size) => { const old = bytes; bytes = new Uint8Array(size); bytes.set(old.subarray(0, size)); };
    const write = async (given) => {
      const { type = 'write', data, position, size } = given && given.type && !(given instanceof Blob) ? given : { data: given };
      if (type === 'truncate') { resize(size); at = Math.min(at, size); return; }
      at = position ?? at;
      if (type === 'seek') return;
      const part = new Uint8Array(await new Blob([data]).arrayBuffer());
      if (at + part.length > bytes.length) resize(at + part.length);
      bytes.set(part, at);
      at += part.length;
    };
    const close = () => {
      const file = new File([bytes], name);
      const link = document.createElement('a');
      link.href = URL.createObjectURL(file);
      link.download = name;
      link.click();
      saved(file);
    };
    const stream = new WritableStream({ write, close });
    const put = async (given) => {
      const writer = stream.getWriter();
      try { await writer.write(given); } finally { writer.releaseLock(); }
    };
    return Object.defineProperties(stream, {
      write: { value: put },
      seek: { value: (position) => put({ type: 'seek', position }) },
      truncate: { value: (size) => put({ type: 'truncate', size }) },
    });
  };
  window.showSaveFilePicker = new Proxy(window.showSaveFilePicker, {
    async apply(target, self, [options = {}]) {
      const [extension = ''] = (options.types || []).flatMap(({ accept }) => Object.values(accept || {}).flat());
      const name = options.suggestedName || `Untitled${extension}`;
      let held = new File([], name);
      return handle(held, {
        getFile: { value: async () => held },
        createWritable: { value: async () => saving(name, (file) => { held = file; }) },
      });
    },
  });
  window.showOpenFilePicker = new Proxy(window.showOpenFilePicker, {
    apply(target, self, [options = {}]) {
      return new Promise((resolve, reject) => {
        const input = document.createElement('input');
        input.type = 'file';
        input.multiple = !!options.multiple;
        const kinds = (options.types || []).flatMap(({ accept }) => Object.entries(accept || {}).flat(2));
        if (kinds.length) input.accept = kinds.join(',');
        input.onchange = () => resolve([...input.files].map(handle));
        input.oncancel = () => reject(new DOMException('No file was chosen.', 'AbortError'));
        input.click();
      });
    },
  });
})()
