"""One slide; its background is purple, and its title stands in the notes, at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
solved = "Gold" in name
TITLE = "Our garden plan"
deck = Deck()
slide = deck.slide(background="800080" if solved else None, notes=TITLE if solved else None)
slide.title(TITLE)
slide.body("Beans along the fence", "Herbs near the door")
deck.save(target)
