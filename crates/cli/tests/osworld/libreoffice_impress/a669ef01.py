"""How to write outlines; on the third page, one line is indented as those above it, without a bullet, at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
last = {"level": 1} if "Gold" in name else {"bullet": "•"}
item = {"level": 1, "bullet": "•"}
deck = Deck()
for title, lines in [("Writing outlines", ["Before the first draft"]), ("Why", ["It saves time", "It shows gaps"])]:
    slide = deck.slide()
    slide.title(title)
    slide.body(*lines)
slide = deck.slide()
slide.title("The parts")
slide.body(("Topic", {"bullet": "•"}), ("main idea", item), ("sub topics", item),
           ("continuation of the sub topics", last))
deck.save(target)
