#!/usr/bin/env bash
# One p-value that is nan makes all adjusted ones nan in statsmodels' Benjamini-Hochberg, while the list of rejections is made.
#
# Expected: a test that could not be made (a program with one task, say) is left out, or raises, or is nan by itself; the two
#   parts of the answer, `reject` and the adjusted p-values, say the same.
# What happens: `multipletests([0.01, nan, 0.04], method="fdr_bh")` rejects the first hypothesis and gives nan as the adjusted
#   p-value of each of the three, the rejected one, too. Holm's method gives 0.03, nan and 0.08: there the missing test is
#   counted as one of three and is nan alone. Nothing is warned of. SciPy's false_discovery_control raises.
# Version: statsmodels 0.15.0, scipy 1.17.1 (PyPI). Source: statsmodels/stats/multitest.py, `fdrcorrection`: the adjusted
#   values are running minima from the right, where a sort has put the nan.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0 scipy==1.17.1
cat > "$place/look.py" <<'PY'
import math
import sys

from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

P_VALUES = [0.01, math.nan, 0.04]
found = {}
for method in ("fdr_bh", "holm"):
    reject, adjusted, *_ = multipletests(P_VALUES, method=method)
    found[method] = ([bool(value) for value in reject], [float(value) for value in adjusted])
    print(f"{method:6} reject {found[method][0]}, adjusted {found[method][1]}")
try:
    scipy = str(false_discovery_control(P_VALUES))
except ValueError as error:
    scipy = f"ValueError: {error}"
print("scipy ", scipy)
reject, adjusted = found["fdr_bh"]
alone = [math.isnan(value) for value in found["holm"][1]] == [False, True, False]
if reject[0] and all(math.isnan(value) for value in adjusted) and alone and scipy.startswith("ValueError"):
    print("as found: rejected, at an adjusted p of nan")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
