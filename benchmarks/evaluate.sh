#!/usr/bin/env bash
# Runs a model over the evaluation sets and prints what each command prints; the README's table is
# made of it. Usage: benchmarks/evaluate.sh [model directory]; the data is in $TTA_DATA.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${TTA_DATA:-../shared/data}
model=(${1:+--model="$1"})
python=${PYTHON:-python}

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
