"""A picture of a can, and the same one without its top fifth."""
import sys

from PIL import Image, ImageDraw

image = Image.new("RGB", (300, 400), (235, 240, 250))
draw = ImageDraw.Draw(image)
draw.rectangle((90, 30, 210, 370), fill=(200, 20, 30))
draw.ellipse((90, 10, 210, 60), fill=(170, 170, 175))
draw.polygon([(90, 250), (210, 140), (210, 180), (90, 290)], fill="white")
if "cropped" in sys.argv[1]:
    image = image.crop((0, 80, 300, 400))
image.save(sys.argv[2], "PNG")
