"""One slide; its content is small and orange, and its background red, at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
solved = "Gold" in name
deck = Deck()
slide = deck.slide(background="FF0000" if solved else None)
slide.title("Office hours")
slide.body("Monday to Thursday, 9 to 5", "Friday, 9 to 1", "Closed on holidays",
           **({"size": 12, "color": "FF8000"} if solved else {}))
deck.save(target)
