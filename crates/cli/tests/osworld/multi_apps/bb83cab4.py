"""Slides, and all their text as paragraphs."""
import sys
from pathlib import Path

from docx import Document

sys.path.append(str(Path(__file__).parent.parent / "libreoffice_impress"))
from deck import Deck  # noqa: E402

name, target = sys.argv[1:]
SLIDES = [("Talking with programs", ["A first look"]), ("What they can do", ["Write drafts", "Explain words"]),
          ("What to check", ["Names and numbers", "Where it comes from"])]
if name.endswith(".docx"):
    document = Document()
    for title, lines in SLIDES:
        for text in [title, *lines]:
            document.add_paragraph(text)
    document.save(target)
else:
    deck = Deck()
    for title, lines in SLIDES:
        slide = deck.slide()
        slide.title(title)
        slide.body(*lines)
    deck.save(target)
