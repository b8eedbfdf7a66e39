"""The background of the second slide has the colour of its title at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
BLUE = "2A6099"
deck = Deck()
for number, (title, line) in enumerate([("Rivers", "Where they begin"), ("Lakes", "Where they rest"),
                                        ("Seas", "Where they end")], 1):
    slide = deck.slide(background=BLUE if "Gold" in name and number == 2 else None)
    slide.title(title, color=BLUE if number == 2 else "000000")
    slide.body(line)
deck.save(target)
