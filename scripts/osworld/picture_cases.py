"""Cases for the metrics of pictures: files of all modes that programs save, and what editing makes of them."""

import numpy
from maker import NONE
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

SIDES = [(24, 20), (24, 24), (9, 31)]


def picture(maker, width, height):
    """A picture with slopes, a shape and some noise, so that each property has something to change."""
    down, across = numpy.mgrid[0:height, 0:width]
    channels = [40 + across * 150 / width, 60 + down * 120 / height, 90 + 40 * numpy.sin(across / 3)]
    pixels = numpy.stack(channels, axis=2)
    pixels[height // 4:height // 2, width // 5:width // 2] = (200, 60, 30)
    noise = numpy.random.default_rng(maker.random.randrange(1 << 30)).integers(-12, 12, pixels.shape)
    return Image.fromarray(numpy.clip(pixels + noise, 0, 255).astype(numpy.uint8))


def save(maker, image, ending, **how):
    path = maker.path(ending)
    image.save(path, **how)
    return path


def opaque_but(image, part):
    """The picture with an alpha channel that shows one part."""
    alpha = Image.new("L", image.size, 0)
    alpha.paste(255, part)
    alpha.putpixel((part[0], part[1]), 100)
    shown = image.convert("RGBA")
    shown.putalpha(alpha)
    return shown


def edited(image):
    """What an editor makes of a picture."""
    width, height = image.size
    yield image
    yield ImageEnhance.Brightness(image).enhance(0.6)
    yield ImageEnhance.Brightness(image).enhance(1.3)
    yield ImageEnhance.Color(image).enhance(1.5)
    yield ImageEnhance.Color(image).enhance(0.4)
    yield ImageEnhance.Contrast(image).enhance(1.4)
    yield ImageEnhance.Contrast(image).enhance(0.5)
    yield image.filter(ImageFilter.GaussianBlur(1))
    yield image.filter(ImageFilter.SHARPEN)
    yield ImageOps.mirror(image)
    yield ImageOps.flip(image)
    yield ImageOps.invert(image)
    yield image.resize((width + 5, height - 3), Image.Resampling.BICUBIC)
    yield image.resize((width * 2, height * 2), Image.Resampling.LANCZOS)
    yield image.crop((2, 1, width - 3, height - 2))
    yield image.resize((5, 5))
    yield Image.new("RGB", image.size, (0, 0, 0))
    yield Image.new("RGB", image.size, (20, 220, 30))


def kinds(maker, image):
    """The same picture as files of different kinds."""
    width, height = image.size
    yield save(maker, image, ".png")
    yield save(maker, image.convert("L"), ".png")
    yield save(maker, image.convert("1"), ".png")
    yield save(maker, image.convert("LA"), ".png")
    yield save(maker, image.convert("P", palette=Image.Palette.ADAPTIVE, colors=30), ".png")
    yield save(maker, image.convert("P", palette=Image.Palette.ADAPTIVE, colors=4), ".png", transparency=1)
    yield save(maker, opaque_but(image, (2, 3, width - 2, height - 4)), ".png")
    yield save(maker, opaque_but(image, (0, 0, width, height)), ".png")
    yield save(maker, image, ".png", transparency=image.getpixel((3, 3)))
    yield save(maker, image.convert("L"), ".png", transparency=120)
    yield save(maker, image.convert("P", palette=Image.Palette.ADAPTIVE, colors=50), ".gif")
    yield save(maker, image.convert("L"), ".gif")
    yield save(maker, image.convert("P", palette=Image.Palette.ADAPTIVE, colors=9), ".gif", transparency=2)


def bad(maker, image):
    """Files that are no pictures, or broken ones."""
    path = save(maker, image, ".png")
    with open(path, "rb") as file:
        whole = file.read()
    yield maker.text(whole[: len(whole) // 2], ".png")
    yield maker.text("no picture", ".png")
    yield maker.text("", ".png")
    yield None


def triangles(maker):
    """Pictures of two and three colours with the shape at different places."""
    for mode in ("RGB", "RGBA", "L", "LA", "P"):
        for left, top in ((14, 10), (2, 2), (12, 11), (20, 10)):
            image = Image.new("RGB", (40, 30), "white")
            image.paste((250, 220, 10), (left, top, left + 12, top + 9))
            yield save(maker, image.convert(mode), ".png")
            image.paste((10, 10, 10), (0, 0, 40, 2))
            yield save(maker, image.convert(mode), ".png")
    yield save(maker, Image.new("RGB", (8, 8)), ".png")


def boxes(maker):
    """Pages with a dark box at different places."""
    for mode in ("RGB", "L", "RGBA", "1", "P"):
        for left in (0, 1, 2, 3, 30):
            image = Image.new("RGB", (41, 12), "white")
            image.paste((90, 90, 100), (left, 4, left + 6, 8))
            yield save(maker, image.convert(mode), ".png")
    yield save(maker, Image.new("L", (30, 4), 128), ".png")


def greens(maker):
    """Pairs for the green background: squares and others."""
    for size in ((10, 10), (12, 8), (8, 12)):
        for mode in ("RGB", "RGBA", "L", "P"):
            wanted = Image.new("RGB", size, "white")
            wanted.paste((0, 0, 0), (2, 2, 5, 5))
            for color in ((10, 200, 20), (200, 200, 20), (0, 255, 0), (255, 255, 255)):
                found = Image.new("RGB", size, color)
                found.paste((0, 0, 0), (2, 2, 5, 5))
                yield save(maker, found.convert(mode), ".png"), save(maker, wanted.convert(mode), ".png"), {}
    # Green but for one pixel that is no background, or is.
    for at in ((3, 3), (7, 1)):
        found = Image.new("RGB", (10, 10), "green")
        found.putpixel(at, (250, 0, 0))
        wanted = Image.new("RGB", (10, 10), "white")
        wanted.paste((0, 0, 0), (2, 2, 5, 5))
        yield save(maker, found, ".png"), save(maker, wanted, ".png"), {}


def pictures(maker, scale=1):
    pairs = []
    for size in SIDES * scale:
        image = picture(maker, *size)
        gold = save(maker, image, ".png")
        pairs += [(save(maker, changed, ".png"), gold, {}) for changed in edited(image)]
        same = list(kinds(maker, image))
        pairs += [(path, gold, {}) for path in same] + [(gold, path, {}) for path in same]
        pairs += list(zip(same, same[1:] + same[:1], [{}] * len(same)))
        darker = list(kinds(maker, ImageEnhance.Brightness(image).enhance(0.7)))
        pairs += [(dark, path, {}) for dark, path in zip(darker, same)] + [(path, path, {}) for path in same]
        scaled = list(kinds(maker, image.resize((size[0] * 2, size[1] + 7))))
        pairs += [(big, path, {}) for big, path in zip(scaled, same)] + [(path, big, {}) for big, path in zip(scaled, same)]
        pairs += [(path, gold, {}) for path in bad(maker, image)] + [(gold, path, {}) for path in bad(maker, image)]
        jpeg = save(maker, image, ".jpg", quality=95)
        changed = save(maker, ImageEnhance.Color(ImageEnhance.Brightness(image).enhance(0.6)).enhance(0.5), ".jpg", quality=90)
        pairs += [(jpeg, jpeg, {}), (changed, jpeg, {}), (jpeg, changed, {})]
    for name in (
        "check_brightness_decrease_and_structure_sim", "check_contrast_increase_and_structure_sim",
        "check_file_exists_and_structure_sim", "check_palette_and_structure_sim", "check_saturation_increase_and_structure_sim",
        "check_structure_sim", "check_structure_sim_resized", "decrease_brightness", "increase_saturation",
    ):
        yield name, True, pairs
    # JPEG is decoded by another library here, which rounds otherwise: no numbers are compared.
    exact = [pair for pair in pairs if pair[0] == pair[1] or not any(str(path).endswith(".jpg") for path in pair[:2])]
    base = [(found, wanted, {"reference_base_result": base}) for found, wanted, _ in exact[::3] for base in (0.11, 0.54, 0.9)]
    yield "compare_images", True, exact + base
    # OpenCV reads no pictures with a palette as the other library does, and no GIF.
    yield "check_sharper", True, exact
    mirrored = [(save(maker, ImageOps.mirror(Image.open(path)), ".png"), path, {}) for path in {pair[1] for pair in pairs if str(pair[1]).endswith(".png")}
                if readable(path)]
    yield "check_image_mirror", True, pairs + sorted(mirrored)
    lists = [pair for pair in exact if not to_palette(pair)]
    several = [([a[0], b[0]], [a[1], b[1]], {}) for a, b in zip(lists, lists[::-1])][::7]
    yield "compare_image_list", True, lists + several
    yield "check_triangle_position", True, [(path, NONE, {}) for path in [*triangles(maker), *bad(maker, image)]]
    yield "check_textbox_on_leftside", True, [(path, NONE, {}) for path in [*boxes(maker), *bad(maker, image)]]
    yield "check_green_background", True, list(greens(maker)) + [(path, gold, {}) for path in bad(maker, image)]


def readable(path):
    try:
        Image.open(path).load()
        return True
    except OSError:
        return False


def to_palette(pair):
    """Whether the comparison reduces colours, for which there is no one way."""
    if not all(isinstance(path, str) and readable(path) for path in pair[:2]):
        return False
    found, wanted = (Image.open(path).mode for path in pair[:2])
    return found != wanted and wanted in ("1", "P", "LA")
