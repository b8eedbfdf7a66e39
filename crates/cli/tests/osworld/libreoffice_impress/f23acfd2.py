"""One slide; each line of its content has a round bullet at the end: a small one, a large one, or that of Wingdings."""
import sys

from deck import Deck

name, target = sys.argv[1:]
BULLETS = {"69_4_Gold.pptx": "•", "69_4_Gold2.pptx": "●", "69_4_Gold_all_fonts_1.pptx": "\uf06c"}
deck = Deck()
slide = deck.slide()
slide.title("What to pack")
slide.body("A warm coat", "A map of the hills", "Bread and cheese",
           bullet=BULLETS.get(name, "◦") if "Gold" in name else None)
deck.save(target)
