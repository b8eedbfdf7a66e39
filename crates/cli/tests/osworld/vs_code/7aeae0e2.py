"""A program with two arrays."""
import sys

with open(sys.argv[2], "w") as file:
    file.write("import numpy as np\n\nheights = np.arange(12).reshape(3, 4)\nweights = np.linspace(0, 1, 5)\nprint(heights, weights)\n")
