"""Birthdays of employees, and how old they are on the day of the test."""
import sys
from datetime import date, datetime

from openpyxl import Workbook

name, target = sys.argv[1:]
solved = "_gold" in name
EMPLOYEES = [("Ada Byrne", datetime(1984, 2, 11)), ("Ben Costa", datetime(1991, 9, 30)),
             ("Cleo Diaz", datetime(1975, 6, 5)), ("Dov Ekman", datetime(1999, 12, 24)),
             ("Eva Falk", datetime(1968, 4, 17))]


def age(born):
    today = date.today()
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))


book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
sheet.append(["Employee", "Birthday", "Age", "Remarks"])
for employee, born in EMPLOYEES:
    sheet.append([employee, born, age(born) if solved else None, None])
for row in sheet["B2:B6"]:
    row[0].number_format = "yyyy-mm-dd"
book.save(target)
