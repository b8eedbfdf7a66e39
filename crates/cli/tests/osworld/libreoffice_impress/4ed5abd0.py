"""The titles of the second, the third and the fifth slide are black and underlined at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
TITLES = ["A year of birds", "Spring", "Summer", "Autumn", "Winter"]
deck = Deck()
for number, title in enumerate(TITLES, 1):
    solved = "Gold" in name and number in (2, 3, 5)
    slide = deck.slide()
    slide.title(title, color="000000" if solved else "2A6099", underline=solved)
    slide.body("What to listen for", "Where to go")
deck.save(target)
