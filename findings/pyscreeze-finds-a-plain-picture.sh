#!/usr/bin/env bash
# PyScreeze, which locates pictures on the screen for PyAutoGUI, finds a picture of one colour at the top left of any screen.
#
# Expected: a picture that is not on the screen raises ImageNotFoundException, and one that is there is found where it is. A button that is
#   grey because it is disabled is another picture than the same button enabled, above all at the default confidence of 0.999.
# What happens: where OpenCV is installed, the correlation of a picture without any detail is 1 at every place. It is "found" at 0,0 on a
#   screen that holds nothing of its colour, and also where it does lie elsewhere: a click goes to the corner. What is compared is the
#   shape alone, without its brightness and contrast: the dim button is found where the bright one is.
# Version: PyScreeze 1.0.1 with opencv-python-headless 5.0.0.93, Pillow 13.0.0, NumPy 2.4.6 (PyPI).
# Source: pyscreeze/__init__.py, `_locateAll_opencv`: `cv2.matchTemplate(…, cv2.TM_CCOEFF_NORMED)`, then `result > confidence`.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check PyScreeze==1.0.1 opencv-python-headless==5.0.0.93 pillow==13.0.0 numpy==2.4.6
cat > "$place/look.py" <<'PY'
import sys

import numpy
import pyscreeze
from PIL import Image, ImageDraw

SCREEN = Image.fromarray(numpy.random.default_rng(1).integers(0, 255, (200, 300, 3), dtype=numpy.uint8))
PLAIN = Image.new("RGB", (30, 20), (10, 200, 90))


def button(back, text):
    """A button with the same word, in two greys."""
    picture = Image.new("RGB", (60, 20), (back, back, back))
    ImageDraw.Draw(picture).text((10, 4), "Save", fill=(text, text, text))
    return picture


def screen_with(picture):
    screen = SCREEN.copy()
    screen.paste(picture, (150, 100))
    return screen


def place_of(picture, screen):
    try:
        box = pyscreeze.locate(picture, screen)
    except pyscreeze.ImageNotFoundException:
        return None
    return None if box is None else (int(box.left), int(box.top))


seen = {
    "a plain picture that is not there": place_of(PLAIN, SCREEN),
    "the same at 150,100": place_of(PLAIN, screen_with(PLAIN)),
    "a button with a word that is not there": place_of(button(220, 0), SCREEN),
    "the bright button at 150,100": place_of(button(220, 0), screen_with(button(220, 0))),
    "the dim button, where the bright one is at 150,100": place_of(button(60, 30), screen_with(button(220, 0))),
}
for what, place in seen.items():
    print(f"{what}: {'not found' if place is None else place}")
if list(seen.values()) == [(0, 0), (0, 0), None, (150, 100), (150, 100)]:
    print("as found: one colour is everywhere, and brightness counts for nothing")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
