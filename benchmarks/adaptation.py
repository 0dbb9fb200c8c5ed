"""Adapts a model to the text of a domain and reranks the lists of that domain with the result.

    python -m benchmarks.adaptation

The data is in $TTA_DATA. ATIS has no text of its own, so the references of its train lists are
split by speaker: those of every fourth speaker's lists tune the weights, all others are the text.
No reference of the lists that tune is in the text, unless two speakers said the same sentence;
"without repeated sentences" leaves these out, and those of the test lists too.
"""

import json
import tempfile
import time
from pathlib import Path

from absl import flags

from benchmarks import evaluation_data
from tta import cli
from tta.data.text.lines import iter_lines
from tta.scoring.adaptation.config import AdaptationConfig
from tta.scoring.reranking.config import RerankConfig

SPEAKER = 3  # characters of an utterance's id in ATIS
TUNING_SPEAKERS = 4  # every fourth one

FLAGS = flags.FLAGS
flags.DEFINE_string("model", "small", "The model to adapt.")


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        atis(work)
        librispeech(work)


def atis(work):
    """ATIS, and Arctic with the same model, which shows what it loses elsewhere."""
    test, train = data("nbest/asr_hyporadise/{}_atis.json", "test", "train")
    dev, text = split_by_speaker(json.loads(Path(train).read_text()))
    tuning = work / "dev.json"
    tuning.write_text(json.dumps(dev))
    known = {one["output"] for one in [*dev, *json.loads(Path(test).read_text())]}
    config = RerankConfig(nbest_file=test, dev_nbest_file=str(tuning))
    show("ATIS", config, adapted(work / "atis", text))
    fewer = adapted(work / "atis-fewer", [line for line in text if line not in known])
    show("ATIS, without repeated sentences", config, fewer)
    test, dev = data("nbest/asr_arctic/{}.clean.json", "test", "dev")
    config = RerankConfig(nbest_file=test, dev_nbest_file=dev)
    show("Arctic, adapted to ATIS", config, str(work / "atis"))


def librispeech(work):
    """LibriSpeech: there are no dev lists, so each file is tuned on the other."""
    (path,) = data("text_eval/librispeech_{}.trans.txt", "dev-clean")
    transcripts = [line.partition(" ")[2] for line in iter_lines(path)]
    folder = adapted(work / "librispeech", transcripts)
    clean, other = data("nbest/asr_hyporadise/test_ls_{}.json", "clean", "other")
    for test, dev in ((clean, other), (other, clean)):
        config = RerankConfig(nbest_file=test, dev_nbest_file=dev, rank_scores=True)
        show(f"LibriSpeech, {Path(test).name}", config, folder)


def data(pattern, *names):
    """The paths of some files of the evaluation data, str."""
    return [str(evaluation_data.FOLDER / pattern.format(name)) for name in names]


def split_by_speaker(lists):
    """(the lists of every fourth speaker, the references of all others)."""
    speakers = sorted({one["id"][:SPEAKER] for one in lists})
    tuning = set(speakers[::TUNING_SPEAKERS])
    dev = [one for one in lists if one["id"][:SPEAKER] in tuning]
    return dev, [one["output"] for one in lists if one["id"][:SPEAKER] not in tuning]


def adapted(folder, lines):
    """Adapts the model to some lines; prints the time and the report. Returns its folder, str."""
    from tta.scoring.adaptation.adapt import adapt

    text = folder.with_suffix(".txt")
    text.write_text("".join(f"{line}\n" for line in lines))
    start = time.monotonic()
    config = AdaptationConfig(input_file=[str(text)], output_dir=str(folder))
    report = adapt(config, FLAGS.model)
    seconds = time.monotonic() - start
    print(f"{folder.name}: {len(lines):,} lines, {seconds:.0f} s\n{report}\n", flush=True)
    return str(folder)


def show(title, config, folder):
    """Prints what run_rerank.py prints for the model, the adapted one, and both together."""
    from tta.scoring.reranking.rerank import rerank_files

    print(f"## {title}\n\n{rerank_files(config, [FLAGS.model, folder])}\n", flush=True)


if __name__ == "__main__":
    cli.run(main)
