#!/usr/bin/env bash
# Measures every table that needs no GPU, writes docs/results.md, docs/results.json and the table in
# docs/comparison.md, and draws docs/pictures/ (needs matplotlib).
# Usage: benchmarks/paper/run_all.sh [flags of all tables: --limit=100 --bert=DIRECTORY ...]
# The data is in $TTA_DATA. The n-gram models come from train_ngram.py, GloVe from convert_glove.py.
# A biLM needs one pass per token. So all models rerank the same 300 lists of each file, evenly
# spread over it (for Arctic this is the whole test part), table 7 has 1,000 sentences, and memory.py
# takes 30 lists. --limit changes these numbers.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python}
limited=false
[[ " $* " == *" --limit"* ]] && limited=true

measure() { # table, its limit or "", flags
  local table=$1 limit=${2:+--limit=$2}
  $limited && limit=
  "$python" -m "benchmarks.paper.$table" $limit "${@:3}"
}

measure table1 300 "$@"
measure table2 300 "$@"
for table in sts rate; do
  measure "$table" "" "$@"
done
measure table7 1000 "$@"
measure memory 30 "$@"
measure runtime "" "$@"
"$python" -m benchmarks.paper.results "$@"
"$python" -m benchmarks.pictures
