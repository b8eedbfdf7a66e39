"""The picture of the third slide is 20 centimetres high, and all text of the sixth is of 40 points, at the end."""
import sys

from deck import Deck, tree

name, target = sys.argv[1:]
solved = "Gold" in name
deck = Deck()
for number, title in enumerate(["Trees", "Where they grow", "The oak", "The ash", "The beech", "The elm"], 1):
    size = {"size": 40} if solved and number == 6 else {}
    slide = deck.slide()
    slide.title(title, **size)
    slide.body("A tall tree", "Good timber", at=(1, 5, 10, 13), **size)
    if number == 3:
        slide.picture(tree(), (13, 2, 8, 20 if solved else 10)).name = "Tree"
deck.save(target)
