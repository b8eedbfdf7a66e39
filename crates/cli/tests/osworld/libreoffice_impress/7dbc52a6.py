"""The title of the second page is bold, and its text stands in the notes, at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
solved = "Gold" in name
deck = Deck()
for number, (title, line) in enumerate([("The harbour", "From 1850 to today"), ("Ships and cargo", "Timber and wool"),
                                        ("The new pier", "Opened in 1931")], 1):
    slide = deck.slide(notes=title if solved and number == 2 else None)
    slide.title(title, bold=solved and number == 2)
    slide.body(line)
deck.save(target)
