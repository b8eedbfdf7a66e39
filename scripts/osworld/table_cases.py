"""Cases for the metrics of tables: CSV files, and workbooks made by openpyxl and, where it is installed, by
LibreOffice from the same ones."""

import datetime
import os
import shutil
import subprocess

import openpyxl
from openpyxl.chart import BarChart, LineChart, PieChart, Reference, ScatterChart, Series
from openpyxl.formatting.rule import CellIsRule, FormulaRule
from openpyxl.styles import Font, PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.formatting.rule import Rule
from openpyxl.worksheet.datavalidation import DataValidation

NAMES = ["Ann", "Bob", "Cyd", "Dee", "Eve"]


def plain():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sheet1"
    sheet.append(["Name", "Count", "Price", "Day", "Done", "Note"])
    for at, name in enumerate(NAMES):
        sheet.append([name, at + 1, 10.5 * at + 0.1234567, datetime.datetime(2024, 1, at + 1), at % 2 == 0, None if at == 2 else f"n{at}"])
    other = book.create_sheet("Sheet2")
    for row in ([1, 2], [3, 4]):
        other.append(row)
    return book


def changed(change):
    book = plain()
    change(book.worksheets[0], book)
    return book


def cell(place, value):
    return lambda sheet, book: sheet.__setitem__(place, value)


def styled(place, **style):
    def change(sheet, book):
        for name, value in style.items():
            setattr(sheet[place], name, value)
    return change


def merged(sheet, book):
    sheet.merge_cells("A1:B1")


def chart(kind, title=None, rows=5, **more):
    def change(sheet, book):
        made = kind()
        made.title = title
        for name, value in more.items():
            setattr(made, name, value)
        values = Reference(sheet, min_col=2, min_row=1, max_row=rows + 1)
        if kind is ScatterChart:
            made.series.append(Series(values, Reference(sheet, min_col=3, min_row=2, max_row=rows + 1), title="s"))
        else:
            made.add_data(values, titles_from_data=True)
            made.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=rows + 1))
        sheet.add_chart(made, "H2")
    return change


def validated(ranges, formula):
    def change(sheet, book):
        rule = DataValidation(type="list", formula1=formula, allow_blank=True)
        rule.add(ranges)
        sheet.add_data_validation(rule)
    return change


def hidden(*rows):
    def change(sheet, book):
        for row in rows:
            sheet.row_dimensions[row].hidden = True
    return change


def conditional(ranges, rule):
    return lambda sheet, book: sheet.conditional_formatting.add(ranges, rule)


def coloured(sheet, book):
    """Every cell with a value gets a font with a colour: without one the check ends with an error."""
    for row in sheet.iter_rows():
        for one in row:
            one.font = Font(color="FF000000")


def both(*changes):
    def change(sheet, book):
        for one in changes:
            one(sheet, book)
    return change


RED, GREEN = PatternFill(bgColor="FFFF0000", fill_type="solid"), PatternFill(bgColor="FF00FF00", fill_type="solid")
GREATER = CellIsRule(operator="greaterThan", formula=["3"], fill=RED, font=Font(color="FFFF0000"))
BETWEEN = CellIsRule(operator="between", formula=["2", "4"], fill=RED, font=Font(color="FFFF0000"))
BEGINS = FormulaRule(formula=['LEFT(A2,1)="A"'], fill=GREEN, font=Font(color="FF00FF00"))
HOLDS = Rule(type="containsText", operator="containsText", text="o", formula=['NOT(ISERROR(SEARCH("o",A2)))'], dxf=DifferentialStyle(fill=RED, font=Font(color="FFFF0000")))

CHANGES = [
    cell("B2", 1.0), cell("B2", "1"), cell("B2", 2), cell("C3", 10.62345), cell("C3", 10.6234567001), cell("C4", None), cell("A2", "ann"), cell("A2", " Ann"),
    cell("F4", "NA"), cell("F4", ""), cell("D2", "2024-01-01"), cell("D2", datetime.datetime(2024, 1, 1, 12)), cell("E2", 1), cell("A1", None), cell("B1", "Name"), cell("G1", "New"),
    cell("A8", "below"), cell("A1", 5), cell("B3", "=1+1"), cell("F2", "#N/A"), cell("B4", datetime.time(1, 2, 3)), lambda sheet, book: sheet.delete_rows(3),
    lambda sheet, book: sheet.insert_rows(1), lambda sheet, book: sheet.insert_rows(4), lambda sheet, book: sheet.move_range("A1:F6", rows=1, cols=1),
    lambda sheet, book: setattr(sheet, "title", "Other"), lambda sheet, book: book.create_sheet("More"), lambda sheet, book: book.move_sheet("Sheet2", -1),
    lambda sheet, book: setattr(sheet["B2"], "number_format", "yyyy-mm-dd"), lambda sheet, book: setattr(sheet["C2"], "number_format", '0.00" d"'),
    lambda sheet, book: [sheet.__setitem__(f"E{row}", "TRUE") for row in range(2, 7)], lambda sheet, book: [sheet.__setitem__(f"B{row}", f" {row - 1}") for row in range(2, 7)],
    styled("A1", font=Font(bold=True, color="FFFF0000")), styled("B2", fill=PatternFill("solid", fgColor="FFFFFF00")), merged,
]


def tables(maker):
    def save(book):
        path = maker.path(".xlsx")
        book.save(path)
        return path

    gold = save(plain())
    found = [save(changed(change)) for change in CHANGES] + [save(plain())]
    broken = maker.text("no workbook", ".xlsx")
    cases = [(path, gold, {"rules": [{"type": kind, "sheet_idx0": one, "sheet_idx1": other}]}) for path in found
             for kind, one, other in (("sheet_data", 0, "EI0"), ("sheet_data", "RNSheet2", "EN Sheet2"), ("sheet_data", "RNSheet2", "ENSheet2"), ("sheet_name", 0, 0))]
    cases += [(path, gold, {"rules": [{"type": "sheet_data", "sheet_idx0": "RI0", "sheet_idx1": "EI0", "precision": precision}]}) for path in found[:6] for precision in (0, 2, 8)]
    cases += [(broken, gold, {"rules": [{"type": "sheet_name"}]}), (None, gold, {"rules": []}), (gold, gold, {"rules": []}), (gold, gold, {"rules": [{"type": "nothing"}]}),
              (gold, gold, {"rules": [{"type": "sheet_data", "sheet_idx0": 7, "sheet_idx1": "EI0"}]}), (gold, gold, {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI9"}]})]
    cases += cells(found, gold)
    cases += fuzzy(found, gold)
    cases += objects(save, gold)
    cases += printed(maker, save)
    cases += office(maker, found, gold)
    yield "compare_table", True, cases
    cities = [f"City {at}" for at in range(21)]
    yield "compare_conference_city_in_order", False, list(in_order(save, cities))
    lines = ["a,b,c", "1, 2,3", 'x,"y, z",w', ""]
    texts = ["\n".join(lines), "\r\n".join(lines), "\n".join(lines).upper(), "\n".join(lines) + "\n", "\n".join(f" {line} " for line in lines), "\n".join(lines[::-1]), "", b"\xe9,b\n1,2\n"]
    paths = [maker.text(text, ".csv") for text in texts]
    yield "compare_csv", True, [(path, wanted, options) for path in paths + [None] for wanted in (paths[0], [paths[5], paths[0]], [paths[7]])
                                for options in ({}, {"strict": False}, {"ignore_case": True}, {"strict": False, "ignore_case": True})]
    records = ["name,age\nAnn,40\nBob,41\n", "name,age\n\"Ann\",40\n", "age,name\n40,Ann\n", "\nage,name\n40,Ann\n", "", "name,age\nAnn\n", "name,age\nAnn,40,9\n", "\ufeffname,age\nAnn,40\n", 'name,age\n"An""n",4\n\nAnn,"4\n0"\n']
    rules = [{"expect": [{"name": "Ann", "age": "40"}]}, {"unexpect": [{"name": "Bob"}]}, {"expect": [{"name": "Ann"}, {"name": "Bob"}]}, {}, {"expect": [{"age": None}]}]
    yield "check_csv", True, [(maker.text(text, ".csv"), rule, {}) for text in records for rule in rules] + [(None, rules[0], {})]


def cells(found, gold):
    rules = [("A2", "value", "eq", "Ann"), ("B2", "value", "eq", 1), ("C3", "value", "approx:0.001", 10.623), ("C3", "value", "lt", 10.7), ("F4", "value", "eq", None), ("Z9", "value", "eq", None),
             ("A2", "value", "re", "^A"), ("B2", "value", "re", "1"), ("B1", "merge", "eq", True), ("A1", "merge", "eq", False), ("A1", "font_bold", "eq", True), ("A1", "font_color", "eq", "FFFF0000"),
             ("B2", "bgcolor", "eq", "FFFFFF00"), ("A1", "font_name", "eq", "Calibri"), ("A1", "font_size", "gt", 10), ("B2", "number_format", "eq", "General"), ("C2", "number_format", "eq", '0.00" d"'),
             ("A1", "fill_type", "eq", "patternFill"), ("A1", "font_underline", "eq", None), ("D2", "number_format", "eq", "yyyy-mm-dd h:mm:ss")]
    for path in found:
        for place, name, method, wanted in rules:
            yield path, gold, {"rules": [{"type": "check_cell", "sheet_idx": 0, "coordinate": place, "props": {name: {"method": method, "ref": wanted}}}]}


def fuzzy(found, gold):
    rules = [{"range": ["A1:C6"], "type": "exact_match"}, {"range": ["A2:A6", "F2:F6"], "type": "fuzzy_match", "threshold": 60}, {"range": ["A2"], "type": "includes", "ignore_case": True},
             {"range": ["A2:A3"], "type": "included_by", "trim_leadings": " ", "trim_trailings": "n"}, {"range": ["A2:A6"], "type": "exact_match", "ignore_chars": " ", "ignore_case": True, "normalization": [["ann", "Ann"]]}]
    for path in found:
        for rule in rules:
            yield path, gold, {"rules": [{"type": "sheet_fuzzy", "sheet_idx0": "RNSheet1", "sheet_idx1": "ENSheet1", "rules": [rule]}]}


def objects(save, gold):
    charts = [chart(BarChart), chart(BarChart, "Title"), chart(BarChart, "Other"), chart(LineChart, "Title"), chart(BarChart, "Title", rows=3), chart(BarChart, "Title", barDir="bar"), chart(PieChart, "Title"),
              chart(ScatterChart, "Title"), chart(BarChart, "Title", legend=None), both(chart(BarChart, "A"), chart(LineChart, "B"))]
    made = [save(changed(change)) for change in charts] + [gold]
    for path in made:
        for wanted in (made[1], made[3], made[9]):
            for props in (["type", "title"], ["type", "direction"], ["legend", "width", "height"], ["title", "xtitle", "ytitle"], []):
                yield path, wanted, {"rules": [{"type": "chart", "sheet_idx0": 0, "sheet_idx1": "EI0", "chart_props": props}]}
    checks = [validated("D2:D29", '"Pass,Fail,Held"'), validated("D2:D29", '"Held,Pass,Fail"'), validated("D2:D29", '"Pass,Fail"'), validated("C2:D29", '"Pass,Fail,Held"'), both(validated("D2:D29", '"Pass,Fail,Held"'), validated("A1", '"x"'))]
    props = [{"ranges": {"method": "spreadsheet_range", "ref": ["D2:D29", "D1:D1048576"]}, "type": {"method": "eq", "ref": "list"}, "formula1": {"method": method, "ref": ["Pass", "Fail", "Held"]}} for method in ("str_set_eq", "str_list_eq")]
    for change in checks + [cell("A1", "Name")]:
        path = save(changed(change))
        for prop in props:
            yield path, None, {"rules": [{"type": "data_validation", "sheet_idx": 0, "dv_props": [prop]}]}
    rows = [save(changed(change)) for change in (hidden(2, 3), hidden(2), hidden(), lambda sheet, book: setattr(sheet.row_dimensions[2], "height", 30))]
    for path in rows:
        for wanted in rows:
            for props in (["hidden"], ["hidden", "height"]):
                yield path, wanted, {"rules": [{"type": "row_props", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": props}]}
    columns = [save(changed(change)) for change in (lambda sheet, book: setattr(sheet.column_dimensions["B"], "hidden", True), lambda sheet, book: setattr(sheet.column_dimensions["B"], "width", 30), hidden())]
    for path in columns:
        for wanted in columns:
            yield path, wanted, {"rules": [{"type": "col_props", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["hidden", "width"]}]}
    panes = [save(changed(lambda sheet, book, place=place: setattr(sheet, "freeze_panes", place))) for place in ("B2", "A2", "C3", None)]
    for path in panes:
        for wanted in panes:
            yield path, wanted, {"rules": [{"type": "freeze", "sheet_idx0": 0, "sheet_idx1": "EI0"}]}
    for scale in (260, 100, None):
        path = save(changed(lambda sheet, book: setattr(sheet.sheet_view, "zoomScale", scale)))
        for method, wanted in (("lt", 261), ("gt", 200), ("eq", 100), ("range.et", [100, 260])):
            yield path, None, {"rules": [{"type": "zoom", "sheet_idx": 0, "method": method, "ref": wanted}]}
    looks = [coloured, both(coloured, conditional("B2:B6", GREATER)), both(coloured, conditional("B2:B6", BETWEEN)), both(coloured, conditional("A2:A6", BEGINS)), both(coloured, conditional("A2:A6", HOLDS)),
             both(coloured, styled("B5", font=Font(color="FFFF0000")), styled("B6", font=Font(color="FFFF0000"))), both(coloured, cell("H9", "more")), hidden()]
    made = [save(changed(change)) for change in looks]
    for path in made:
        for wanted in (made[0], made[1], made[5]):
            for props in (["bgcolor"], ["font_color"], ["font_color", "font_bold", "merge"]):
                yield path, wanted, {"rules": [{"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": props}]}

    def filtered(ref, values):
        def change(sheet, book):
            sheet.auto_filter.ref = ref
            sheet.auto_filter.add_filter_column(0, values)
            sheet.auto_filter.add_sort_condition("B2:B6")
        return change

    filters = [save(changed(change)) for change in (filtered("A1:F6", ["Ann", "Bob"]), filtered("A1:F6", ["Bob", "Ann"]), filtered("A1:F6", ["Ann"]), filtered("A1:E6", ["Ann"]), hidden())]
    for path in filters:
        for wanted in filters:
            yield path, wanted, {"rules": [{"type": "filter", "sheet_idx0": 0, "sheet_idx1": "EI0"}]}
    yield gold, gold, {"rules": [{"type": "sparkline", "sheet_idx0": 0, "sheet_idx1": "EI0"}]}
    yield gold, gold, {"rules": [{"type": "pivot_table", "sheet_idx0": 0, "sheet_idx1": "EI0", "pivot_props": ["col_fields", "filter", "row_fields", "data_fields"]}]}


def printed(maker, save):
    def pair(lines):
        path = save(plain())
        with open(f"{os.path.splitext(path)[0]}-Sheet1.csv", "w", newline="") as file:
            file.write("\n".join(lines))
        return path

    lines = ["Name,Count", "Ann,1", "Bob,2"]
    made = [pair(one) for one in (lines, lines + ["", " "], [line.upper() for line in lines], lines[:2], [""] + lines, [f" {line}" for line in lines])] + [save(plain())]
    for path in made:
        for fold in (False, True):
            yield path, made[0], {"rules": [{"type": "sheet_print", "sheet_idx0": "RNSheet1", "sheet_idx1": "ENSheet1", "ignore_case": fold}]}


def office(maker, found, gold):
    """The same workbooks written again by LibreOffice, which formats and orders its files in its own way."""
    program = shutil.which("localc") and shutil.which("soffice")
    if not program:
        print("LibreOffice Calc is not installed: its own workbooks are left out")
        return
    place = os.path.join(maker.folder, "office")
    command = [program, f"-env:UserInstallation=file://{maker.folder}/profile", "--headless", "--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", place]
    chosen = [gold] + found[:12] + found[-4:]
    subprocess.run(command + chosen, check=False, capture_output=True, timeout=300)
    again = [path for path in (os.path.join(place, os.path.basename(one)) for one in chosen) if os.path.exists(path)]
    print(f"{len(again)} workbooks written by LibreOffice")
    for path in again:
        for wanted in (gold, again[0]):
            yield path, wanted, {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}]}
            yield path, wanted, {"rules": [{"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["bgcolor"]}]}
            yield path, wanted, {"rules": [{"type": "row_props", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["hidden"]}]}
    yield from cells(again, gold)
    yield from fuzzy(again, gold)


def in_order(save, cities):
    for change in ({}, {3: "Town"}, {20: None}, {0: "City 0, Land"}, {5: "CITY 5"}):
        book = openpyxl.Workbook()
        for at, city in enumerate(cities):
            book.active[f"C{at + 2}"] = change.get(at, city)
        path = save(book)
        yield path, {"expected": cities}, {}
        yield path, {"expected": [[city, "Town"] for city in cities]}, {}
        yield path, {"expected": cities[:5]}, {}
