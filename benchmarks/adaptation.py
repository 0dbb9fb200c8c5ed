"""Adapts a model to the text of a domain and reranks the lists of that domain with the result.

    python -m benchmarks.adaptation

The data is in $TTA_DATA. ATIS has no text of its own, so the references of its train lists are
split by speaker: those of every fourth speaker's lists tune the weights, all others are the text.
No reference of the test lists is in the text or tunes; "without repeated sentences" leaves out of
the text those of the lists that tune, too. The figures of ATIS are written as JSON.

Arctic has lists to fine-tune on: its dev lists, clean and in noise, in one file. The weights are
tuned on the held-out lists of each condition.
"""

import json
import tempfile
import time
from pathlib import Path

from absl import flags

from benchmarks import ROOT, evaluation_data
from benchmarks.evaluation import figures
from tta import cli
from tta.data.nbest.files import read_nbest, write_nbest
from tta.data.text.files import open_output
from tta.data.text.lines import iter_lines
from tta.scoring.adaptation.config import AdaptationConfig
from tta.scoring.reranking.config import RerankConfig

SPEAKER = 3  # characters of an utterance's id in ATIS
TUNING_SPEAKERS = 4  # every fourth one
ARCTIC_TEST, ARCTIC_DEV = (f"nbest/asr_arctic/{part}.{{}}.json" for part in ("test", "dev"))
PARTS = ("atis", "librispeech", "lists")

FLAGS = flags.FLAGS
flags.DEFINE_string("model", "small", "The model to adapt.")
flags.DEFINE_string("output_file", str(ROOT / "docs/adaptation.json"), "Figures of ATIS.")
flags.DEFINE_multi_enum("parts", None, PARTS, "What to measure. Default: all.")


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        functions = dict(zip(PARTS, (atis, librispeech, arctic_lists), strict=True))
        for name in FLAGS.parts or PARTS:
            functions[name](work)


def atis(work):
    """ATIS, and Arctic with the same model, which shows what it loses elsewhere."""
    test, train = data("nbest/asr_hyporadise/{}_atis.json", "test", "train")
    dev, text = split_by_speaker(json.loads(Path(train).read_text()))
    tuning = work / "dev.json"
    tuning.write_text(json.dumps(dev))
    known = {one["output"] for one in [*dev, *json.loads(Path(test).read_text())]}
    config = RerankConfig(nbest_file=test, dev_nbest_file=str(tuning))
    report = show("ATIS", config, adapted_to(work / "atis", text))
    with open_output(FLAGS.output_file, overwrite=True) as stream:
        stream.write(json.dumps({"ATIS": figures(report)}, indent=1) + "\n")
    fewer = adapted_to(work / "atis-fewer", [line for line in text if line not in known])
    show("ATIS, without repeated sentences", config, fewer)
    test, dev = data("nbest/asr_arctic/{}.clean.json", "test", "dev")
    config = RerankConfig(nbest_file=test, dev_nbest_file=dev)
    show("Arctic, adapted to ATIS", config, str(work / "atis"))


def librispeech(work):
    """LibriSpeech: there are no dev lists, so each file is tuned on the other."""
    (path,) = data("text_eval/librispeech_{}.trans.txt", "dev-clean")
    transcripts = [line.partition(" ")[2] for line in iter_lines(path)]
    folder = adapted_to(work / "librispeech", transcripts)
    clean, other = data("nbest/asr_hyporadise/test_ls_{}.json", "clean", "other")
    for test, dev in ((clean, other), (other, clean)):
        config = RerankConfig(nbest_file=test, dev_nbest_file=dev, rank_scores=True)
        show(f"LibriSpeech, {Path(test).name}", config, folder)


def arctic_lists(work):
    """Arctic, fine-tuned on lists."""
    conditions, merged = ("clean", "snr5"), {}
    for condition, path in zip(conditions, data(ARCTIC_DEV, *conditions), strict=True):
        lists = json.loads(Path(path).read_text())
        merged |= {f"{condition} {name}": one for name, one in lists.items()}
    dev = work / "arctic.json"
    dev.write_text(json.dumps(merged))
    folder = adapted(work / "arctic", nbest_file=str(dev))
    held_out = read_nbest(Path(folder) / "heldout.jsonl").lists
    for condition, test in zip(conditions, data(ARCTIC_TEST, *conditions), strict=True):
        tuning = work / f"{condition}.jsonl"
        with open_output(tuning) as stream:
            own = [one for one in held_out if one.utterance_id.startswith(condition)]
            write_nbest(stream, own, "jsonl")
        config = RerankConfig(nbest_file=test, dev_nbest_file=str(tuning))
        show(f"Arctic {condition}, fine-tuned on lists", config, folder)


def data(pattern, *names):
    """The paths of some files of the evaluation data, str."""
    return [str(evaluation_data.path(pattern.format(name))) for name in names]


def split_by_speaker(lists):
    """(the lists of every fourth speaker, the references of all others)."""
    speakers = sorted({one["id"][:SPEAKER] for one in lists})
    tuning = set(speakers[::TUNING_SPEAKERS])
    dev = [one for one in lists if one["id"][:SPEAKER] in tuning]
    return dev, [one["output"] for one in lists if one["id"][:SPEAKER] not in tuning]


def adapted_to(folder, lines):
    """Adapts the model to some lines of text; returns its folder, str."""
    text = folder.with_suffix(".txt")
    text.write_text("".join(f"{line}\n" for line in lines))
    print(f"{folder.name}: {len(lines):,} lines")
    return adapted(folder, input_file=[str(text)])


def adapted(folder, **files):
    """Adapts the model to text or lists, and prints the report; returns its folder, str."""
    from tta.scoring.adaptation.adapt import adapt

    start = time.process_time()
    report = adapt(AdaptationConfig(output_dir=str(folder), **files), FLAGS.model)
    seconds = time.process_time() - start
    print(f"{folder.name}: {seconds:.0f} s of processor time\n{report}\n", flush=True)
    return str(folder)


def show(title, config, folder):
    """Prints what run_rerank.py prints for the model, the adapted one, and both together."""
    from tta.scoring.reranking.rerank import rerank_files

    report = rerank_files(config, [FLAGS.model, folder])
    print(f"## {title}\n\n{report}\n", flush=True)
    return report


if __name__ == "__main__":
    cli.run(main)
