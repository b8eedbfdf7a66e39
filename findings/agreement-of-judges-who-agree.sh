#!/usr/bin/env bash
# Two judges who say the same of every attempt: their agreement is 1, not a number, or refused, by the library.
#
# Expected: two judges that give all attempts one verdict agree wholly; or, as nothing can be said about chance then, every library of
#   statistics says so in the same way.
# What happens: Cohen's kappa is nan in scikit-learn and statsmodels (Fleiss' too) and 1.0 in NLTK, which calls Krippendorff's alpha 1
#   where the package krippendorff raises ValueError. A judge whose agreement with a person is held against a threshold passes, fails
#   (nan is above nothing) or stops the program, on the easiest of all suites: the one that everything passes.
# Version: scikit-learn 1.9.1, statsmodels 0.15.0, krippendorff 0.9.0, NLTK 3.10.4 (PyPI).
# Source: sklearn/metrics/_classification.py `cohen_kappa_score` (`replace_undefined_by`, by default nan); krippendorff.py `alpha`;
#   nltk/metrics/agreement.py `alpha`, `_chance_corrected_agreement` (an expected agreement of 1 is answered with 1).
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check scikit-learn==1.9.1 statsmodels==0.15.0 krippendorff==0.9.0 nltk==3.10.4
cat > "$place/look.py" <<'PY'
import sys
import warnings

import krippendorff
import numpy
from nltk.metrics.agreement import AnnotationTask
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

warnings.simplefilter("ignore")
MODEL = PERSON = ["pass"] * 20
TRIPLES = AnnotationTask(data=[(judge, str(item), "pass") for judge in ("model", "person") for item in range(20)])


def answer(compute):
    try:
        value = float(compute())
    except ValueError as error:
        return f"ValueError: {error}"
    return "nan" if numpy.isnan(value) else str(value)


seen = {
    "Cohen's kappa, scikit-learn": answer(lambda: cohen_kappa_score(MODEL, PERSON)),
    "Cohen's kappa, statsmodels": answer(lambda: cohens_kappa(numpy.array([[20, 0], [0, 0]])).kappa),
    "Cohen's kappa, NLTK": answer(TRIPLES.kappa),
    "Fleiss' kappa, statsmodels": answer(lambda: fleiss_kappa(numpy.array([[2, 0]] * 20))),
    "Fleiss' kappa (multi_kappa), NLTK": answer(TRIPLES.multi_kappa),
    "Krippendorff's alpha, krippendorff": answer(
        lambda: krippendorff.alpha(reliability_data=[MODEL, PERSON], level_of_measurement="nominal")),
    "Krippendorff's alpha, NLTK": answer(TRIPLES.alpha),
}
for what, value in seen.items():
    print(f"{what}: {value}")
kinds = [value.split(":")[0] for value in seen.values()]
if kinds == ["nan", "nan", "1.0", "nan", "1.0", "ValueError", "1.0"]:
    print("as found: one, nan or an error, by the library")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
