"""The history of baseball, and a tune."""
import subprocess
import sys

from deck import Deck

name, target = sys.argv[1:]
if name.endswith(".mp3"):
    tune = "aevalsrc=sin(440*t+20*sin(9*t))/2:d=4"
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", tune, target], check=True)
else:
    deck = Deck()
    for title, line in [("A history of baseball", "By two players"), ("The first clubs", "In the 1840s")]:
        slide = deck.slide()
        slide.title(title)
        slide.body(line)
    deck.save(target)
