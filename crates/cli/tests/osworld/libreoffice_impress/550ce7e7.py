"""A club's list of what is to be done; the first two lines are struck through at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
done = {"strike": "strike" in name or "Gold" in name}
deck = Deck()
for title in ["Spring training", "Coaches", "Grounds", "Calendar"]:
    slide = deck.slide()
    slide.title(title)
    slide.body("Ask the club's office", "Write it into the calendar")
slide = deck.slide()
slide.title("To do this term")
slide.body(("Order new jerseys", done), ("Book the pitch for May", done), "Find a referee", "Wash the bibs")
deck.save(target)
