#!/usr/bin/env bash
# Measures every table and writes docs/results.md and README.md's table.
# Usage: benchmarks/paper/run_all.sh [flags of all tables: --limit=100 --bert=DIRECTORY ...]
# The data is in $TTA_DATA; the n-gram models are train_ngram.py's, GloVe is convert_glove.py's.
# A biLM takes a pass a token: all models rerank the same 300 lists of each file, evenly spread over
# it (of Arctic that is the whole test part), or as many as --limit says.
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
