"""The costs of each month of two years, and a chart of each year."""
import sys

from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference, Series
from openpyxl.chart.data_source import AxDataSource, StrRef

name, target = sys.argv[1:]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
YEARS = {"A": (2019, [410, 395, 450, 470, 430, 520, 610, 580, 440, 415, 460, 700]),
         "D": (2020, [420, 380, 365, 340, 390, 450, 560, 530, 425, 430, 455, 655])}
book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
for left, (year, costs) in YEARS.items():
    right = chr(ord(left) + 1)
    sheet[f"{left}1"], sheet[f"{right}1"] = "Month", f"Total Cost {year}"
    for row, (month, cost) in enumerate(zip(MONTHS, costs), 2):
        sheet[f"{left}{row}"], sheet[f"{right}{row}"] = month, cost
    if "_gold" in name:
        series = Series(Reference(sheet, range_string=f"Sheet1!${right}$2:${right}$13"), title=f"Total Cost {year}")
        series.val.numRef.f = f"Sheet1!${right}$2:${right}$13"
        series.cat = AxDataSource(strRef=StrRef(f=f"Sheet1!${left}$2:${left}$13"))
        chart = BarChart()
        chart.type = "col"
        chart.series.append(series)
        sheet.add_chart(chart, f"{left}16")
book.save(target)
