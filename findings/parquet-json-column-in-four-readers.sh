#!/usr/bin/env bash
# A Parquet column of the logical type JSON is read as texts, as values, or as what no function of texts takes, by the reader.
#
# Expected: the type says that the texts are JSON (Parquet's LogicalTypes.md), and readers of tables agree on what they hand out:
#   texts, or the decoded values.
# What happens: pandas by pyarrow, and pyarrow, give texts. pandas by fastparquet gives decoded values, where a JSON null and a
#   missing value are both None. DuckDB gives the type JSON, of which `->>` works. polars gives the extension type `arrow.json`:
#   `to_list` has the texts, but neither `str.contains` nor a comparison nor a cast to String works on the column. So a line of code
#   that reads tool calls out of a training set works with one reader and fails with the next.
# Version: pyarrow 26.0.1, pandas 3.1.1, fastparquet 2026.9.0, duckdb 2.0.1, polars 2.1.0 (PyPI). Source: fastparquet/converted_types.py,
#   `convert`; polars' `Extension` type.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 pandas==3.1.1 fastparquet==2026.9.0 duckdb==2.0.1 polars==2.1.0
cat > "$place/look.py" <<'PY'
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

file = sys.argv[1]
column = pyarrow.array(['{"x": 1}', '"text"', "null", None, "1.0"], pyarrow.json_())
pyarrow.parquet.write_table(pyarrow.table({"arguments": column}), file)


def worked(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__


texts = ['{"x": 1}', '"text"', "null", None, "1.0"]
series = polars.read_parquet(file)["arguments"]
rows = {
    "pyarrow": (pyarrow.parquet.read_table(file)["arguments"].to_pylist(), texts),
    "pandas, pyarrow": ([None if value is None or value != value else value for value in pandas.read_parquet(file)["arguments"]], texts),
    "pandas, fastparquet": (
        pandas.read_parquet(file, engine="fastparquet")["arguments"].tolist(),
        [{"x": 1}, "text", None, None, 1.0],
    ),
    "duckdb, type": (duckdb.sql(f"select distinct typeof(arguments) from '{file}'").fetchall(), [("JSON",)]),
    "duckdb, ->> 'x'": (duckdb.sql(f"select arguments ->> 'x' from '{file}' limit 1").fetchall(), [("1",)]),
    "polars, to_list": (series.to_list(), texts),
    "polars, str.contains": (worked(lambda: series.str.contains("x").to_list()), "InvalidOperationError"),
    "polars, ==": (worked(lambda: (series == '"text"').to_list()), "NotImplementedError"),
    "polars, cast": (worked(lambda: series.cast(polars.String).to_list()), "ComputeError"),
}
same = True
for name, (seen, before) in rows.items():
    print(f"{name:21} {seen}")
    same = same and seen == before
if same:
    print("as found: four readers, three kinds of column")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py" "$place/table.parquet"
