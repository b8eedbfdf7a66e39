"""A small project in a folder `binder`."""
import sys
import zipfile

with zipfile.ZipFile(sys.argv[2], "w") as archive:
    archive.writestr("binder/README.md", "# Binder\n\nPuts notes into one file.\n")
    archive.writestr("binder/binder.sh", "cat notes/*.txt > all.txt\n")
    archive.writestr("binder/notes/one.txt", "Buy paper.\n")
