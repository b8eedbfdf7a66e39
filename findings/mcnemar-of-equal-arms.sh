#!/usr/bin/env bash
# statsmodels' McNemar test calls two arms that agree on every task different, with p = 0, when it is not the exact one.
#
# Expected: where no task is passed by one arm alone there is no evidence of a difference: p is 1, as the exact test has it, or
#   an error says that nothing can be tested.
# What happens: with exact=False and the continuity correction, which is the default beside it, the statistic is
#   (|0 - 0| - 1)² / 0 = infinity and p is 0.0: the strongest result there is, of no discordant pair at all. Without the
#   correction both are nan. Only numpy's RuntimeWarning of the division is to be seen. The square of a difference that is
#   smaller than the correction is taken as it is elsewhere, too: 1 against 1 gives a statistic of 0.5, p = 0.48, not 1.
# Version: statsmodels 0.15.0 (PyPI). Source: statsmodels/stats/contingency_tables.py, `mcnemar`.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0
cat > "$place/look.py" <<'PY'
import math
import sys
import warnings

from statsmodels.stats.contingency_tables import mcnemar

# Rows: the first arm passed, failed. Columns: the second arm.
ALIKE, ONE_EACH = [[10, 0], [0, 5]], [[10, 1], [1, 5]]
found = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", RuntimeWarning)
    for name, table in (("no task differs", ALIKE), ("one task each way", ONE_EACH)):
        for words, options in (
            ("exact", {"exact": True}),
            ("chi-squared, corrected", {"exact": False}),
            ("chi-squared", {"exact": False, "correction": False}),
        ):
            result = mcnemar(table, **options)
            found[name, words] = (float(result.statistic), float(result.pvalue))
            print(f"{name:18} {words:23} statistic {result.statistic}, p {result.pvalue:.3f}")
alike = found["no task differs", "chi-squared, corrected"]
exact = found["no task differs", "exact"]
plain = found["no task differs", "chi-squared"]
each = found["one task each way", "chi-squared, corrected"]
if alike == (math.inf, 0.0) and exact[1] == 1.0 and math.isnan(plain[1]) and each[0] == 0.5:
    print("as found: p is 0 where nothing differs")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
