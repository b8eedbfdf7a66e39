"""The titles of the second and the third slide are black and bold, and the address on the fourth is gone, at the end."""
import sys

from deck import Deck, picture

name, target = sys.argv[1:]
solved = "Gold" in name
deck = Deck()
for number, (title, line) in enumerate([("A new logo", "Three drafts"), ("The first draft", "Two circles"),
                                        ("The second draft", "A leaf"), ("Thank you", "We are glad to hear from you")], 1):
    changed = solved and number in (2, 3)
    slide = deck.slide()
    slide.title(title, color="000000" if changed else "2A6099", bold=changed)
    slide.body(line, at=(1, 5, 23.4, 3))
    if number == 4 and not solved:
        for row, (icon, text) in enumerate([("#c0392b", "studio@example.com"), ("#27ae60", "+00 000 0000"),
                                            ("#2980b9", "www.example.com")]):
            slide.picture(picture(64, 64, "#ffffff", (5, 5, 95, 95, icon)), (2, 9 + 2 * row, 1, 1)).name = f"Icon {row + 1}"
            slide.box(text, at=(4, 9 + 2 * row, 18, 1), ground="F4F4F4").name = f"Line {row + 1}"
deck.save(target)
