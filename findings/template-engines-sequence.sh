#!/usr/bin/env bash
# Chat templates run in Jinja2 (transformers, vLLM) and in MiniJinja (servers in Rust): `is sequence` means two things.
#
# Expected: one template, one prompt. MiniJinja follows Jinja2's tests by name.
# Happens:  in Jinja2 3.1.6 texts and mappings are sequences too, in MiniJinja 3.1.0 neither is. A template that asks `content is
#           sequence` before `content is string`, or `arguments is sequence` for "already text", takes the other branch: a plain
#           message comes out as its single letters in one engine and whole in the other. And comparing text with a number
#           raises in Jinja2 and is false in MiniJinja, so a template's own check of its input passes in silence.
# Source:   Jinja2's documentation of tests ("sequence": anything with a length and access by index); MiniJinja's documentation of
#           `is sequence`; the run below.
# Versions: Jinja2 3.1.6, minijinja 3.1.0 (PyPI), seen 2026-11-28.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6 minijinja==3.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import minijinja
from jinja2.sandbox import ImmutableSandboxedEnvironment

def render(template, **values):
    results = []
    for environment in (ImmutableSandboxedEnvironment(), minijinja.Environment()):
        try:
            make = environment.from_string(template).render if hasattr(environment, "from_string") else (
                lambda **given: environment.render_str(template, **given))
            results.append(make(**values))
        except Exception as error:
            results.append(type(error).__name__)
    print("%s\n  Jinja2    %r\n  MiniJinja %r" % (template, *results))
    return tuple(results)

parts = "{% if content is sequence %}{% for part in content %}[{{ part }}]{% endfor %}{% else %}{{ content }}{% endif %}"
asked = render("{{ content is sequence }}", content="hello")
text = render(parts, content="hi")
mapping = render("{% if arguments is sequence %}as text{% else %}as an object{% endif %}", arguments={"x": 1})
compared = render("{{ 'a' < 1 }}")
assert asked[0] == "True" and asked[1].lower() == "false", "the behaviour has changed"
assert text == ("[h][i]", "hi"), "the behaviour has changed"
assert mapping == ("as text", "as an object"), "the behaviour has changed"
assert compared[0] == "TypeError" and compared[1].lower() == "false", "the behaviour has changed"
PYTHON
