"""Slides with drawings of faces are yellow, and the second has another title, at the end."""
import sys

from deck import Deck, portrait, tree

name, target = sys.argv[1:]
solved = "Gold" in name
SLIDES = [("Our club", tree), ("Beginning", None), ("Who leads it", portrait), ("Where we meet", tree),
          ("Who takes the minutes", portrait)]
deck = Deck()
for title, drawn in SLIDES:
    slide = deck.slide(background="FFFF00" if solved and drawn == portrait else None)
    slide.title("Let's start" if solved and title == "Beginning" else title)
    if drawn:
        slide.picture(drawn(), (9, 6, 8, 10)).name = "A face" if drawn == portrait else "A tree"
deck.save(target)
