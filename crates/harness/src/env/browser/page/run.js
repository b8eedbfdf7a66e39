// Runs a script in the page and writes the value of its last expression, at most `limit` characters of it.
async (source, limit) => {
  const value = await (0, eval)(source);
  const write = () => {
    if (typeof value === 'string') return value;
    if (value instanceof Node) return value.outerHTML || value.textContent || String(value);
    try { return JSON.stringify(value, null, 1) ?? String(value); } catch { return String(value); }
  };
  const text = write();
  return text.length > limit ? `${text.slice(0, limit)}\n[${text.length - limit} more characters]` : text;
}
