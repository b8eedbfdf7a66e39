#!/usr/bin/env bash
# json_repair, which harnesses mend a model's replies with, keeps one of several JSON objects: the last, where their shapes are alike.
#
# Expected: objects that follow each other are all kept, as a list (they are, where a comma stands between them or their shapes differ).
# What happens: of objects on lines of their own, or separated by blanks, one with the same names and the same types of values replaces
#   the one before it. Three clicks in a reply become the third click; two code blocks the second; ten rows of JSON lines one row. It is
#   enough that a call without arguments stands between two clicks, and all three are kept. Nothing says that something was left out.
# Version: json_repair 0.64.6 (PyPI). Source: json_repair/json_parser.py (`if not is_comma_separated and ObjectComparer.is_same_object(…)`),
#   json_repair/utils/object_comparer.py. Only `strict=True` refuses several elements.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check json_repair==0.64.6
cat > "$place/look.py" <<'PY'
import sys

import json_repair


def click(ref):
    return f'{{"name": "click", "arguments": {{"ref": {ref}}}}}'


WAIT = '{"name": "wait", "arguments": {}}'
REPLIES = {
    "three clicks on three lines": "\n".join(map(click, (1, 2, 3))),
    "two clicks in two code blocks": f"```json\n{click(1)}\n```\nThen:\n```json\n{click(2)}\n```",
    "ten rows of JSON lines": "\n".join(f'{{"task": "t{row}", "score": {row}}}' for row in range(10)),
    "three clicks with commas": ", ".join(map(click, (1, 2, 3))),
    "click, wait, click": "\n".join((click(1), WAIT, click(2))),
}
kept = []
for what, reply in REPLIES.items():
    value = json_repair.loads(reply)
    kept.append(len(value) if isinstance(value, list) else 1)
    shown = value if kept[-1] == 1 else "…"
    print(f"{what}: {kept[-1]} kept: {shown}")
if kept == [1, 1, 1, 3, 3]:
    print("as found: without commas the last of its shape is what remains")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
