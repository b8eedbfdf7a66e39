#!/usr/bin/env bash
# For three of ImageHash's hashes a white picture is the same as a black one, and for the fourth nearly.
#
# Expected: pictures that have nothing in common are far apart, or the hash of a picture without any detail says that it means nothing.
# What happens: `average_hash`, `dhash` and `whash` of any picture of one colour are 64 zeros: white, red and black are equal. `phash`
#   differs in one bit of 64, and only from black. A check that holds such a distance against a threshold passes on a screen that is
#   black, wherever the wanted one is an empty window.
# Version: ImageHash 4.3.2 with Pillow 13.0.0 (PyPI). Source: imagehash/__init__.py, `average_hash`, `phash`, `dhash`, `whash`.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check ImageHash==4.3.2 pillow==13.0.0
cat > "$place/look.py" <<'PY'
import sys

import imagehash
from PIL import Image

BEFORE = {"average_hash": [0, 0, 0], "dhash": [0, 0, 0], "whash": [0, 0, 0], "phash": [1, 1, 0]}
same = True
for name, before in BEFORE.items():
    of = getattr(imagehash, name)
    white, red, black, gray = (of(Image.new("RGB", (256, 256), colour)) for colour in ("white", "red", "black", "gray"))
    distances = [int(white - black), int(red - black), int(white - gray)]
    print(f"{name:13} of 64 bits differ: white and black {distances[0]}, red and black {distances[1]}, white and gray {distances[2]}")
    same = same and distances == before
if same:
    print("as found: pictures of one colour are equal, or one bit apart")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
