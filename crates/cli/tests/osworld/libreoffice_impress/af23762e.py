"""Forests, in the look of the master; the titles of the slides stand on one more slide, without a title, at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
SLIDES = [("What a forest is", ["Trees close to each other"]), ("Kinds of forests", ["Rain forests", "Taiga"]),
          ("Who lives there", ["Birds", "Deer", "Beetles"])]
TITLE = {"at": (1.27, 0.763, 22.86, 3.175), "face": "Calibri", "size": 44}
BODY = {"at": (1.27, 4.445, 22.86, 12.572), "face": "Calibri", "size": 32}
CIRCLE = "\uf06c"  # The bullet of Impress's own lists, a circle of the font Wingdings.
deck = Deck()
for title, lines in SLIDES:
    slide = deck.slide()
    slide.title(title, **TITLE)
    slide.body(*lines, **BODY)
if "Gold" in name:
    slide = deck.slide()
    slide.title(**TITLE)
    slide.body(*(title for title, _ in SLIDES), **BODY, bullet=CIRCLE)
deck.save(target)
