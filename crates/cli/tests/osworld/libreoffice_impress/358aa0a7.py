"""How to take notes; all text is in one narrow font at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
face = "Liberation Sans Narrow" if "Gold" in name else "DejaVu Serif"
SLIDES = [("Taking notes", ["Why we write things down", "Three ways to do it"]),
          ("In columns", ["Questions on the left", "Answers on the right", "A summary below"]),
          ("As a map", ["One word in the middle", "Branches for what belongs to it"]),
          ("As a list", ["Short lines", "Indented by importance"])]
deck = Deck()
for title, lines in SLIDES:
    slide = deck.slide()
    slide.title(title, face=face)
    slide.body(*lines, face=face)
deck.save(target)
