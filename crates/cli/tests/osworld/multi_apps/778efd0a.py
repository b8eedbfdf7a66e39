"""Slides, a film, and the film's sound, which the film holds without loss."""
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "libreoffice_impress"))
from deck import Deck  # noqa: E402

name, target = sys.argv[1:]
if name.endswith(".pptx"):
    deck = Deck()
    for title, line in [("A small business", "In three steps"), ("The idea", "Repair what is broken")]:
        slide = deck.slide()
        slide.title(title)
        slide.body(line)
    deck.save(target)
else:
    pictures = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10:duration=120"]
    tune = ["-f", "lavfi", "-i", "aevalsrc=sin(440*t+20*sin(9*t))/2:d=120:s=8000"]
    source = [*pictures, *tune, "-c:a", "alac", "-sample_fmt", "s16p"] if name.endswith(".mp4") else tune
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *source, target], check=True)
