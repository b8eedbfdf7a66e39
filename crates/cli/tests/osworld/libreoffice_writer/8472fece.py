"""A table of words without colours; with them, red for those that begin with a vowel."""
import sys

import docx
from docx.shared import Pt, RGBColor

WORDS = [["all", "came", "under"], ["but", "eat", "ride"], ["into", "must", "our"]]

name, target = sys.argv[1:]
document = docx.Document()
table = document.add_table(rows=3, cols=3)
for row, words in enumerate(WORDS):
    for column, word in enumerate(words):
        run = table.cell(row, column).paragraphs[0].add_run(word)
        run.font.size = Pt(14)
        if "_Gold" in name:
            run.font.color.rgb = RGBColor(255, 0, 0) if word[0] in "aeiou" else RGBColor(0, 0, 255)
document.save(target)
