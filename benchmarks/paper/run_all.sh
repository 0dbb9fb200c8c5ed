#!/usr/bin/env bash
# Measures every table and writes docs/results.md and the table in README.md.
# Usage: benchmarks/paper/run_all.sh [flags of all tables: --limit=100 --bert=DIRECTORY ...]
# The data is in $TTA_DATA. The n-gram models come from train_ngram.py, GloVe from convert_glove.py.
# A biLM needs one pass per token, so all models rerank the same 300 lists of each file, evenly
# spread over it (for Arctic this is the whole test part). --limit changes this number.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python}
sample=--limit=300
[[ " $* " == *" --limit"* ]] && sample=
for table in table1 table2; do
  "$python" "benchmarks/paper/$table.py" $sample "$@"
done
for table in table3 table4 table7 rate memory; do
  "$python" "benchmarks/paper/$table.py" "$@"
done
"$python" benchmarks/paper/runtime.py --figure=docs/runtime.png "$@"
"$python" benchmarks/paper/results.py "$@"
