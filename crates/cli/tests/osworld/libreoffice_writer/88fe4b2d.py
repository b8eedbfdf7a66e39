"""Guidelines whose first paragraph is to become one sentence a paragraph, each followed by an empty line."""
import sys

import docx

SENTENCES = [
    "Come to each tutorial on time.", "Read the chapter before you come.", "Bring one question about it.",
    "Write down what the group answers.",
]
REST = "Tutorials last for fifty minutes. There are nine of them."

name, target = sys.argv[1:]
document = docx.Document()
if "_Gold" in name:
    for sentence in SENTENCES:
        document.add_paragraph(sentence)
        document.add_paragraph("")
else:
    document.add_paragraph(" ".join(SENTENCES))
document.add_paragraph(REST)
document.save(target)
