#!/usr/bin/env bash
# Fuzzy matching of texts without letters or digits, which checks of desktop tasks meet as "$", "-", "???" or an empty cell.
#
# Expected: thefuzz calls RapidFuzz, so both give one score; all scorers of one library agree on "equal" and "wholly different".
# Happens:  thefuzz 0.22.1 scores "!!!" against "???" as 100 in token_sort_ratio and partial_token_sort_ratio, since it removes all but
#           letters and digits first and compares two empty texts; RapidFuzz 3.14.6 gives 0. The other way round, the equal texts
#           "..." and "..." score 100 in RapidFuzz, and 0 in thefuzz's token_set_ratio, WRatio and QRatio. And two empty texts
#           score 100 in `ratio` and 0 in token_set_ratio, WRatio and QRatio, in both libraries.
# Source:   thefuzz, fuzz.py (full_process by default) on RapidFuzz; RapidFuzz's scorers on empty input.
# Versions: thefuzz 0.22.1, RapidFuzz 3.14.6 (PyPI), seen 2026-11-28.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check thefuzz==0.22.1 RapidFuzz==3.14.6
"$folder/venv/bin/python" - <<'PYTHON'
from rapidfuzz import fuzz as rapid
from thefuzz import fuzz as the

pairs = [("!!!", "???"), ("...", "..."), ("", "")]
names = ["ratio", "token_sort_ratio", "partial_token_sort_ratio", "token_set_ratio", "WRatio", "QRatio"]
seen = {}
for name in names:
    seen[name] = [(round(getattr(the, name)(*pair)), round(getattr(rapid, name)(*pair))) for pair in pairs]
    print("%-26s" % name, *("%r/%r thefuzz %3d RapidFuzz %3d" % (*pair, *both) for pair, both in zip(pairs, seen[name])), sep="  ")
sorted_alike, set_alike = [(100, 0), (100, 100), (100, 100)], [(0, 0), (0, 100), (0, 0)]
assert seen["ratio"] == [(0, 0), (100, 100), (100, 100)], "the behaviour has changed"
assert seen["token_sort_ratio"] == seen["partial_token_sort_ratio"] == sorted_alike, "the behaviour has changed"
assert seen["token_set_ratio"] == seen["WRatio"] == seen["QRatio"] == set_alike, "the behaviour has changed"
PYTHON
