#!/usr/bin/env bash
# Which point `DOM.getNodeForLocation` of the DevTools protocol means, on a page that was scrolled.
#
# Expected: the same as everything else about pointing there: `Input.dispatchMouseEvent` ("main frame's viewport in CSS pixels"),
#           `DOM.getBoxModel`, `DOM.getContentQuads` ("relative to viewport") and `document.elementFromPoint`. So the middle of a box
#           that getContentQuads gave finds the node of that box.
# Happens:  its x and y count from the corner of the document. On a page that was scrolled by 1,000 pixels the middle of the box is
#           refused with "No node found at given location"; with the scroll added it finds the box. On a page that was not
#           scrolled all agree, which hides it.
# Source:   the protocol's description of DOM.getNodeForLocation says "X coordinate." and "Y coordinate." alone; the run below.
# Versions: Chromium as Debian has it (156.0.8078.108 seen), playwright-core 1.64.1 (npm) as the client, seen 2026-11-29.
#           Needs node and chromium (CHROMIUM names another program); exit 77 without them.
set -euo pipefail
chromium=${CHROMIUM:-/usr/bin/chromium}
command -v node >/dev/null && [ -x "$chromium" ] || { echo "node or chromium is missing"; exit 77; }
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" playwright-core@1.64.1 >/dev/null
cat >point.js <<'JS'
const { chromium } = require("playwright-core");
(async () => {
  const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage({ viewport: { width: 400, height: 300 } });
  const boxes = Array.from({ length: 20 }, (_, at) => `<div id="box-${at}" style="height:100px">box ${at}</div>`).join("");
  await page.setContent(`<body style="margin:0">${boxes}</body>`);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("DOM.getDocument", { depth: -1 });
  const idAt = async (x, y) => {
    const found = await cdp.send("DOM.getNodeForLocation", { x, y }).catch((error) => ({ refused: String(error) }));
    if (found.refused) return found.refused.includes("No node found") ? "no node" : found.refused;
    const { backendNodeId } = found;
    const { node } = await cdp.send("DOM.describeNode", { backendNodeId });
    const named = (node.attributes || [])[1];
    return named && named.startsWith("box-") ? named : node.nodeName;
  };
  const rows = [];
  for (const scroll of [0, 1000]) {
    await page.evaluate((top) => window.scrollTo(0, top), scroll);
    const target = `box-${scroll / 100 + 1}`;
    const handle = await cdp.send("Runtime.evaluate", { expression: `document.getElementById("${target}")` });
    const { quads } = await cdp.send("DOM.getContentQuads", { objectId: handle.result.objectId });
    const [x, y] = [Math.round((quads[0][0] + quads[0][2]) / 2), Math.round((quads[0][1] + quads[0][5]) / 2)];
    const byScript = await page.evaluate(([x, y]) => document.elementFromPoint(x, y).id, [x, y]);
    rows.push([scroll, target, byScript, await idAt(x, y), await idAt(x, y + scroll)]);
  }
  await browser.close();
  for (const [scroll, target, script, plain, added] of rows) {
    console.log(`scrolled by ${scroll}: the middle of ${target} is ${script} by elementFromPoint, ${plain} by getNodeForLocation, ${added} with the scroll added`);
  }
  const wanted = JSON.stringify([[0, "box-1", "box-1", "box-1", "box-1"], [1000, "box-11", "box-11", "no node", "box-11"]]);
  if (JSON.stringify(rows) !== wanted) { console.log("the behaviour has changed"); process.exit(1); }
})().catch((error) => { console.log(String(error)); process.exit(1); });
JS
node point.js "$chromium"
