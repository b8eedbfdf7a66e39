"""Prints fixtures.json: what scipy, statsmodels and scikit-learn say of cases that these statistics must agree with.

Needs `pip install scipy statsmodels scikit-learn`; run once, the result is kept beside this file.
"""
import itertools, json, random
import numpy as np
import scipy, scipy.stats, statsmodels
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from sklearn.metrics import cohen_kappa_score
import sklearn

rng = random.Random(20261121)
out = {"made_with": {"scipy": scipy.__version__, "statsmodels": statsmodels.__version__, "scikit-learn": sklearn.__version__}}
out["wilson"] = []
for passed, of in [(0, 5), (5, 5), (1, 3), (7, 20), (30, 30), (13, 47), (400, 1000)]:
    low, high = proportion_confint(passed, of, alpha=0.05, method="wilson")
    out["wilson"].append({"passed": passed, "of": of, "low": low, "high": high})
out["mcnemar"] = []
for b, c in [(0, 0), (1, 0), (0, 6), (3, 9), (10, 10), (25, 7), (60, 91)]:
    p = mcnemar([[5, b], [c, 5]], exact=True).pvalue
    out["mcnemar"].append({"b": b, "c": c, "p": float(p)})
out["holm"] = []
for n in [1, 2, 5, 9]:
    ps = [round(rng.random() ** 3, 6) for _ in range(n)]
    out["holm"].append({"p": ps, "corrected": [float(x) for x in multipletests(ps, method="holm")[1]]})
out["signflip"] = []
for n, kind in [(8, "thirds"), (9, "real"), (12, "thirds"), (14, "real"), (10, "zeros")]:
    if kind == "thirds":
        d = [rng.choice([-1, 0, 0, 1, 1, 2, 3]) / 3 for _ in range(n)]
    elif kind == "zeros":
        d = [0.0] * (n - 2) + [1.0, 1.0]
    else:
        d = [round(rng.gauss(0.25, 0.4), 6) for _ in range(n)]
    found = scipy.stats.permutation_test((np.array(d),), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples",
                                         vectorized=True, n_resamples=np.inf, alternative="two-sided")
    out["signflip"].append({"differences": d, "mean": float(np.mean(d)), "p": float(found.pvalue)})
out["kappa"] = []
for counts in [[20, 5, 10, 15], [45, 15, 25, 15], [3, 1, 0, 9], [12, 7, 9, 2]]:
    a, b = [], []
    for (one, two), n in zip([(1, 1), (1, 0), (0, 1), (0, 0)], counts):
        a += [one] * n
        b += [two] * n
    out["kappa"].append({"counts": counts, "kappa": float(cohen_kappa_score(a, b))})
print(json.dumps(out, indent=1))
