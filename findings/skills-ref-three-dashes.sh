#!/usr/bin/env bash
# skills-ref ends the front matter of a SKILL.md at the first three dashes anywhere, and calls the shortened skill valid.
#
# Expected: the front matter ends at a line that is `---` (the specification of Agent Skills: "YAML frontmatter followed by Markdown
#   content"; so do the readers of static sites, whose form it is).
# What happens: the text is cut at "---" wherever it stands. "Renames scans to YEAR---TITLE and sorts them. Not for photos." is the
#   description "Renames scans to YEAR", and the validator has nothing to say; so is a folded description that holds a ruled line. All
#   fields behind it are gone, and part of the instructions. In quotes, which should protect it, the file is no YAML any more. An agent
#   that chooses skills by this reader's `to_prompt` never sees when a skill is not meant.
# Version: skills-ref 0.1.1 (PyPI). Source: skills_ref/parser.py, `parse_frontmatter`: `content.split("---", 2)`.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check skills-ref==0.1.1
cat > "$place/look.py" <<'PY'
import pathlib
import sys

from skills_ref import read_properties, validate

CASES = [
    ("description: Renames scans to YEAR-TITLE. Not for photos.\nlicense: MIT", ("Renames scans to YEAR-TITLE. Not for photos.", "MIT", 0)),
    ("description: Renames scans to YEAR---TITLE. Not for photos.\nlicense: MIT", ("Renames scans to YEAR", None, 0)),
    ("description: >-\n  Renames scans.\n  ---------\n  Not for photos.\nlicense: MIT", ("Renames scans.", None, 0)),
    ('description: "Renames scans to YEAR---TITLE."\nlicense: MIT', ("ParseError", None, 1)),
]
folder = pathlib.Path(sys.argv[1]) / "tidy-scans"
folder.mkdir()
same = True
for fields, before in CASES:
    (folder / "SKILL.md").write_text(f"---\nname: tidy-scans\n{fields}\n---\n\nSort the scans.\n", encoding="utf-8")
    problems = validate(folder)
    try:
        properties = read_properties(folder)
        seen = (properties.description, properties.license, len(problems))
    except Exception as error:
        seen = (type(error).__name__, None, len(problems))
    print(f"{fields.splitlines()[0]:62} read: {seen[0]!r}, licence {seen[1]}, {seen[2]} problems")
    same = same and seen == before
if same:
    print("as found: three dashes in a description end it")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py" "$place"
