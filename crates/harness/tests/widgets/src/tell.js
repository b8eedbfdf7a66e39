// Makes what a page holds its title, where a test reads it.
export const tell = (state) => {
  window.state = state;
  setInterval(() => {
    const now = JSON.stringify(state());
    if (document.title !== now) document.title = now;
  }, 50);
};
export const place = (id = 'app') => document.getElementById(id);
