"""Prints the functions of a Python file, which stands on standard input, as JSON. The file is parsed and never run."""

import ast
import json
import re
import resource
import signal
import sys

# A hostile file ends this process, and nothing else.
MEMORY, SECONDS = 1 << 30, 20
# Readers of JSON accept no more than 128 levels; a call on a call on a call is six.
DEEPEST_EXPRESSION, DEEPEST_BLOCK = 24, 8
NAMES = {
    ast.IfExp: "conditional expression", ast.Dict: "dictionary", ast.DictComp: "dictionary comprehension",
    ast.ListComp: "list comprehension", ast.SetComp: "set comprehension", ast.GeneratorExp: "generator expression",
    ast.BinOp: "binary operator", ast.UnaryOp: "unary operator", ast.NamedExpr: "named expression",
    ast.Starred: "list splat", ast.AugAssign: "augmented assignment", ast.FunctionDef: "function definition",
    ast.AsyncFunctionDef: "function definition", ast.ClassDef: "class definition",
}
COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}
BLOCKS = {ast.While: "while", ast.Try: "try", ast.With: "with", ast.AsyncWith: "with", ast.AsyncFor: "async for", ast.Match: "match"}
SILENT = (ast.Import, ast.ImportFrom, ast.Pass)
# The first line of a function or class of the file, or of what decorates it.
START = re.compile(rb"@|(?:async[ \t]+def|def|class)[ \t]+(\w+)")
MOST_BROKEN = 20


def other(node, reason):
    return {"other": {"line": node.lineno, "reason": reason}}


def untranslated(node):
    words = NAMES.get(type(node)) or type(node).__name__.lower()
    return other(node, f"{words} is not translated")


def constant(node):
    value = node.value
    if isinstance(value, bool):
        return {"yes_no": {"line": node.lineno, "holds": value}}
    if value is None:
        return {"none": {"line": node.lineno}}
    if isinstance(value, int):
        return {"number": {"line": node.lineno, "digits": str(value)}}
    if isinstance(value, str):
        return text(node, [node])
    return other(node, f"{type(value).__name__} is not translated")


def text(node, values):
    parts = []
    for one in values:
        if isinstance(one, ast.Constant):
            if any("\ud800" <= letter <= "\udfff" for letter in one.value):
                return other(one, "a text with half of a character")
            parts.append({"text": one.value})
        elif isinstance(one.value, ast.Name) and one.conversion == -1 and one.format_spec is None:
            parts.append({"name": one.value.id})
        else:
            return other(one, "only names can stand in a text")
    return {"text": {"line": node.lineno, "parts": parts}}


def dotted(node):
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join(reversed([*names, node.id])) if isinstance(node, ast.Name) else "a value"


def annotation(node):
    try:
        return ast.unparse(node)
    except RecursionError:
        return "a type that is nested too deep"


def call(node, depth):
    named = [[one.arg, expression(one.value, depth)] for one in node.keywords if one.arg]
    spread = [other(one.value, "dictionary splat is not translated") for one in node.keywords if not one.arg]
    return {"call": {
        "line": node.lineno, "called": expression(node.func, depth), "written": dotted(node.func),
        "plain": [expression(one, depth) for one in node.args] + spread, "named": named,
    }}


def comparison(node, depth):
    if len(node.ops) > 1:
        return other(node, "a chain of comparisons")
    right = expression(node.comparators[0], depth)
    sign = COMPARISONS[type(node.ops[0])]
    return {"comparison": {"line": node.lineno, "left": expression(node.left, depth), "sign": sign, "right": right}}


def expression(node, depth=0):
    if isinstance(node, ast.Await):
        return expression(node.value, depth)
    depth += 1
    if depth > DEEPEST_EXPRESSION:
        return other(node, f"an expression nested more than {DEEPEST_EXPRESSION} deep")
    if isinstance(node, ast.Constant):
        return constant(node)
    if isinstance(node, ast.JoinedStr):
        return text(node, node.values)
    if isinstance(node, ast.Name):
        return {"name": {"line": node.lineno, "name": node.id}}
    if isinstance(node, ast.Attribute):
        return {"attribute": {"line": node.lineno, "object": expression(node.value, depth), "name": node.attr}}
    if isinstance(node, ast.Subscript):
        return other(node, "subscript is not translated")
    if isinstance(node, ast.Call):
        return call(node, depth)
    if isinstance(node, ast.Compare):
        return comparison(node, depth)
    if isinstance(node, ast.BoolOp):
        sign = "&&" if isinstance(node.op, ast.And) else "||"
        return {"logic": {"line": node.lineno, "sign": sign, "sides": [expression(one, depth) for one in node.values]}}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return {"not": {"line": node.lineno, "value": expression(node.operand, depth)}}
    if isinstance(node, ast.List):
        return {"list": {"line": node.lineno, "items": [expression(one, depth) for one in node.elts]}}
    return untranslated(node)


def assignment(node):
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or node.value is None:
        return other(node, "only a value for one name can be kept")
    return {"assignment": {"line": node.lineno, "name": targets[0].id, "value": expression(node.value)}}


def condition(node, depth):
    branches = [[expression(node.test), block(node.body, depth)]]
    rest = node.orelse
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        branches.append([expression(rest[0].test), block(rest[0].body, depth)])
        rest = rest[0].orelse
    return {"condition": {"line": node.lineno, "branches": branches, "otherwise": block(rest, depth) if rest else None}}


def loop(node, depth):
    if not isinstance(node.target, ast.Name):
        return other(node, "`for` over more than one name")
    if node.orelse:
        return other(node, "`else` of a loop")
    body = block(node.body, depth)
    return {"loop": {"line": node.lineno, "name": node.target.id, "over": expression(node.iter), "body": body}}


def statement(node, depth):
    if isinstance(node, ast.Return):
        return {"return": {"value": node.value and expression(node.value)}}
    if isinstance(node, (ast.Break, ast.Continue, ast.Raise)):
        return {type(node).__name__.lower(): {"line": node.lineno}}
    if isinstance(node, ast.Expr):
        return {"expression": expression(node.value)}
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return assignment(node)
    if isinstance(node, ast.If):
        return condition(node, depth)
    if isinstance(node, ast.For):
        return loop(node, depth)
    if type(node) in BLOCKS:
        return other(node, f"`{BLOCKS[type(node)]}` is not translated")
    return untranslated(node)


def block(nodes, depth):
    depth += 1
    if depth > DEEPEST_BLOCK:
        return [other(nodes[0], f"statements nested more than {DEEPEST_BLOCK} deep")]
    return [statement(one, depth) for one in nodes if not isinstance(one, SILENT) and not is_text(one)]


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def function(node):
    given = node.args.posonlyargs + node.args.args
    defaults = [None] * (len(given) - len(node.args.defaults)) + node.args.defaults
    parameters = [
        {"line": one.lineno, "name": one.arg, "annotation": one.annotation and annotation(one.annotation),
         "default": default and expression(default)}
        for one, default in zip(given, defaults)
    ]
    others = [one.lineno for one in [node.args.vararg, node.args.kwarg, *node.args.kwonlyargs] if one]
    comment = ast.get_docstring(node)
    whole = comment and not any("\ud800" <= letter <= "\udfff" for letter in comment)
    return {"line": node.lineno, "name": node.name, "parameters": parameters, "others": others,
            "comment": comment if whole else "", "body": block(node.body, 0)}


def fault(text):
    """Returns the line and the reason why Python does not take a text. None if it does."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return error.lineno or 0, error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return 0, str(error) or type(error).__name__
    return None


def blocks(lines):
    """Returns where each function or class begins and the next one begins, from 0."""
    starts = [at for at, line in enumerate(lines) if START.match(line)]
    decorated = {after for at, after in zip(starts, starts[1:]) if lines[at].startswith(b"@")}
    starts = [at for at in starts if at not in decorated]
    return list(zip(starts, [*starts[1:], len(lines)]))


def without(lines, begin, end):
    """Empties lines, so that the others keep their numbers."""
    return [*lines[:begin], *(b"\n" for _ in lines[begin:end]), *lines[end:]]


def later_faults(lines, places, line):
    """Returns those of the places without which Python takes the text or finds fault only after this line, with the fault."""
    tried = [(fault(b"".join(without(lines, *place))), place) for place in places]
    return [one for one in tried if one[0] is None or one[0][0] > line]


def sound(text):
    """Leaves out each function that Python does not take, whole. What is left has to be Python as it stands. Returns it with
    what is wrong in the others; None if something else is wrong."""
    lines, broken = text.splitlines(keepends=True), []
    places = blocks(lines)
    wrong = fault(text)
    while wrong:
        line, reason = wrong
        # A function without a body, or with an open bracket, may be noticed in the next one, and a comment may hold what
        # looks like one.
        near = [(begin, end) for begin, end in places if begin < line][-2:]
        later = later_faults(lines, near, line) or later_faults(lines, [(near[0][0], near[-1][1])] if near else [], line)
        if not later or len(broken) == MOST_BROKEN:
            return None
        wrong, (begin, end) = max(later, key=lambda one: one[0][0] if one[0] else len(lines) + 1)
        names = (START.match(one) for one in lines[begin:end])
        name = next((found[1] for found in names if found and found[1]), b"")
        broken.append({"line": line, "name": name.decode("utf-8", "replace"), "reason": reason})
        lines = without(lines, begin, end)
    return b"".join(lines), broken


def main():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.alarm(SECONDS)
    text, broken = sys.stdin.buffer.read(), []
    wrong = fault(text)
    if wrong:
        left = sound(text)
        if left is None:
            return {"refused": {"line": wrong[0], "reason": wrong[1]}}
        text, broken = left
    tree = ast.parse(text)
    definitions = [one for one in tree.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {"read": {"functions": [function(one) for one in definitions], "broken": broken}}


json.dump(main(), sys.stdout)
