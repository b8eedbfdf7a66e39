"""The title of the second page is at the top at first."""
import sys

from deck import Deck

_, target = sys.argv[1:]
deck = Deck()
for title, line in [("Two kettles", "Which one to buy"), ("Product Comparison", "Price, weight and noise")]:
    slide = deck.slide()
    slide.title(title, at=(1, 1, 23.4, 2.5), size=28)
    slide.body(line, at=(1, 5, 23.4, 8))
deck.save(target)
