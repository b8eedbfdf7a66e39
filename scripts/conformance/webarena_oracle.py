"""Makes cases for WebArena's evaluators, scores each with their Python and with this program, and prints how far they
agree. Run by `scripts/conformance/webarena-oracle`."""

import importlib.abc
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import types

# Libraries that drive browsers and ask models.
ABSENT = {"playwright", "openai", "aiolimiter", "requests", "gymnasium", "numpy", "PIL", "evaluate", "tiktoken",
          "transformers", "text_generation", "tqdm", "joblib", "click"}
SITES = ("REDDIT", "SHOPPING", "SHOPPING_ADMIN", "GITLAB", "WIKIPEDIA", "MAP", "HOMEPAGE")


class Absent(types.ModuleType):
    """Stands for a library that is not installed: importing it works, using it does not."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ABSENT:
            return importlib.util.spec_from_loader(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


def load():
    sys.meta_path.insert(0, Finder())
    for site in SITES:
        os.environ[site] = f"http://{site.lower()}.test"
    import webarena

    base = list(webarena.__path__)[0]
    # The packages' own files pull in drivers and models.
    for name in ("browser_env", "llms", "llms.providers", "evaluation_harness"):
        package = types.ModuleType(f"webarena.{name}")
        package.__path__ = [os.path.join(base, *name.split("."))]
        sys.modules[f"webarena.{name}"] = package
    for name in ("webarena.browser_env.actions", "webarena.browser_env.utils", "webarena.llms.providers.openai_utils"):
        sys.modules[name] = Absent(name)
    sys.modules["webarena.browser_env.actions"].Action = dict
    sys.modules["webarena.browser_env.utils"].StateInfo = dict

    # Sentences as NLTK divides them, with its trained model as another package carries it.
    import nltk.tokenize
    import nltk.tokenize.punkt as punkt
    from punkt.data import english

    parameters = punkt.PunktParameters()
    parameters.abbrev_types = set(english.ABBREV_TYPES)
    parameters.collocations = set(map(tuple, english.COLLOCATIONS))
    parameters.sent_starters = set(english.SENT_STARTERS)
    parameters.ortho_context.update(dict(english.ORTHO_CONTEXT))
    sentences = punkt.PunktSentenceTokenizer(parameters)
    nltk.tokenize.sent_tokenize = lambda text, language="english": list(sentences.tokenize(text))

    evaluators = importlib.import_module("webarena.evaluation_harness.evaluators")
    evaluators.Page = evaluators.CDPSession = object
    evaluators.time.sleep = lambda seconds: None

    helpers = importlib.import_module("webarena.evaluation_harness.helper_functions")

    # Their own functions ask, and read what is said; only the model is another one.
    def asking(function, words):
        def ask(pred, reference, question):
            helpers.generate_from_openai_chat_completion = lambda **_: words[opinion(reference, pred)]
            return function(pred, reference, question)
        return ask

    evaluators.llm_fuzzy_match = asking(helpers.llm_fuzzy_match, {
        "correct": "Correct.", "partially_correct": "It is partially correct.", "incorrect": "The answer is Incorrect"})
    evaluators.llm_ua_match = asking(helpers.llm_ua_match, {
        "correct": "same", "partially_correct": "Different", "incorrect": "They are different."})
    return evaluators


def opinion(reference, answer):
    """What the model says of an answer, by its cleaned form; nothing is not correct."""
    at = sum(map(ord, reference + answer)) % 4 if answer else 0
    return ("incorrect", "correct", "partially_correct", "correct")[at]


def judgements(case):
    """What the model says of each reference, as evidence keeps it."""
    expected, answer = case["expected"], case["result"]
    fuzzy = expected["reference_answers"].get("fuzzy_match")
    compare = "same_reason" if fuzzy == "N/A" else "means_reference"
    references = [expected["string_note"]] if fuzzy == "N/A" else fuzzy or []
    said = []
    for at, reference in enumerate(references):
        question = {"compare": compare, "reference": reference, "answer": answer.strip()}
        if len(references) > 1:
            question["others"] = references[:at] + references[at + 1:]
        said.append({**question, "task": "x", "outcome": "decided", "verdict": opinion(reference, cleaned(answer)), "reason": "x",
                     "model": "x", "prompt_hash": "x", "replies": [], "tokens": {"input": 0, "output": 0, "cached": 0}})
    return said


def cleaned(answer):
    """The answer as upstream hands it to its model."""
    answer = answer.strip()
    if answer[:1] in ("'", '"') and answer.endswith(answer[:1]):
        answer = answer[1:-1]
    return answer.lower()


class Page:
    """A page that holds given contents, one for each target."""

    def __init__(self, url="", contents=()):
        self.url, self.contents, self.context = url, list(contents), self

    def new_page(self):
        return self

    def goto(self, _):
        pass

    def close(self):
        pass

    def evaluate(self, _):
        return self.contents.pop(0)


def score_python(evaluators, case, folder):
    config = {"intent": "x", "eval": case["expected"]}
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    kind, result = case["func"], case["result"]
    try:
        if kind == "webarena_string_match":
            return float(evaluators.StringEvaluator.__call__.__wrapped__(evaluators.StringEvaluator(), [{}, {"answer": result}], path)
                         if hasattr(evaluators.StringEvaluator.__call__, "__wrapped__")
                         else evaluators.StringEvaluator()([{}, {"answer": result}], path))
        page = Page(result) if kind == "webarena_url_match" else Page("http://h/", result)
        evaluator = evaluators.URLEvaluator() if kind == "webarena_url_match" else evaluators.HTMLContentEvaluator()
        call = getattr(type(evaluator).__call__, "__wrapped__", type(evaluator).__call__)
        return float(call(evaluator, [], path, page, None))
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]


WORDS = ["2", "20", "2.5", "1", "0", "five", "The", "total", "is", "N/A", "n/a", "$2", "2%", "a", "it's", "can't", "U.S.",
         "\u201c2\u201d", "(2)", "Ünï", "Straße", "10,000", "2,", "2:", "2;", "2-3", "--", "...", "#2", "@", "2/5", "o'2",
         "'2'", '"2"', "administrators", "2)", "[2", "*2*", "\u2013", "2!", "2?", "d'ye", "'tis", "1.", "2.", "2..", "x2"]
GLUE = [" ", " ", " ", " ", "", ". ", "\n", "\t", ", ", ": ", "; ", "\u00a0"]
ENTITIES = ["&amp;", "&lt;b&gt;", "&#39;", "&quot;", "&notit;", "&#x41;", "&nbsp;", "&copy", "&", "&#128;", "&hearts;", "&#;", "&xyz;"]


def text(rng, pieces, most=7):
    out = ""
    for _ in range(rng.randint(0, most)):
        out += rng.choice(pieces) + rng.choice(GLUE)
    return rng.choice(["", "", " ", "'", '"']) + out.rstrip() + rng.choice(["", "", ".", " ", "'", '"', "!", ".\n"])


def near(rng, value, pieces):
    """A text that holds another one, or nearly."""
    how = rng.randint(0, 4)
    if how == 0:
        return value
    if how == 1:
        return text(rng, pieces, 3) + rng.choice(GLUE) + value + rng.choice(GLUE) + text(rng, pieces, 3)
    if how == 2:
        return rng.choice([value.upper(), value.lower(), f'"{value}"', f"'{value}'", f" {value}\n"])
    if how == 3 and value:
        at = rng.randrange(len(value))
        return value[:at] + rng.choice(["", "x", " "]) + value[at + 1:]
    return text(rng, pieces)


def string_case(rng):
    references = {}
    answer = text(rng, WORDS)
    kinds = rng.sample(["exact_match", "must_include", "fuzzy_match"], rng.choice([1, 1, 1, 2]))
    expected = {"reference_answers": references}
    for kind in kinds:
        if kind == "exact_match":
            references[kind] = near(rng, answer, WORDS)
        elif kind == "must_include":
            count = rng.choice([1, 1, 1, 2, 3])
            references[kind] = [rng.choice(["2", "0", "1", "a", "x", rng.choice(WORDS), near(rng, rng.choice(WORDS), WORDS)]) for _ in range(count)]
            if rng.random() < 0.5:
                for phrase in references[kind]:
                    answer += rng.choice(GLUE) + phrase + rng.choice([" ", ".", ". and", ". 3", "! ", ",", ".) so", ""])
        else:
            # Upstream's product begins again with "N/A", which is left out where it would matter; no task has both.
            impossible = ["N/A"] if len(kinds) == 1 else []
            references[kind] = rng.choice(impossible + [["x"], ["x", "y"], [text(rng, WORDS, 3), "y", "x"]])
            expected["string_note"] = rng.choice(["no such page", "There is none."])
            if rng.random() < 0.5:
                answer = rng.choice(["N/A", "n/a", " 'N/A' ", "na"])
    if rng.random() < 0.02:
        expected["reference_answers"] = rng.choice([{"must_include": "2"}, {"exact_match": 2}, {"must_include": [2]}, {"exact_match": None}])
    case = {"func": "webarena_string_match", "result": answer, "expected": expected}
    return {**case, "judgements": judgements(case)}


def address(rng):
    host = rng.choice(["shop.test", "shop.test:7770", "SHOP.test", "h.org", "[::1]:80", ""])
    path = "".join(rng.choice(["/a", "/b", "/a b", "/%C3%A4", "/ä", ";p=1", "//", "/x.html", "/"]) for _ in range(rng.randint(0, 3)))
    query = "&".join(rng.choice(["q=1", "q=2", "r=x+y", "r=x%20y", "q=", "q", "=1", "s=%FF", "t=a=b", "q=1;r=2"]) for _ in range(rng.randint(0, 3)))
    return rng.choice(["http://", "https://", "", "HTTP://"]) + host + path + ("?" + query if query else rng.choice(["", "", "?"])) + rng.choice(["", "", "#top", "/", "//"])


def url_case(rng):
    wanted = " |OR| ".join(address(rng) for _ in range(rng.choice([1, 1, 1, 2, 3])))
    found = rng.choice([address(rng), rng.choice(wanted.split(" |OR| ")) + rng.choice(["", "/", "/more", "&q=1", "?q=1&r=x y", "#x"])])
    rules = {"reference_url": wanted}
    if rng.random() < 0.7:
        rules["url_note"] = rng.choice(["GOLD in PRED"] * 19 + ["EXACT"])
    return {"func": "webarena_url_match", "result": found, "expected": rules}


def content(rng):
    return rng.choice([text(rng, WORDS + ENTITIES), text(rng, WORDS + ENTITIES), rng.randint(0, 30), 2.5, 1e-7, True, None, ["a", "2"], {"a": 1}, ""])


def program_case(rng):
    targets, found = [], []
    for _ in range(rng.choice([1, 1, 2, 3])):
        value = content(rng)
        shown = value if isinstance(value, str) else str(value)
        if rng.random() < 0.4:
            required = {"exact_match": near(rng, shown, WORDS + ENTITIES)}
        else:
            phrases = []
            for _ in range(rng.choice([1, 1, 2])):
                part = shown[rng.randrange(len(shown)):][:rng.randint(1, 9)] if shown and rng.random() < 0.6 else rng.choice(WORDS)
                phrases.append(rng.choice([part, part, f"zzz |OR| {part}", part.upper(), f"{part} |OR| "]))
            required = {"must_include": phrases}
        if rng.random() < 0.03:
            required = rng.choice([{}, {"must_include": "a"}, {"other": ["a"]}, {"exact_match": 3}])
        targets.append({"url": rng.choice(["last", "http://h/x"]), "locator": "document.title", "required_contents": required})
        found.append(value)
    return {"func": "webarena_program_html", "result": found, "expected": {"program_html": targets}}


def score_ours(program, cases):
    command = [program, "tasks", "metric", "--stdin", "--osworld-compat", "exact"]
    questions = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(command, input=questions, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the program failed: {done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def main():
    program, arguments = sys.argv[1], sys.argv[2:]
    scale = next((int(arguments[at + 1]) for at, word in enumerate(arguments) if word == "--scale"), 1)
    evaluators, rng = load(), random.Random(20)
    cases = [make(rng) for make in (string_case, url_case, program_case) for _ in range(1500 * scale)]
    with tempfile.TemporaryDirectory() as folder:
        python = [score_python(evaluators, case, folder) for case in cases]
    rows, wrong = {}, []
    for case, theirs, ours in zip(cases, python, score_ours(program, cases)):
        row = rows.setdefault(case["func"], {"cases": 0, "agree": 0, "pass": 0, "zero": 0, "none": 0})
        row["cases"] += 1
        row["none" if isinstance(theirs, str) else "pass" if theirs else "zero"] += 1
        same = "score" not in ours if isinstance(theirs, str) else ours.get("score") == theirs
        # What hangs on the end of a sentence after a letter is left open.
        is_open = "where sentences end" in ours.get("error", "")
        row["open"] = row.get("open", 0) + is_open
        if same or is_open:
            row["agree"] += 1
        else:
            wrong.append((case, theirs, ours))
    for name, row in rows.items():
        print(f"{name:<24} {row['agree']} of {row['cases']} agree; passed {row['pass']}, not {row['zero']}, no score {row['none']}, left open {row['open']}")
    for case, theirs, ours in wrong[:20]:
        print(json.dumps(case, ensure_ascii=False), "\n  python:", theirs, "\n  ours:", ours)
    # A generator that never passes or never fails shows nothing.
    thin = [name for name, row in rows.items() if min(row["pass"], row["zero"]) < 100 or row["open"] > row["cases"] // 50]
    for name in thin:
        print(f"{name}: too few cases of each outcome")
    sys.exit(bool(wrong or thin))


if __name__ == "__main__":
    main()
