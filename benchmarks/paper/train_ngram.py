"""Trains the n-gram models of the tables on the text of the language models.

    python -m benchmarks.paper.train_ngram --form=spoken --output_file=runs/5gram-spoken.binary
    python -m benchmarks.paper.train_ngram --form=written --output_file=runs/5gram-written.binary

KenLM's `lmplz` does the training, with modified Kneser-Ney smoothing. The Python package `kenlm`
contains its source but does not build it. To build it, you need cmake, a C++ compiler and Boost:

    pip download --no-deps --no-binary=:all: --no-build-isolation kenlm
    tar xzf kenlm-*.tar.gz && mkdir kenlm-build && cd kenlm-build
    cmake ../kenlm-*/ && make lmplz build_binary && export PATH="$PWD/bin:$PATH"

An n-gram model knows a word only in the spelling of its training text, so there are two forms.
"spoken" is for recogniser output: `tta.data.corpus.chunks.spoken_form`, as for the T-TA's spoken
sentences; sentences without a spoken form are skipped. "written" is for tokenised translations:
lower case, with punctuation separated, and clitics separated with their apostrophe ("don 't").
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import flags

from benchmarks import evaluation_data
from tta import cli
from tta.errors import InputError

FLAGS = flags.FLAGS

# A word with its inner hyphens, full stops and commas and its initial apostrophe, or one symbol.
_WRITTEN_TOKEN = re.compile(r"'?[^\W_]+(?:[-.,][^\W_]+)*|[^\w\s]")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"))


def written_form(line):
    """A sentence as lower-case tokens separated by blanks: "i don 't know , do you ?"."""
    return " ".join(_WRITTEN_TOKEN.findall(line.lower().translate(_APOSTROPHES)))


def define_flags():
    """Defines the flags of this command."""
    flags.DEFINE_list(
        "input_file",
        str(evaluation_data.FOLDER / "text" / "*.xz"),
        "Text with one sentence per line; comma-separated globs.",
    )
    flags.DEFINE_enum("form", "spoken", ["spoken", "written"], "Form of the training sentences.")
    flags.DEFINE_string(
        "output_file",
        None,
        "Output file of the model: ARPA if it ends in .arpa, else binary.",
        required=True,
    )
    flags.DEFINE_integer("order", 5, "Words in the longest n-gram.", lower_bound=1)
    flags.DEFINE_list(
        "prune",
        ["0", "0", "1"],
        "N-grams with at most this count are pruned: one number per order, the last for the rest.",
    )
    flags.DEFINE_string("memory", "3G", "Memory limit of lmplz, in the notation of sort(1).")
    flags.DEFINE_bool("overwrite", False, "Replace an existing output file.")


def main():
    from tta.data.text.lines import expand_globs

    paths = expand_globs(FLAGS.input_file)
    tools = {name: shutil.which(name) for name in ("lmplz", "build_binary")}
    for name, path in tools.items():
        if path is None:
            raise InputError(f"{name} of KenLM is not on the PATH; see {Path(__file__).name}")
    output = Path(FLAGS.output_file)
    if output.exists() and not FLAGS.overwrite:
        raise InputError("exists; pass --overwrite to replace it", output)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".ngram-") as folder:
        arpa = Path(folder) / "lm.arpa"
        counts = estimate(tools["lmplz"], paths, arpa, folder)
        model = arpa
        if output.suffix != ".arpa":
            model = Path(folder) / "lm.binary"
            # A trie with 8-bit probabilities and back-offs: small, and as accurate (Heafield 2011).
            trie = ["-q", "8", "-b", "8", "-a", "22", "-T", folder, "trie"]
            run([tools["build_binary"], *trie, arpa, model])
        facts = {"form": FLAGS.form, "order": FLAGS.order, "prune": FLAGS.prune, **counts}
        facts["sources"] = [Path(path).name for path in paths]
        facts_file = Path(folder) / "facts.json"
        facts_file.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        os.replace(model, output)
        os.replace(facts_file, f"{output}.json")
    print(output)


def estimate(lmplz, paths, arpa, folder):
    """Feeds the sentences to lmplz; returns the number of sentences and words."""
    from tqdm import tqdm

    from tta.data.corpus.chunks import spoken_form
    from tta.data.text.lines import TextReader

    convert = {"spoken": spoken_form, "written": written_form}[FLAGS.form]
    options = ["-o", str(FLAGS.order), "-S", FLAGS.memory, "-T", folder, "--arpa", arpa]
    process = subprocess.Popen(
        [lmplz, *options, "--prune", *FLAGS.prune],
        stdin=subprocess.PIPE,
        text=True,
        bufsize=1 << 20,
    )
    counts = {"sentences": 0, "words": 0}
    reader = TextReader(paths)
    try:
        with tqdm(total=reader.total_bytes, unit="B", unit_scale=True, desc="reading") as bar:
            for line in reader:
                if text := convert(line):
                    process.stdin.write(text + "\n")
                    counts["sentences"] += 1
                    counts["words"] += text.count(" ") + 1
                    if counts["sentences"] % 10_000 == 0:
                        bar.update(reader.bytes_read - bar.n)
        process.stdin.close()
    except BrokenPipeError:  # lmplz has printed the reason
        pass
    except BaseException:
        process.kill()
        raise
    if process.wait():
        raise InputError(f"lmplz ended with status {process.returncode}")
    return counts


def run(command):
    """Runs a tool; its messages go to standard error."""
    done = subprocess.run(command, stdout=sys.stderr)
    if done.returncode:
        raise InputError(f"{Path(command[0]).name} ended with status {done.returncode}")


if __name__ == "__main__":
    define_flags()
    cli.run(main)
