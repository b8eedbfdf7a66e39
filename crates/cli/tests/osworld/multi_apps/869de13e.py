"""What lies about on a desktop: papers, projects and other documents."""
import sys
import zipfile

import docx
import openpyxl

name, target = sys.argv[1:]
PAPERS = ("paper01", "GLUE", "1909", "1802", "1706")
if name.endswith(".zip"):
    folder = "assign1-data_python3" if name.startswith("assign1") else "2-if-for-array"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(f"{folder}/main.py", "for number in range(3):\n    print(number)\n")
        archive.writestr(f"__MACOSX/{folder}/._main.py", "")
elif name.endswith(".docx"):
    document = docx.Document()
    document.add_paragraph("Front page of an assignment")
    document.save(target)
elif name.endswith(".xlsx"):
    book = openpyxl.Workbook()
    book.active.append(["year", "answers"])
    book.active.append([2021, 120])
    book.save(target)
else:
    text = "Abstract. We present a method. References." if name.startswith(PAPERS) else "A leaflet of an office."
    with open(target, "w") as file:
        file.write(text + "\n")
