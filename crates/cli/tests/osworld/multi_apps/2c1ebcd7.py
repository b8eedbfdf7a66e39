"""Works of students; the references of one of them break rules of APA 7, and hold to them in its better version."""
import sys

import docx
import openpyxl

MISTAKES = [
    "Field, Anna. (2019). Small shops in large towns. Retail Letters, 12(3), 45-60.",
    "Hill, B. and Lake, C. (2020). Why neighbours trade. Market Press.",
    "Reed, D., 2021. A street of bakers. Town Review, 8(1), 5-19.",
]
RIGHT = [
    "Field, A. (2019). Small shops in large towns. Retail Letters, 12(3), 45-60.",
    "Hill, B., & Lake, C. (2020). Why neighbours trade. Market Press.",
    "Reed, D. (2021). A street of bakers. Town Review, 8(1), 5-19.",
]

name, target = sys.argv[1:]
if name.endswith(".xlsx"):
    book = openpyxl.Workbook()
    book.active.append(["Tuesday", "Writing"])
    book.save(target)
elif name.endswith(".pdf"):
    with open(target, "w") as file:
        file.write("Rules of grammar\n")
else:
    document = docx.Document()
    lines = [name.split(".")[0], "This is the work of one term."]
    if "case%20study" in name or "case study" in name:
        lines = ["A case study", "Small shops live on their neighbours.", "References", *(RIGHT if "gold" in name else MISTAKES)]
    for line in lines:
        document.add_paragraph(line)
    document.save(target)
