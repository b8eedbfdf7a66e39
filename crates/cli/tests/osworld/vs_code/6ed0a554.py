"""A workspace with one folder."""
import sys

with open(sys.argv[2], "w") as file:
    file.write('{\n\t"folders": [\n\t\t{\n\t\t\t"path": "project"\n\t\t}\n\t]\n}\n')
