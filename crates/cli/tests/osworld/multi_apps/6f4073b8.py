"""Three conferences and their years; where each was held is known to the one who solves the task."""
import sys

from openpyxl import Workbook

name, target = sys.argv[1:]
book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
sheet.append(["Conference", "Year", "City"])
for year in range(2013, 2020):
    for conference in ("ICLR", "ICML", "NeurIPS"):
        sheet.append([conference, year, None])
book.save(target)
