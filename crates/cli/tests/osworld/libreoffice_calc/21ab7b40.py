"""Yearly rates that are charged several times a year; the highest rate of a period is green."""
import sys

from openpyxl import Workbook
from openpyxl.styles import Font

name, target = sys.argv[1:]
solved = "_gt1" in name
RATES = [("Monthly card", 18, 12, 1.5), ("Quarterly loan", 9, 4, 2.25), ("Half-yearly bond", 5, 2, 2.5),
         ("Yearly deposit", 2.4, 1, 2.4), ("Weekly credit", 26, 52, 0.5)]
book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
sheet.append(["Product", "Annual Rate (%)", "Periods per Year"] + ["Period Rate (%)"] * solved)
for *given, rate in RATES:
    sheet.append(given + [rate] * solved)
for row in sheet.iter_rows():
    for cell in row:
        cell.font = Font(color="FF00FF00" if solved and cell.coordinate == "D4" else "FF000000")
book.save(target)
