#!/usr/bin/env bash
# The terminal emulator pyte drops all that follows a variation selector, a joiner or a vowel sign, up to the next control character.
#
# Expected: a character that takes no column of its own is joined to the one before it or left out, and the text goes on, as in a
#   terminal. Test runners and package managers print such marks in nearly every line.
# What happens: `Screen.draw` leaves its loop at the first character that has no width and is no combining mark by its class in
#   Unicode's data: U+FE0F, which makes a warning sign an emoji, U+200B, U+200D, and signs of Devanagari. What came after it in the
#   same piece is not shown: of a line "⚠️ 3 failed" only the sign. Where the pieces are cut differently, more is shown, so that what
#   is on the screen depends on how a pipe was read.
# Version: pyte 0.8.2 with wcwidth 0.9.4 (PyPI). Source: pyte/screens.py, `Screen.draw`, the `break` behind "Unprintable character".
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check pyte==0.8.2 wcwidth==0.9.4
cat > "$place/look.py" <<'PY'
import sys

import pyte

CASES = [
    (["\u26a0 3 failed\r\nnext"], ["\u26a0 3 failed", "next"]),
    (["\u26a0\ufe0f 3 failed\r\nnext"], ["\u26a0", "next"]),
    (["\u26a0\ufe0f", " 3 failed\r\nnext"], ["\u26a0 3 failed", "next"]),
    (["total\u200b: 12"], ["total", ""]),
    (["1\ufe0f\u20e3 build"], ["1", ""]),
    (["caf\u00e9, cafe\u0301 open"], ["caf\u00e9, caf\u00e9 open", ""]),
    (["\u0915\u093f\u0924\u093e\u092c 5"], ["\u0915", ""]),
]
same = True
for pieces, before in CASES:
    screen = pyte.Screen(40, 2)
    stream = pyte.Stream(screen)
    for piece in pieces:
        stream.feed(piece)
    shown = [line.rstrip() for line in screen.display]
    print(f"{ascii(pieces):46} shown: {ascii(shown)}")
    same = same and shown == before
if same:
    print("as found: the rest of the piece is not shown")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
