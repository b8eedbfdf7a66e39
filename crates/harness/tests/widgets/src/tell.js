// Makes what a page holds its title, where a test reads it. A component tells its state at each render: the last one counts.
let last = null;
export const tell = (state) => {
  if (!last) {
    setInterval(() => {
      // A title joins blanks, so that those which follow on each other are written as JSON may write them.
      const now = JSON.stringify(last()).replace(/ {2,}/g, (blanks) => '\\u0020'.repeat(blanks.length));
      if (document.title !== now) document.title = now;
    }, 50);
  }
  last = window.state = state;
};
export const place = (id = 'app') => document.getElementById(id);
