#!/usr/bin/env bash
# Evaluates a model on all evaluation sets and prints the output of each command. The README's
# results come from it. Usage: benchmarks/evaluate.sh [model directory]
# The data is in $TTA_DATA.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python}
data=$("$python" benchmarks/evaluation_data.py)
model=(${1:+--model="$1"})

run() {
  echo "\$ $*"
  "$python" "$@" "${model[@]}"
  echo
}

nbest=$data/nbest
for condition in clean snr5; do
  run run_rerank.py --nbest_file="$nbest/asr_arctic/test.$condition.json" \
    --dev_nbest_file="$nbest/asr_arctic/dev.$condition.json"
done
run run_rerank.py --nbest_file="$nbest/asr_hyporadise/test_atis.json" \
  --dev_nbest_file="$nbest/asr_hyporadise/train_atis.json"
mt=$nbest/mt_iwslt14_deen
run run_rerank.py --bleu_tokenize=none \
  --nbest_file="$mt/test.nbest" --reference_file="$mt/test.ref" \
  --dev_nbest_file="$mt/dev.nbest" --dev_reference_file="$mt/dev.ref"
hyporadise=$nbest/asr_hyporadise
run run_rerank.py --rank_scores --nbest_file="$hyporadise/test_ls_clean.json" \
  --dev_nbest_file="$hyporadise/test_ls_other.json"
run run_rerank.py --rank_scores --nbest_file="$hyporadise/test_ls_other.json" \
  --dev_nbest_file="$hyporadise/test_ls_clean.json"
run run_rerank.py --nbest_file=examples/asr.test.json --dev_nbest_file=examples/asr.dev.json
for pairs in stsb-en-dev.csv stsb-en-test.csv SICK_test_annotated.txt; do
  run run_sts.py --representation=context,embed --sts_file="$data/sts/$pairs"
  run run_sts.py --representation=token --pooling=whitened --sts_file="$data/sts/$pairs"
done
