#!/usr/bin/env bash
# The terminal emulator pyte prints parts of style sequences that are written with colons, and the contents of device strings.
#
# Expected: sequences that an emulator does not know are left out (ECMA-48, 5.4.2 has the colon as a separator within a parameter;
#   5.6 has DCS and APC end with ST). Editors and compilers write curly underlines as `4:3` and colours as `38:2::R:G:B`, ask for
#   capabilities by DCS, and send pictures by APC.
# What happens: the parser of CSI takes a colon for the end of the sequence, and the rest is text: "X" in a curly underline is shown
#   as "3mX". DCS and APC are unknown, so their contents are text, too. OSC, which names links and titles, is read rightly. Who reads a
#   screen by this library reads letters that no terminal shows.
# Version: pyte 0.8.2 (PyPI). Source: pyte/streams.py, `Stream._parser_fsm`.
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
    ("underline", "a\x1b[4mX\x1b[0mb", "aXb"),
    ("curly underline", "a\x1b[4:3mX\x1b[0mb", "a3mXb"),
    ("colour, semicolons", "a\x1b[38;2;255;0;0mX\x1b[0mb", "aXb"),
    ("colour, colons", "a\x1b[38:2::255:0:0mX\x1b[0mb", "a2::255:0:0mXb"),
    ("link (OSC)", "a\x1b]8;;https://example.org\x1b\\X\x1b]8;;\x1b\\b", "aXb"),
    ("question (DCS)", "a\x1bP+q544e\x1b\\Xb", "a+q544eXb"),
    ("picture (APC)", "a\x1b_Gf=24;AAAA\x1b\\Xb", "aGf=24;AAAAXb"),
]
same = True
for name, text, before in CASES:
    screen = pyte.Screen(40, 1)
    pyte.Stream(screen).feed(text)
    shown = screen.display[0].rstrip()
    print(f"{name:20} {ascii(text):62} shown: {shown}")
    same = same and shown == before
if same:
    print("as found: parts of sequences are shown as text")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
