"""Cases of documents in PDF, sounds and films for `oracle.py`: made by PyMuPDF, LibreOffice and FFmpeg, each with
changes that should matter and some that should not."""

import os
import random
import shutil
import subprocess
import wave

import fitz
import numpy as np

# No line is longer than a page is wide: at the edge of a page the versions of MuPDF cut otherwise.
TEXT = """The office of the harbour keeps a list of ships. Each ship has a
name, a flag and a day on which it leaves.
On Monday the list is read aloud, and whoever waits for a ship
writes its name down. Efficient flags affect five offices.
Prices rose by 12.5 % in 2024; nobody knows why, or says so. Ä Ö
Ü ß é è ñ, “quoted”, a – b — c, 50 €."""


def documents(maker):
    """Documents of many makings; each is saved under a name and returned with the others."""
    made = {}

    def save(name, document, **options):
        path = maker.path(".pdf")
        document.save(path, **options)
        made[name] = path

    def page(text, font="helv", size=11, place=(72, 72), rotate=0, box=None):
        document = fitz.open()
        one = document.new_page()
        if box:
            one.insert_textbox(fitz.Rect(*box), text, fontname=font, fontsize=size, rotate=rotate)
        else:
            one.insert_text(place, text, fontname=font, fontsize=size, rotate=rotate)
        return document

    save("plain", page(TEXT))
    # Not the fonts for Chinese and Japanese that a document only names: Debian's build of MuPDF lacks them.
    for font in ("tiro", "cour", "hebo", "symb", "zadb"):
        save(font, page(TEXT, font, size=7))
    for size in (4, 8, 24):
        save(f"size {size}", page(TEXT, size=size, box=(40, 40, 560, 800)))
    for turn, place in ((90, (300, 700)), (180, (560, 400)), (270, (300, 100))):
        save(f"turned {turn}", page(TEXT, place=place, rotate=turn))
    save("box", page(TEXT * 3, box=(72, 72, 300, 700)))
    for words in ("", "a", " ", "x" * 60, TEXT.upper(), TEXT.replace("ship", "boat"), TEXT + " More.", TEXT[:100]):
        save(f"words {len(made)}", page(words))
    columns = fitz.open()
    one = columns.new_page()
    for at, left in enumerate((50, 220, 390)):
        one.insert_textbox(fitz.Rect(left, 60, left + 150, 700), f"Column {at}. " + TEXT, fontsize=9)
    save("columns", columns)
    table = fitz.open()
    one = table.new_page()
    for row in range(12):
        for column in range(5):
            one.insert_text((60 + 95 * column, 80 + 22 * row), f"{maker.random.randint(1, 9999)}")
            one.draw_rect(fitz.Rect(55 + 95 * column, 65 + 22 * row, 150 + 95 * column, 87 + 22 * row))
    save("table", table)
    for count in (0, 2, 3, 7):
        many = fitz.open()
        many.new_page()
        for number in range(count):
            many.new_page().insert_text((72, 72), f"Page {number}\n{TEXT}")
        save(f"pages {count + 1}", many)
    noted = page(TEXT)
    noted[0].add_freetext_annot(fitz.Rect(72, 300, 300, 340), "a note on the page")
    noted[0].add_text_annot((72, 400), "a hidden note")
    save("noted", noted)
    turned = page(TEXT)
    turned[0].set_rotation(90)
    save("page turned", turned)
    save("compressed", page(TEXT), garbage=4, deflate=True, clean=True)
    save("locked", page(TEXT), encryption=fitz.PDF_ENCRYPT_AES_256, user_pw="a", owner_pw="b")
    save("for the owner", page(TEXT), encryption=fitz.PDF_ENCRYPT_AES_128, user_pw="", owner_pw="b")
    bytes_of = open(made["plain"], "rb").read()
    for name, changed in (
        ("no table", bytes_of.replace(b"startxref", b"startxxxx")),
        ("empty", b""), ("text", TEXT.encode()), ("behind noise", b"noise\n" * 20 + bytes_of), ("head only", b"%PDF-1.7\n"),
    ):
        made[name] = maker.text(changed, ".pdf")
    made.update(office(maker))
    return made


def office(maker):
    """What LibreOffice's programs, as far as they are here, export of a text and of a sheet."""
    folder = os.path.join(maker.folder, "exported")
    os.makedirs(folder)
    page = f"<html><body><h1>Ships</h1><p>{TEXT}</p><ul><li>one<li>two</ul><table border=1><tr><td>a<td>b<tr><td>1<td>2</table><more></body></html>"
    sheet = "\n".join(",".join(str(maker.random.randint(1, 10**6)) for _ in range(9)) for _ in range(70))
    for name, text in (("a.html", page), ("b.html", page.replace("<more>", f"<p>{TEXT[:80]}</p>")), ("c.csv", sheet), ("d.csv", sheet.replace("7", "8"))):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    made = {}
    for program, kind, names in (("lowriter", "writer_web_pdf_Export", ("a.html", "b.html")), ("localc", "calc_pdf_Export", ("c.csv", "d.csv"))):
        if not shutil.which(program):
            print(f"{program} is not installed: what it exports is left out")
            continue
        command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", f"pdf:{kind}", "--outdir", folder]
        subprocess.run([*command, *(os.path.join(folder, name) for name in names)], check=True, capture_output=True, timeout=180)
        made.update({f"office {name[0]}": os.path.join(folder, f"{name[0]}.pdf") for name in names})
    return made


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments], check=True, timeout=120)


def sounds(maker):
    """Sounds of several kinds of file; `b` and later ones differ from `a`."""
    rate, noise = 44100, np.random.default_rng(5)
    time = np.arange(3 * rate // 2) / rate
    tune = sum(np.sin(2 * np.pi * hertz * time * (1 + 0.1 * np.sin(time))) for hertz in (220, 330, 554)) / 4
    tune += 0.05 * noise.standard_normal(len(time))

    def saved(samples, rate=rate, channels=1):
        path = maker.path(".wav")
        samples = np.repeat(samples[:, None], channels, axis=1) if samples.ndim == 1 else samples
        with wave.open(path, "wb") as file:
            file.setnchannels(samples.shape[1])
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes((np.clip(samples, -1, 1) * 32000).astype("<i2").tobytes())
        return path

    first = saved(tune)
    made = [first, saved(tune * 0.3), saved(tune[rate // 2:]), saved(tune[::-1].copy()), saved(np.concatenate([tune, tune[: rate // 2]]))]
    made += [saved(tune + 0.3 * noise.standard_normal(len(tune))), saved(noise.standard_normal(rate) / 5)]
    made += [saved(np.stack([tune, 0.5 * tune[::-1]], axis=1)), saved(tune, channels=2)]
    made += [saved(tune[::2].copy(), rate // 2), saved(tune[: rate // 50])]
    for ending, options in ((".flac", ()), (".ogg", ("-c:a", "libvorbis")), (".wav", ("-ar", "8000")), (".wav", ("-ar", "48000", "-c:a", "pcm_f32le")), (".wav", ("-c:a", "pcm_s24le"))):
        path = maker.path(ending)
        ffmpeg("-i", first, *options, path)
        made.append(path)
    return made + [maker.text(b"no sound", ".wav"), maker.text(b"", ".mp3")]


def films(maker):
    """Films of several kinds of file, sizes and lengths."""
    def film(source, ending, *options):
        path = maker.path(ending)
        ffmpeg("-f", "lavfi", "-i", source, *options, path)
        return path

    base = "testsrc2=size=320x240:rate=10:duration=%s"
    made = [film(base % 4, ".mp4"), film(base % 4, ".avi", "-c:v", "mjpeg"), film(base % 4, ".mkv", "-crf", "40"), film(base % 3, ".mp4"), film(base % 12, ".mp4"), film(base % 15, ".mp4")]
    made += [film(base % 4, ".mp4", "-vf", "scale=160:120"), film(base % 4, ".mp4", "-vf", "hflip"), film(base % 4, ".mp4", "-vf", "negate")]
    made += [film(base % 4, ".mp4", "-vf", "hue=s=0"), film("mandelbrot=size=160x120:rate=10", ".mp4", "-t", "4"), film("color=black:size=64x64:rate=5:duration=2", ".mp4")]
    return made + [maker.text(b"no film", ".mp4"), maker.text(b"", ".mp4")]


def few(cases, count):
    """So many of the cases, always the same ones: Python needs long for them."""
    return random.Random(3).sample(cases, count)


def media(maker):
    made = documents(maker)
    missing = os.path.join(maker.folder, "missing.pdf")
    paths = list(made.values())
    some = [made[name] for name in ("plain", "box", "columns", "table", "pages 3")] + [made[name] for name in made if name.startswith("office")]
    pairs = [(a, b) for a in paths for b in some] + [(path, path) for path in paths]
    pairs += [(some[0], path) for path in paths] + [(None, some[0]), (missing, some[0]), (some[0], missing)]
    pairs += [(some[:3], [some[0], some[2], some[2]]), ([some[0], missing], some[:2]), (some[:1], some[:1])]
    yield "compare_pdfs", True, [(a, b, {}) for a, b in pairs]
    rules = [{"relation": relation, "ref_value": value} for relation in ("eq", "ne", "lt", "le", "gt", "ge") for value in (1, 3, 2.5)]
    readable = [path for name, path in made.items() if name not in ("no table", "locked", "head only", "behind noise")]
    yield "check_pdf_pages", False, [(path, rule, {}) for path in readable[:40] + [None] for rule in rules]
    heard = sounds(maker)
    pairs = [(path, heard[0]) for path in heard] + [(heard[0], path) for path in heard] + [(path, path) for path in heard]
    pairs += [(heard[2], path) for path in heard[3:9]] + [(None, heard[0])]
    yield "compare_audios", True, few([(a, b, {}) for a, b in pairs], 30)
    seen = films(maker)
    yield "compare_videos", False, few([(a, b, {}) for a in seen for b in seen if a == b or seen.index(a) < 6 or seen.index(b) < 2], 40)
