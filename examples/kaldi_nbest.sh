#!/usr/bin/env bash
# Turns a Kaldi lattice into N-best lists with costs, which `tta rerank` reads. Kaldi's programs and
# utils/ (for int2sym.pl) are on the PATH.
#
#   examples/kaldi_nbest.sh exp/decode/lat.1.gz data/lang/words.txt lists [N] [acoustic scale]
#   tta rerank --nbest_file=lists/text --score_file=lists/cost --reference_file=data/test/text
#
# The cost of a hypothesis is graph cost + acoustic scale * acoustic cost, a negative natural log.
# The scale is 0.1 for most GMM and cross-entropy models, and 1.0 for chain models.
set -euo pipefail
if [ $# -lt 3 ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
lattice=$1 words=$2 output=$3 size=${4:-50} scale=${5:-0.1}
mkdir -p "$output"
lattice-to-nbest --acoustic-scale="$scale" --n="$size" "ark:gunzip -c $lattice |" ark:- |
  nbest-to-linear ark:- ark:/dev/null "ark,t:$output/ids" "ark,t:$output/lm" "ark,t:$output/ac"
int2sym.pl -f 2- "$words" "$output/ids" > "$output/text"
paste -d' ' "$output/lm" "$output/ac" |
  awk -v scale="$scale" '$1 != $3 { print "costs of " $1 " and " $3 > "/dev/stderr"; exit 1 }
    { printf "%s %.6f\n", $1, $2 + scale * $4 }' > "$output/cost"
rm "$output/ids" "$output/lm" "$output/ac"
