"""The pictures of the slides 3, 4 and 6 are 20, 30 and 25 centimetres high at the end."""
import sys

from deck import Deck, tree

name, target = sys.argv[1:]
HEIGHTS = {3: 20, 4: 30, 6: 25} if "Gold" in name else {}
deck = Deck(30, 40)  # Poster pages, as no picture may be higher than a page.
for number, title in enumerate(["Trees", "Where they grow", "The oak", "The ash", "The beech", "The elm"], 1):
    slide = deck.slide()
    slide.title(title)
    if number > 2:
        slide.picture(tree(), (9, 5, 8, HEIGHTS.get(number, 10))).name = "Tree"
deck.save(target)
