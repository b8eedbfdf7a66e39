"""A black object on a layer of its own above a white background."""
import os
import subprocess
import sys

from PIL import Image, ImageDraw

name, target = sys.argv[1:]
thing = Image.new("RGBA", (240, 240), (255, 255, 255, 0))
ImageDraw.Draw(thing).rectangle((70, 90, 170, 190), fill=(0, 0, 0, 255))
if name.endswith(".png"):
    whole = Image.new("RGB", thing.size, "white")
    whole.paste(thing, (0, 0), thing)
    whole.save(target, "PNG")
else:
    thing.save(target + ".png", "PNG")
    script = f"""
    (let* ((image (car (gimp-image-new 240 240 RGB)))
           (back (car (gimp-layer-new image 240 240 RGB-IMAGE "Background" 100 LAYER-MODE-NORMAL)))
           (piece (car (gimp-file-load-layer RUN-NONINTERACTIVE image "{target}.png"))))
      (gimp-image-insert-layer image back 0 0)
      (gimp-drawable-fill back FILL-WHITE)
      (gimp-image-insert-layer image piece 0 0)
      (gimp-item-set-name piece "Object")
      (gimp-image-set-active-layer image back)
      (gimp-xcf-save RUN-NONINTERACTIVE image piece "{target}" "{target}"))
    """
    subprocess.run(["gimp", "-i", "-d", "-f", "-b", script, "-b", "(gimp-quit 0)"], check=True)
    os.remove(target + ".png")
