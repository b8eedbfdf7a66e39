"use strict";
// Where documents come from: the server, or this very file where it was exported.

const embedded = (() => {
  const holder = document.getElementById("documents");
  return holder ? JSON.parse(holder.textContent) : null;
})();

const known = new Map();

function pathOf(parts) {
  // As the program writes paths: only letters, digits and - . _ ~ stand for themselves.
  return parts.map((part) => encodeURIComponent(part).replace(/[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)).join("/");
}

async function load(parts, options) {
  const path = pathOf(parts);
  if (embedded) {
    const found = embedded[path];
    if (found === undefined) throw new Error("This exported page does not hold that part; serve the run to see it.");
    if (found.error) throw new Error(found.error);
    return found;
  }
  const fresh = options && options.fresh;
  if (!fresh && known.has(path)) return known.get(path);
  let answer;
  try {
    answer = await fetch(`api/${path}`, { headers: { accept: "application/json" } });
  } catch (error) {
    throw new Error("The viewer does not answer. Is `apprentice view` still running?");
  }
  if (!answer.ok) throw new Error(await answer.text());
  const document = await answer.json();
  if (!fresh) {
    // Long sessions must not fill the browser's memory.
    if (known.size > 400) known.delete(known.keys().next().value);
    known.set(path, document);
  }
  return document;
}

// The address of a picture; null where an exported page does not hold it.
function pictureOf(...parts) {
  const path = pathOf(parts);
  return embedded ? embedded[path] || null : `api/${path}`;
}
