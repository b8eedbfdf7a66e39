// Extracts the values that a check asks for from the current page. A missing value is an empty string.
(function (spec) {
  const found = {};
  const entries = (name) => Object.entries(spec[name] || {});
  const all = (css) => {
    try { return Array.from(document.querySelectorAll(css)); } catch { return []; }
  };
  const text = (node) => (node && node.textContent || "").trim();
  const texts = (css) => all(css).map(text);
  const ofXpath = (xpath) => {
    try {
      return document.evaluate(xpath, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue;
    } catch { return null; }
  };
  // The smallest element whose text contains the label, ignoring case and whitespace.
  const ofLabel = (label) => {
    const plain = (node) => text(node).replace(/\s+/g, " ").toLowerCase();
    const wanted = label.trim().replace(/\s+/g, " ").toLowerCase();
    const holds = (node) => plain(node).includes(wanted);
    return all("body *:not(script, style, noscript, template)").find((node) => holds(node) && !Array.from(node.children).some(holds));
  };
  const byPlace = (name, read) => {
    for (const [css, keys] of entries(name)) {
      const list = read("." + css);
      for (const [place, key] of Object.entries(keys)) found[key] = list[parseInt(place, 10)] || "";
    }
  };
  const named = (name, read) => {
    for (const [css, wanted] of entries(name)) {
      const list = read("." + css).map((one) => one.toLowerCase());
      for (const key of wanted) if (list.includes(key.toLowerCase())) found[key.toLowerCase()] = true;
      const other = list.some((one) => wanted.every((key) => !key.toLowerCase().includes(one)));
      if (other) found.is_other_exist = true;
      else if (!("is_other_exist" in found)) found.is_other_exist = false;
    }
  };
  const ownTexts = (css) => {
    const first = all(css)[0];
    const nodes = first ? Array.from(first.childNodes).filter((node) => node.nodeType === Node.TEXT_NODE) : [];
    return nodes.map(text).filter(Boolean);
  };
  const heads = (css) => all(css).map((node) => node.querySelector("h3")).filter(Boolean).map(text);
  const products = (css) =>
    all(css + " li.catAllProducts").map((node) => node.querySelector("span")).filter(Boolean).map((node) => node.innerText.trim());

  switch (spec.category) {
    case "class":
      byPlace("class_multiObject", texts);
      byPlace("class_multiObject_child", ownTexts);
      byPlace("class_multiObject_only_child", heads);
      for (const [css, wanted] of entries("class_multiObject_search_exist")) {
        const list = texts("." + css);
        for (const one of wanted) if (one !== "is_other_exist") found[one] = list.includes(one);
        if (wanted.includes("is_other_exist")) found.is_other_exist = list.some((one) => !wanted.includes(one));
      }
      for (const [css, key] of entries("class_singleObject")) found[key] = texts("." + css)[0] || "";
      break;
    case "label":
      for (const [label, key] of entries("labelObject")) found[key] = text(ofLabel(label));
      break;
    case "xpath":
      for (const [xpath, key] of entries("xpathObject")) found[key] = text(ofXpath(xpath) || all(xpath)[0]);
      break;
    case "input":
      for (const [xpath, key] of entries("inputObject")) found[key] = ((ofXpath(xpath) || {}).value || "").trim();
      break;
    case "class&url": {
      named("class_multiObject", texts);
      named("class_multiObject_li", products);
      const address = location.href.toLowerCase();
      const told = (key, name) => {
        if (!(name.toLowerCase() in found)) found[name.toLowerCase()] = address.includes(key.toLowerCase());
      };
      for (const key of spec.url_include_expected || []) told(key, key);
      for (const [key, name] of entries("url_include_expected_multichoice")) told(key, name);
      break;
    }
  }
  return found;
})
