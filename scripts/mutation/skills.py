"""Changes every threshold, list and comparison of the crates around the skillbook, one at a time, and asks whether a test notices.

A copy of the workspace gets a switch at each place, so that one build holds all mutants: a number can be halved, doubled, or moved
by one, an entry of a list be replaced by its neighbour, an alternative of a pattern be left out, and `<` become `<=`. Each test
runs once to say which places it reaches; a mutant is then given to those tests alone, the quickest first.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).resolve().parents[2]
CRATES = ["wording", "model-json", "screening", "skillbook", "guidance", "learning"]
RUNTIME = ROOT / "scripts/mutation/mutation.rs"
PARSER = Parser(Language(tree_sitter_rust.language()))
NUMBERS = re.compile(r"usize|u8|u16|u32|u64|u128|i32|i64|i128|f32|f64|TextBudget")
FORMS = ["halved", "doubled", "one more", "one less"]
ORDERS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
# Exact borders of larger numbers are promised to nobody.
SMALL = 64
# So many tests that reach a mutant are asked in processes of their own.
ALONE = 6
# Changes that nothing can notice, by file, label and form, with the reason.
EQUIVALENT = {
    ("skillbook/src/skill/figure.rs", "MAX_DECODED_BYTES = 8 * (MAX_FIGURE_SIDE_PIXELS as u64) * (MAX_FIGURE_SIDE_PIXELS as u64)", "doubled"):
        "the sides are checked before, so no picture needs more; it bounds what a damaged file makes the decoder take",
    ("learning/src/sentence_origins/attempt_words.rs", "u32::from(c) >= 0x3040", "`>`"): "no letter stands at U+3040",
    **{("screening/src/scan/normalization.rs", "5", form): "a match has five groups, and further ones are empty" for form in ["doubled", "one more"]},
    **{("wording/src/similar_pairs.rs", "COMMON_SHARE = 0.7", form): "the pairs are the same for every share between 0 and 1; it decides the time"
       for form in ["halved", "one more", "one less"]},
    **{("wording/src/similar_pairs.rs", "ROUNDING = 1e-9", form): "either is far above the rounding of a sum, and compares hardly more texts"
       for form in ["halved", "doubled"]},
    **{("skillbook/src/write/revert.rs", "OPERATION_VERSION = 1", form): "the operation is imagined, and never written" for form in FORMS},
}


@dataclass
class Constant:
    name: str
    file: str
    line: int
    kind: str
    forms: int
    value: str


@dataclass
class Site:
    """One place at which a copy can be changed."""

    number: int
    file: str
    start: int
    end: int
    line: int
    kind: str
    label: str
    forms: list
    constant: str = ""
    captured: str = ""


@dataclass
class Source:
    file: str
    text: bytes
    tree: Node
    sites: list = field(default_factory=list)


def words(node: Node) -> str:
    return node.text.decode()


def walk(node: Node):
    yield node
    for child in node.children:
        yield from walk(child)


def ancestors(node: Node):
    while node.parent is not None:
        node = node.parent
        yield node


def is_test(node: Node) -> bool:
    before = node.prev_named_sibling
    return node.type in ("mod_item", "function_item") and before is not None and "test" in words(before) and before.type == "attribute_item"


def read_sources(crates: Path) -> list:
    sources = []
    for path in sorted(path for crate in CRATES for path in (crates / crate / "src").rglob("*.rs")):
        if path.stem in ("tests", "mutation") or "tests" in path.parts:
            continue
        text = path.read_bytes()
        sources.append(Source(str(path.relative_to(crates)), text, PARSER.parse(text).root_node))
    return sources


def entries(value: Node):
    for node in walk(value):
        if node.type == "array_expression":
            return [child for child in node.named_children if "comment" not in child.type]
    return []


def alternatives(text: str) -> int:
    depth = count = 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        count += letter == "|" and depth == 0
    return count + 1 if count else 0


def constant_of(item: Node, file: str):
    value, kind = item.child_by_field_name("value"), words(item.child_by_field_name("type"))
    if value is None:
        return None
    name, line = words(item.child_by_field_name("name")), item.start_point[0] + 1
    written = words(value)
    if NUMBERS.fullmatch(kind):
        found = re.search(r"\d[\d_.]*", written)
        simple = re.fullmatch(r"(?:TextBudget\()?[\d_.]+\)?", written)
        small = simple and float(found[0].replace("_", "")) <= SMALL
        return Constant(name, file, line, "number", 4 if small else 2, written)
    if kind.startswith(("&", "[")) and "[" in kind:
        count = len(entries(value))
        return Constant(name, file, line, "list" if kind.startswith("&") else "array", count if count > 1 else 0, written)
    if kind in ("&str", "&'static str") and value.type in ("string_literal", "raw_string_literal"):
        return Constant(name, file, line, "pattern", alternatives(written), written)
    return None


def find_constants(sources: list) -> dict:
    found = defaultdict(list)
    for source in sources:
        for node in walk(source.tree):
            if node.type == "const_item" and not any(is_test(above) for above in ancestors(node)):
                constant = constant_of(node, source.file)
                if constant and constant.forms:
                    found[constant.name].append(constant)
    return found


def definition(name: str, path: str, source: Source, constants: dict):
    known = constants.get(name, [])
    here = [one for one in known if one.file == source.file]
    if here or len(known) == 1:
        return (here or known)[0]
    uses = path + " ".join(words(node) for node in source.tree.named_children if node.type == "use_declaration" and name in words(node))
    named = [one for one in known if re.search(rf"\b{Path(one.file).stem}\b", uses)]
    return named[0] if len(named) == 1 else None


PLACES_TO_LEAVE = {"use_declaration", "attribute_item", "inner_attribute_item", "array_type", "match_pattern", "type_arguments"}


def can_change(node: Node) -> bool:
    inside = node
    for above in ancestors(node):
        if above.type in PLACES_TO_LEAVE or is_test(above) or above.type.endswith("_pattern"):
            return False
        if above.type == "closure_expression" and inside == above.child_by_field_name("body"):
            return not any(is_test(one) for one in ancestors(above))
        if above.type in ("const_item", "static_item", "enum_variant", "field_declaration"):
            return False
        if above.type == "function_item" and re.search(r"\bconst fn\b", words(above).split("{")[0]):
            return False
        inside = above
    return True


class Finder:
    """Finds the places of one source."""

    def __init__(self, source: Source, constants: dict, first: int):
        self.source, self.constants, self.next = source, constants, first

    def add(self, node: Node, kind: str, label: str, forms: list, **more):
        line = node.start_point[0] + 1
        self.source.sites.append(Site(self.next, self.source.file, node.start_byte, node.end_byte, line, kind, label, forms, **more))
        self.next += 1

    def look(self):
        for node in walk(self.source.tree):
            if node.type == "identifier":
                self.name(node)
            elif node.type in ("integer_literal", "float_literal"):
                self.literal(node)
            elif node.type == "binary_expression":
                self.comparison(node)
            elif node.type == "macro_invocation":
                self.captures(node)
        return self.next

    def constant(self, constant: Constant, node: Node, captured: str = ""):
        forms = [f"entry {at}" for at in range(constant.forms)]
        if constant.kind == "number":
            forms = FORMS[: constant.forms]
        label = f"{constant.name} = {constant.value}" if constant.kind == "number" else constant.name
        self.add(node, constant.kind, label, forms, constant=f"{constant.file}:{constant.name}", captured=captured)

    def name(self, node: Node):
        whole = node.parent if node.parent.type == "scoped_identifier" else node
        if whole is not node and whole.child_by_field_name("name") != node:
            return
        if whole.parent.type in ("const_item", "scoped_identifier", "use_list") or not can_change(whole):
            return
        constant = definition(words(node), words(whole), self.source, self.constants)
        if constant:
            self.constant(constant, whole)

    def literal(self, node: Node):
        value = re.sub(r"_|[iuf](8|16|32|64|128|size)$", "", words(node))
        inside = any(above.type == "token_tree" for above in ancestors(node))
        if inside or node.parent.type == "field_expression" or value in ("0", "1", "0.0", "1.0") or not can_change(node):
            return
        if not re.fullmatch(r"[\d.]+", value):
            return
        self.add(node, "number", words(node), FORMS[: 4 if float(value) <= SMALL else 2])

    def comparison(self, node: Node):
        order = words(node.child_by_field_name("operator"))
        if order in ORDERS and can_change(node):
            self.add(node, "order", " ".join(words(node).split())[:80], [f"`{ORDERS[order]}`"])

    def captures(self, node: Node):
        """Constants that a format string names in braces."""
        if words(node.child_by_field_name("macro")) not in ("format", "write", "writeln") or not can_change(node):
            return
        for name in sorted(set(re.findall(r"\{([A-Z][A-Z_]+)\}", words(node)))):
            constant = definition(name, "", self.source, self.constants)
            if constant:
                self.constant(constant, node, captured=name)


class Writer:
    """Writes a source with its switches, and keeps where each stands."""

    def __init__(self, source: Source, left: set):
        self.source = source
        self.sites = sorted((one for one in source.sites if one.number not in left), key=lambda one: (one.start, -one.end))

    def write(self) -> tuple:
        return self.render(0, len(self.source.text), self.sites)

    def render(self, start: int, end: int, sites: list) -> tuple:
        out, at, places, rest = b"", start, [], list(sites)
        while rest:
            site = rest.pop(0)
            nested = [one for one in rest if one.end <= site.end]
            rest = [one for one in rest if one.end > site.end]
            out += self.source.text[at : site.start]
            body, inner = self.render(site.start, site.end, nested)
            before, body, after = self.switch(site, body)
            shift = len(out) + len(before)
            places += [(first + shift, last + shift, number) for first, last, number in inner]
            places.append((len(out), shift + len(body) + len(after), site.number))
            out, at = out + before + body + after, site.end
        return out + self.source.text[at:end], places

    def switch(self, site: Site, body: bytes) -> tuple:
        call = f"crate::mutation::{site.kind}({site.number}, "
        if site.captured:
            return b"", body[:-1].rstrip().rstrip(b","), f", {site.captured} = {call}{site.captured}))".encode()
        if site.kind != "order":
            return call.encode(), body, b")"
        node = self.source.tree.descendant_for_byte_range(site.start, site.end)
        operator = node.child_by_field_name("operator")
        text = self.source.text
        changed = text[site.start : operator.start_byte] + ORDERS[words(operator)].encode() + text[operator.end_byte : site.end]
        return f"(if crate::mutation::is_on({site.number}) {{ ".encode() + changed + b" } else { ", body, b" })"


class Copy:
    """A copy of the workspace in which each place has a switch."""

    def __init__(self, folder: Path, target: Path):
        self.folder, self.target, self.left = folder, target, set()
        folder.mkdir(parents=True, exist_ok=True)
        files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
        gone = {str(path.relative_to(folder)) for path in (folder / "crates").rglob("*") if path.is_file()} - set(files)
        for name in gone:
            (folder / name).unlink()
        for name in filter(None, files):
            if (ROOT / name).is_file() and not name.startswith("docs/records/"):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                if not (folder / name).exists() or (folder / name).read_bytes() != (ROOT / name).read_bytes():
                    shutil.copy2(ROOT / name, folder / name)
        self.sources = read_sources(folder / "crates")
        self.constants = find_constants(self.sources)
        first = 0
        for source in self.sources:
            first = Finder(source, self.constants, first).look()
        self.sites = {site.number: site for source in self.sources for site in source.sites}

    def build(self) -> list:
        """Builds the tests, leaving out places that the compiler refuses: patterns, lengths of arrays and the like."""
        for _ in range(12):
            written = {}
            for source in self.sources:
                text, places = Writer(source, self.left).write()
                if source.file.endswith("/src/lib.rs"):
                    text += b"\nmod mutation;\n"
                file = self.folder / "crates" / source.file
                if file.read_bytes() != text:
                    file.write_bytes(text)
                written[f"crates/{source.file}"] = places
            for crate in CRATES:
                shutil.copy(RUNTIME, self.folder / "crates" / crate / "src/mutation.rs")
                manifest = self.folder / "crates" / crate / "Cargo.toml"
                manifest.write_text(manifest.read_text().replace("[lints]\nworkspace = true\n", ""))
            packages = [part for crate in CRATES for part in ("--package", f"apprentice-{crate}")]
            command = ["cargo", "test", "--locked", *packages, "--lib", "--test", "it", "--no-run"]
            environment = {**os.environ, "CARGO_TARGET_DIR": str(self.target), }
            made = subprocess.run([*command, "--message-format=json"], cwd=self.folder, capture_output=True, text=True, env=environment)
            messages = [json.loads(line) for line in made.stdout.splitlines() if line.startswith("{")]
            if made.returncode == 0:
                return [one["executable"] for one in messages if one.get("executable")]
            refused = {site for one in messages if one["reason"] == "compiler-message" and one["message"]["level"] == "error"
                       for site in self.refused(one["message"], written)}
            if not refused - self.left:
                sys.exit("the copy does not build:\n" + "\n".join(one["message"]["rendered"] for one in messages if "message" in one)[:8000] + made.stderr[-2000:])
            print(f"the compiler refuses {len(refused)} places", flush=True)
            self.left |= refused
        sys.exit("the copy does not build")

    def refused(self, message: dict, written: dict):
        spans = list(message["spans"]) + [span for child in message["children"] for span in child["spans"]]
        for span in spans:
            places = written.get(span["file_name"], [])
            inside = [one for one in places if one[0] <= span["byte_start"] and span["byte_end"] <= one[1]]
            within = [one for one in places if span["byte_start"] <= one[0] and one[1] <= span["byte_end"]]
            if span["is_primary"]:
                yield from (number for _, _, number in inside or within)


class Tests:
    """The tests of the copy, each run in a process of its own."""

    def __init__(self, executables: list, folder: Path, only: str = ""):
        # The tests that reach a site, and how long each takes without a change.
        self.folder, self.reach, self.seconds = folder, defaultdict(list), {}
        self.all = []
        for program in executables:
            listed = subprocess.run([program, "--list", "--format", "terse"], capture_output=True, text=True, check=True).stdout
            self.all += [(program, line.removesuffix(": test")) for line in listed.splitlines()
                         if line.endswith(": test") and re.search(only, line)]

    def run(self, test: tuple, mutant: str = "", seen: str = "", limit: float = 300) -> bool:
        program, name = test
        environment = {**os.environ, "MUTANT": mutant, "MUTANTS_SEEN": seen, "INSTA_UPDATE": "no", "PROPTEST_CASES": "16"}
        try:
            return subprocess.run([program, "--exact", name], cwd=self.folder, env=environment, timeout=limit,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def run_together(self, tests: list, mutant: str, limit: float) -> str:
        """Runs tests in one process for each program, which starts only once. Returns one that fails, or nothing."""
        for program in sorted({program for program, _ in tests}):
            names = [name for of, name in tests if of == program]
            environment = {**os.environ, "MUTANT": mutant, "INSTA_UPDATE": "no", "PROPTEST_CASES": "16", "RUST_BACKTRACE": "0"}
            try:
                ended = subprocess.run([program, "--test-threads", "1", "--exact", *names], cwd=self.folder, env=environment,
                                       timeout=limit, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            except subprocess.TimeoutExpired:
                return "one of several that never ended"
            if ended.returncode != 0:
                failed = re.search(r"^test (\S+) .*FAILED$", ended.stdout, re.MULTILINE)
                return failed[1] if failed else "one of several that died"
        return ""

    def find_reach(self, scratch: Path, jobs: int):
        scratch.mkdir(exist_ok=True)

        def one(at: int):
            seen, began = scratch / f"{at}", time.monotonic()
            seen.unlink(missing_ok=True)
            passed = self.run(self.all[at], seen=str(seen))
            self.seconds[self.all[at]] = time.monotonic() - began
            return at, passed, [int(line) for line in seen.read_text().split()] if seen.exists() else []

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for at, passed, sites in pool.map(one, range(len(self.all))):
                if not passed:
                    print(f"left out, because it fails without a change: {self.all[at][1]}", flush=True)
                    continue
                for site in sites:
                    self.reach[site].append(self.all[at])

    def keep_quick(self, most: float):
        for site, reached in self.reach.items():
            self.reach[site] = [test for test in reached if self.seconds[test] <= most]


def by_constant(sites, only: str, kinds: str) -> dict:
    """The sites that change together: all uses of one constant."""
    groups = defaultdict(list)
    for site in sites:
        if re.search(only, site.file) and re.fullmatch(kinds or ".*", site.kind):
            groups[site.constant or site.number].append(site)
    return groups


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("only", nargs="?", default="", help="only files whose path matches this expression")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--scratch", type=Path, default=ROOT / "target/mutants")
    options.add_argument("--target", type=Path)
    options.add_argument("--tests", default="", help="only tests whose name matches this expression: quicker, to try new tests")
    options.add_argument("--kinds", default="", help="only changes of these kinds: number, order, list, array, pattern, joined by |")
    options.add_argument("--quick", type=float, default=float("inf"), help="only tests of up to so many seconds: others cost most of the time")
    options.add_argument("--again", type=Path, help="only those that survived or were not reached by this file of results")
    options.add_argument("--list", action="store_true", help="only count the mutants")
    chosen = options.parse_args()
    copy = Copy(chosen.scratch / "copy", chosen.target or chosen.scratch / "target")
    groups = by_constant(copy.sites.values(), chosen.only, chosen.kinds)
    if chosen.list:
        print(Counter(site.kind for site in copy.sites.values()), sum(len(one[0].forms) for one in groups.values()))
        return
    tests = Tests(copy.build(), copy.folder, chosen.tests)
    tests.find_reach(chosen.scratch / "seen", chosen.jobs)
    tests.keep_quick(chosen.quick)
    sys.exit(1 if try_all(Trial(copy, tests), groups, chosen) else 0)


class Trial:
    """Gives each mutant to the tests that reach it."""

    def __init__(self, copy: Copy, tests: Tests):
        self.copy, self.tests, self.last = copy, tests, {}

    def run(self, mutant: tuple) -> tuple:
        """How it ended, and the test that noticed it."""
        sites, form = mutant
        kept = [site for site in sites if site.number not in self.copy.left]
        if not kept:
            return "not built", ""
        if (sites[0].file, sites[0].label, sites[0].forms[form]) in EQUIVALENT:
            return "equivalent", ""
        reached = sorted({test for site in kept for test in self.tests.reach[site.number]}, key=self.tests.seconds.get)
        if not reached:
            return "not reached", ""
        # What noticed another change of the same place is asked first.
        lead = self.last.get(sites[0].number)
        change = ",".join(f"{site.number}:{form}" for site in kept)
        # Then those named after the file, and the quickest ones; a process for each takes longer than most tests.
        stem = Path(sites[0].file).stem
        named = [test for test in reached if stem in test[1]][:ALONE]
        first = list(dict.fromkeys(([lead] if lead else []) + named + reached[:ALONE]))
        for test in first:
            if not self.tests.run(test, change, limit=20 + 10 * self.tests.seconds[test]):
                self.last[sites[0].number] = test
                return "killed", test[1]
        rest = [test for test in reached if test not in first]
        for part in self.parts(rest):
            noticed = self.tests.run_together(part, change, 60 + 3 * sum(self.tests.seconds[test] for test in part))
            if noticed:
                self.last[sites[0].number] = next((test for test in part if test[1] == noticed), None)
                return "killed", noticed
        return "survived", ""

    def parts(self, tests: list):
        """Tests in parts that take longer and longer, the quickest first: one process runs all of its tests, whichever fails."""
        part, seconds, most = [], 0.0, 2.0
        for test in tests:
            part.append(test)
            seconds += self.tests.seconds[test]
            if seconds >= most:
                yield part
                part, seconds, most = [], 0.0, most * 2
        if part:
            yield part


def described(sites: list, form: int) -> tuple:
    """The place of a mutant, what it changes, and into what."""
    site = sites[0]
    return f"crates/{site.file}:{site.line}", site.label, site.forms[form]


def try_all(trial: Trial, groups: dict, chosen: argparse.Namespace) -> int:
    """Tries all mutants, prints those that nobody noticed and a table, and returns how many these are."""
    work = [(sites, form) for sites in groups.values() for form in range(len(sites[0].forms))]
    if chosen.again:
        open_before = {tuple(line.split("\t")[1:4]) for line in chosen.again.read_text().splitlines()
                       if line.startswith(("survived", "not reached"))}
        work = [(sites, form) for sites, form in work if described(sites, form) in open_before]
    counts = defaultdict(Counter)
    with (chosen.scratch / "results.tsv").open("w") as results, concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for (sites, form), (end, test) in zip(work, pool.map(trial.run, work)):
            site = sites[0]
            counts[str(Path(site.file).parent)][end] += 1
            line = "\t".join((end, *described(sites, form), test))
            print(line, file=results, flush=True)
            if end not in ("killed", "equivalent"):
                print(line, flush=True)
    print("\n| folder | killed | survived | not reached | not built | equivalent |\n|---|---|---|---|---|---|")
    for folder, ends in sorted(counts.items()):
        print(f"| `{folder}` | {ends['killed']} | {ends['survived']} | {ends['not reached']} | {ends['not built']} | {ends['equivalent']} |")
    return sum(ends["survived"] + ends["not reached"] for ends in counts.values())


if __name__ == "__main__":
    main()
