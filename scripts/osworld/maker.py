"""What the files of cases share: where their files are made, and the sign for an expectation that is missing."""

import os
import random

# Stands for the missing second argument of a metric that takes one.
NONE = object()


class Maker:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0
        self.random = random.Random(7)

    def path(self, ending):
        self.count += 1
        return os.path.join(self.folder, f"f{self.count}{ending}")

    def text(self, text, ending=".txt"):
        path = self.path(ending)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path
