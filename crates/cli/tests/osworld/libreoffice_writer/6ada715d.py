"""Instructions in which a screenshot is missing below the eighth line."""
import sys

import docx
from PIL import Image, ImageDraw

LINES = [
    "Viewing your class schedule", "Open the portal of the school.", "Sign in with your card number.",
    "Choose Classes in the list on the left.", "Choose the term.", "Press Show.",
    "The schedule opens in a window of its own.", "Each class has its room and its hours:", "",
    "Viewing your textbooks", "Press the name of a class.", "Its books stand below the hours.",
]


def screenshot(target):
    image = Image.new("RGB", (320, 180), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 319, 24), fill=(30, 70, 140))
    for row in range(4):
        draw.rectangle((20, 40 + 32 * row, 300, 60 + 32 * row), outline=(90, 90, 90), fill=(225, 235, 225))
    image.save(target, "PNG")


name, target = sys.argv[1:]
if name.endswith(".png"):
    screenshot(target)
else:
    document = docx.Document()
    for line in LINES:
        paragraph = document.add_paragraph(line)
        if not line and "_Gold" in name:
            screenshot(target + ".png")
            paragraph.add_run().add_picture(target + ".png")
    document.save(target)
