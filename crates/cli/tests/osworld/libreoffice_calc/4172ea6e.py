"""Loans of some months each, and when they end."""
import sys
from datetime import datetime

from openpyxl import Workbook

name, target = sys.argv[1:]
solved = "_gt1" in name
LOANS = [
    ("L-101", 12000, datetime(2022, 3, 15), 24, datetime(2024, 3, 15)),
    ("L-102", 4500, datetime(2022, 7, 1), 6, datetime(2023, 1, 1)),
    ("L-103", 30000, datetime(2021, 11, 20), 60, datetime(2026, 11, 20)),
    ("L-104", 8200, datetime(2023, 1, 9), 18, datetime(2024, 7, 9)),
    ("L-105", 15750, datetime(2023, 5, 28), 36, datetime(2026, 5, 28)),
]
book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
header = ["Loan", "Amount", "Start Date", "Term (Months)"]
sheet.append(header + ["Maturity Date"] * solved)
for *given, end in LOANS:
    sheet.append(given + [end] * solved)
for row in sheet["C2:C6"] + (sheet["E2:E6"] if solved else ()):
    row[0].number_format = "yyyy-mm-dd"
book.save(target)
