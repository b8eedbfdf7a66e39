"""Tests of grammar, the answers to the first of them, and the answers to all three."""
import sys

import docx
import openpyxl

TESTS = {
    "1": [("She ___ to school each day.", "a. go  b. goes  c. going", "b"), ("They ___ here now.", "a. are  b. is  c. am", "a")],
    "2": [("He ___ a letter yesterday.", "a. writes  b. written  c. wrote", "c"), ("We ___ it last week.", "a. saw  b. seen  c. see", "a")],
    "3": [("This is ___ apple.", "a. a  b. an  c. two", "b"), ("I have ___ books than you.", "a. much  b. most  c. more", "c")],
}

name, target = sys.argv[1:]
lines = []
if name.startswith("Answer"):
    for number in TESTS if "Gold" in name else "1":
        lines.append(f"Test {number}")
        lines += [f"Question {place}: {answer}" for place, (_, _, answer) in enumerate(TESTS[number], 1)]
elif name.startswith("Gramm"):
    number = name.split(".")[0][-1]
    lines.append(f"Grammar test {number}")
    for place, (question, choices, _) in enumerate(TESTS[number], 1):
        lines += [f"{place}. {question}", choices]
else:
    lines.append("For the lessons of this term.")
if name.endswith(".docx"):
    document = docx.Document()
    for line in lines:
        document.add_paragraph(line)
    document.save(target)
elif name.endswith(".xlsx"):
    book = openpyxl.Workbook()
    book.active.append(["Monday", "Grammar"])
    book.save(target)
else:
    with open(target, "w") as file:
        file.write("\n".join(lines) + "\n")
