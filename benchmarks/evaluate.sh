#!/usr/bin/env bash
# Evaluates a model on all evaluation sets and prints the output of each command. docs/comparison.md
# has some of these figures, by benchmarks/evaluation.py.
# Usage: benchmarks/evaluate.sh [model directory]
# The data is in $TTA_DATA.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python}
data=$("$python" -m benchmarks.evaluation_data)
lists=$("$python" -m benchmarks.evaluation_data --lists)/nbest
model=(${1:+--model="$1"})

run() {
  echo "\$ $*"
  "$python" "$@" "${model[@]}"
  echo
}

# Reranks with the model's own normalizer (the signature names it) and with exact log-probabilities.
# The row "no model" has the same decision and tuning without the model. The last run always picks
# the highest combined score.
rerank() {
  run run_rerank.py --normalizer=auto "$@"
  run run_rerank.py --normalizer=exact "$@"
  run run_rerank.py --normalizer=auto --decision=max "$@"
}

nbest=$data/nbest
for condition in clean snr5; do
  rerank --nbest_file="$nbest/asr_arctic/test.$condition.json" \
    --dev_nbest_file="$nbest/asr_arctic/dev.$condition.json"
done
rerank --nbest_file="$nbest/asr_hyporadise/test_atis.json" \
  --dev_nbest_file="$lists/asr_hyporadise/train_atis.json"
rerank --nbest_file=examples/asr.test.json --dev_nbest_file=examples/asr.dev.json
mt=$lists/mt_iwslt14_deen
rerank --bleu_tokenize=none \
  --nbest_file="$mt/test.nbest" --reference_file="$mt/test.ref" \
  --dev_nbest_file="$mt/dev.nbest" --dev_reference_file="$mt/dev.ref"
# LibriSpeech has no dev lists, so each part is tuned on the other.
hyporadise=$nbest/asr_hyporadise
rerank --nbest_file="$hyporadise/test_ls_clean.json" \
  --dev_nbest_file="$hyporadise/test_ls_other.json"
rerank --nbest_file="$hyporadise/test_ls_other.json" \
  --dev_nbest_file="$hyporadise/test_ls_clean.json"
for pairs in stsb-en-dev.csv stsb-en-test.csv SICK_test_annotated.txt; do
  run run_sts.py --representation=context,embed,joint --sts_file="$data/sts/$pairs"
  run run_sts.py --representation=token --pooling=whitened --sts_file="$data/sts/$pairs"
done
