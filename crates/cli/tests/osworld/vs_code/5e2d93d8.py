"""A small project: a program, a page about it, and its settings."""
import sys

TEXTS = {"main.py": 'print("hello")\n', "README.md": "# A project\n", "settings.json": "{}\n"}

name, target = sys.argv[1:]
with open(target, "w") as file:
    file.write(TEXTS[name])
