"""Measurements with a decimal point, and the same with a comma."""
import sys

from openpyxl import Workbook

name, target = sys.argv[1:]
ROWS = [["Sample", "Mass", "Length"], ["A", 12.5, 0.75], ["B", 3.125, 10.2], ["C", 40.05, 7.333], ["D", 8.9, 21.6]]
if name.endswith(".csv"):
    # A field with a comma in it is quoted.
    def field(value):
        return '"' + str(value).replace(".", ",") + '"' if isinstance(value, float) else value

    with open(target, "w") as file:
        file.writelines(",".join(map(field, row)) + "\n" for row in ROWS)
else:
    book = Workbook()
    book.active.title = "Sheet1"
    for row in ROWS:
        book.active.append(row)
    book.save(target)
