#!/usr/bin/env bash
# skills-ref refuses lists and maps in brackets in a SKILL.md, and hands out a list in `metadata` as Python's notation of it.
#
# Expected: the front matter is YAML (the specification says so, and names no subset), so `allowed-tools: [Read, Grep]`,
#   `metadata: {version: "1.0"}` and `metadata: {}` are as good as the same written over several lines.
# What happens: it is read with StrictYAML, which allows no flow style, no anchors and no tags: the whole skill is refused, by a
#   message about "ugly disallowed JSONesque flow mapping". A list over several lines passes, but within `metadata` each value is
#   made a text by `str`: tags a and b arrive as "['a', 'b']". `description: null` is the text "null", and valid.
# Version: skills-ref 0.1.1 with strictyaml 1.7.3 (PyPI). Source: skills_ref/parser.py, `parse_frontmatter`.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check skills-ref==0.1.1 strictyaml==1.7.3
cat > "$place/look.py" <<'PY'
import pathlib
import sys

from skills_ref import read_properties, validate

TEXT = "description: Sorts scans.\n"
CASES = [
    (TEXT + "allowed-tools:\n  - Read\n  - Grep", "valid", ("allowed-tools", ["Read", "Grep"])),
    (TEXT + "allowed-tools: [Read, Grep]", "refused", None),
    (TEXT + 'metadata: {version: "1.0"}', "refused", None),
    (TEXT + "metadata: {}", "refused", None),
    (TEXT + "metadata:\n  tags:\n    - a\n    - b", "valid", ("metadata", {"tags": "['a', 'b']"})),
    ("description: null", "valid", ("description", "null")),
]
folder = pathlib.Path(sys.argv[1]) / "tidy-scans"
folder.mkdir()
same = True
for fields, before, field in CASES:
    (folder / "SKILL.md").write_text(f"---\nname: tidy-scans\n{fields}\n---\n\nSort the scans.\n", encoding="utf-8")
    said = "refused" if validate(folder) else "valid"
    value = read_properties(folder).to_dict().get(field[0]) if field else None
    print(f"{fields.removeprefix(TEXT)!r:42} {said:8} {'' if value is None else repr(value)}")
    same = same and said == before and (field is None or value == field[1])
if same:
    print("as found: brackets are refused, and lists in metadata become texts")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py" "$place"
