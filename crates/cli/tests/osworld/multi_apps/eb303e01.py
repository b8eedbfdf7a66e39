"""A lecture with notes at its first slides, and what is said at each; all slides have notes at the end."""
import sys
from pathlib import Path

from docx import Document

sys.path.append(str(Path(__file__).parent.parent / "libreoffice_impress"))
from deck import Deck  # noqa: E402

name, target = sys.argv[1:]
SLIDES = [("Lecture 1", "Introduction", "Welcome everybody to the course."),
          ("What is a graph", "Points and lines", "Draw a small graph on the board."),
          ("Paths", "From point to point", "Let them find the longest path."),
          ("Trees", "Graphs without circles", "Point out that a tree has one line less than points.")]
if name.endswith(".docx"):
    document = Document()
    for number, (_, _, note) in enumerate(SLIDES, 1):
        document.add_paragraph(f"Slide {number}")
        document.add_paragraph(note)
    document.save(target)
else:
    deck = Deck()
    for number, (title, line, note) in enumerate(SLIDES, 1):
        slide = deck.slide(notes=note if number < 3 or "Gold" in name else None)
        slide.title(title)
        slide.body(line)
    deck.save(target)
