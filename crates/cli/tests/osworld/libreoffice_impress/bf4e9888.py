"""Pictures, an empty presentation, and one with a picture on each of its blank slides at the end."""
import sys

from deck import Deck, picture

name, target = sys.argv[1:]


def drawn(number):
    return picture(320, 240, ["#8e44ad", "#2980b9", "#27ae60", "#f39c12", "#c0392b", "#34495e"][number - 1],
                   *((8 + 15 * at, 40, 20 + 15 * at, 56, "#ffffff") for at in range(number)))


if name.endswith(".png"):
    with open(target, "wb") as file:
        file.write(drawn(int(name[3])).read())
else:
    deck = Deck()
    for number in range(1, 7 if "Gold" in name else 2):
        slide = deck.slide()
        if "Gold" in name:
            slide.picture(drawn(number), (8.5, 6.5, 8.5, 6.4))
    deck.save(target)
