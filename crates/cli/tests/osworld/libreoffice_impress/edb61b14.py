"""The last slide is in Times New Roman at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
SLIDES = [("A short history", ["Of the town library"]), ("The first house", ["Two rooms", "Four hundred books"]),
          ("Today", ["Six rooms and a garden", "Open on Sundays"])]
deck = Deck()
for number, (title, lines) in enumerate(SLIDES, 1):
    face = "Times New Roman" if "Gold" in name and number == len(SLIDES) else "DejaVu Sans"
    slide = deck.slide()
    slide.title(title, face=face)
    slide.body(*lines, face=face)
deck.save(target)
