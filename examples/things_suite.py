"""A suite that is made in code: pages of four boxes, and instructions that say what the wanted thing is for.

    python examples/things_suite.py FOLDER      # writes it there; `apprentice tasks audit FOLDER` tries it

Which world a seed means depends on the name of the folder, so that a suite is named alike where its worlds shall be the same.
"""

import json
import pathlib
import sys

#: Boxes of a page.
PLACES = 4

THINGS = {
    "Kettle": "boils water",
    "Hammer": "drives nails into wood",
    "Umbrella": "keeps the rain off",
    "Scissors": "cuts paper",
    "Ladder": "lets people reach high places",
    "Broom": "sweeps the floor",
    "Clock": "tells the time",
    "Candle": "gives light with a flame",
    "Pillow": "lies under a sleeper's head",
    "Oven": "bakes bread",
    "Camera": "takes photographs",
    "Spoon": "is for eating soup",
    "Needle": "is for sewing clothes",
    "Towel": "dries wet hands",
    "Lock": "keeps a door shut",
    "Map": "shows the way",
    "Pencil": "is for drawing and writing",
    "Bicycle": "has two wheels and pedals",
    "Boat": "crosses a lake",
    "Anchor": "holds a ship in place",
    "Fridge": "keeps food cold",
    "Mirror": "shows people their own face",
    "Piano": "makes music with keys",
    "Rope": "ties things together",
    "Saw": "cuts wooden boards",
    "Tent": "shelters campers at night",
    "Telescope": "makes the stars look near",
    "Thermometer": "measures heat and cold",
    "Wallet": "holds money and cards",
    "Whistle": "makes a shrill sound when blown",
    "Shovel": "digs holes in the ground",
    "Glasses": "helps people with weak eyes",
    "Bucket": "carries water",
    "Helmet": "protects the head",
    "Stamp": "pays for sending a letter",
    "Magnet": "pulls iron",
    "Blanket": "keeps people warm in bed",
    "Drum": "is beaten to give a rhythm",
    "Calendar": "shows the days and months",
    "Lamp": "lights a room with electricity",
    "Razor": "shaves a beard",
    "Fork": "picks up food with prongs",
    "Gloves": "warms the fingers",
    "Comb": "tidies the hair",
    "Parachute": "slows a fall from the sky",
    "Compass": "points to the north",
    "Scale": "measures weight",
    "Soap": "washes away dirt",
}


def write_suite(folder):
    """A suite of two parts, `train` and `held-out`, with a task for each place where the wanted box can stand."""
    names = list(THINGS)
    parts = {"held-out": names[3::4], "train": [name for place, name in enumerate(names) if place % 4 != 3]}
    tasks = folder / "examples" / "things"
    tasks.mkdir(parents=True)
    ids = []
    for part, members in parts.items():
        for place in range(PLACES):
            ids.append(f"{part}-{place}")
            (tasks / f"{ids[-1]}.json").write_text(json.dumps(task(ids[-1], part, place, members), indent=2))
    (folder / "suite.json").write_text(json.dumps({"things": ids}))
    return folder


def task(identity, part, place, members):
    boxes = "abcd"
    rules = [{"key": ["values", box], "method": "eq", "ref": box == boxes[place]} for box in boxes]
    controls = [{"role": "checkbox", "name": f"{{{{things.{n}.name}}}}", "bind": box} for n, box in enumerate(boxes)]
    return {
        "id": identity,
        "instruction": f"Tick the box of the thing that {{{{things.{place}.use}}}}.",
        "evaluator": {
            "func": "check_json",
            "result": {"type": "vm_file", "path": "/state.json", "dest": "state.json"},
            "expected": {"type": "rule", "rules": {"expect": rules}},
        },
        "apprentice": {
            "environment": "scene",
            "template": part,
            "screen": {"width": 640, "height": 480},
            "vary": {"things": {"pick": PLACES, "of": [{"name": name, "use": THINGS[name]} for name in members]}},
            "scene": {
                "start": "main",
                "state": dict.fromkeys(boxes, False),
                "pages": {"main": {"title": "Things", "controls": controls}},
            },
            "solution": [{"click": {"role": "checkbox", "name": f"{{{{things.{place}.name}}}}"}}],
        },
    }


if __name__ == "__main__":
    write_suite(pathlib.Path(sys.argv[1]))
