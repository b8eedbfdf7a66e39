"""A cover with a picture of the slide's proportions."""
import sys

from deck import Deck, picture

_, target = sys.argv[1:]
deck = Deck()
slide = deck.slide()
slide.title("How applicants are checked")
slide.picture(picture(400, 300, "#9cc3d5", (10, 60, 90, 140, "#5d7a3a"), (40, 20, 60, 60, "#888888")), (8, 6, 8, 6)).name = "Statue"
slide = deck.slide()
slide.title("Steps")
slide.body("Papers", "Interviews", "A visit")
deck.save(target)
