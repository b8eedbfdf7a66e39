"""The title of the second slide is empty at first, and to the right at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
LOOK = {"face": "Calibri", "size": 44}  # As the master has titles.
deck = Deck()
slide = deck.slide()
slide.title("Weekly meeting", **LOOK)
slide.body("News", "Open questions")
slide = deck.slide()
slide.title("Note" if "Gold" in name else "", **LOOK, align="right" if "Gold" in name else "left")
slide.body("Bring your calendar", "The room has changed")
deck.save(target)
