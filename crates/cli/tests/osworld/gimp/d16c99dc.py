"""A picture of a dog, and the same as a layer in the middle of a larger canvas, above an empty background."""
import os
import subprocess
import sys

from PIL import Image, ImageDraw

name, target = sys.argv[1:]
dog = Image.new("RGB", (300, 256), (190, 215, 170))
draw = ImageDraw.Draw(dog)
draw.ellipse((70, 100, 220, 190), fill=(120, 80, 50))
draw.ellipse((190, 60, 260, 130), fill=(130, 90, 60))
for left in (90, 120, 175, 200):
    draw.rectangle((left, 170, left + 14, 235), fill=(110, 70, 45))
draw.polygon([(195, 75), (205, 40), (220, 70)], fill=(90, 60, 40))
if name.endswith(".png"):
    dog.save(target, "PNG")
else:
    dog.save(target + ".png", "PNG")
    script = f"""
    (let* ((image (car (gimp-image-new 900 600 RGB)))
           (back (car (gimp-layer-new image 900 600 RGBA-IMAGE "Background" 100 LAYER-MODE-NORMAL)))
           (dog (car (gimp-file-load-layer RUN-NONINTERACTIVE image "{target}.png"))))
      (gimp-image-insert-layer image back 0 0)
      (gimp-drawable-fill back FILL-TRANSPARENT)
      (gimp-image-insert-layer image dog 0 0)
      (gimp-item-set-name dog "Dog")
      (gimp-layer-set-offsets dog 300 172)
      (gimp-image-set-active-layer image dog)
      (gimp-xcf-save RUN-NONINTERACTIVE image dog "{target}" "{target}"))
    """
    subprocess.run(["gimp", "-i", "-d", "-f", "-b", script, "-b", "(gimp-quit 0)"], check=True)
    os.remove(target + ".png")
