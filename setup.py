"""Installs the rooms of the checkout (data/, flags/, modeling/, scoring/) as one package, `tta`."""

import re
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
ROOMS = ("data", "flags", "modeling", "scoring")
COMMANDS = ("run_pretraining", "run_rerank", "run_sts")

RERANK = ["rapidfuzz>=3.9", "sacrebleu>=2.4"]
REPORT = ["jinja2>=3.1", "matplotlib>=3.8"]
BEAM = ["apache-beam>=2.77,<3"]  # its protobuf is below 7: pip takes TensorFlow's with it
TEST = ["pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "jiwer>=3.1", "ruff>=0.12"]
TEST += [*REPORT, *BEAM]
# Hugging Face's BERT, which ours is compared with; without it those tests skip. (The registry's
# torch brings CUDA along: install a CPU build before it where there is one.)
TEST_BERT = ["torch>=2.4", "transformers>=5"]


class BuildPyWithCommands(build_py):
    """Adds the checkout's run_*.py to the package: `tta.run_rerank` exists installed too."""

    def find_package_modules(self, package, package_dir):
        modules = super().find_package_modules(package, package_dir)
        if package == "tta":
            modules += [("tta", name, f"{name}.py") for name in COMMANDS]
        return modules


setup(
    name="tta-lm",
    version=re.search(r'__version__ = "(.+)"', (ROOT / "tta/__init__.py").read_text()).group(1),
    description="Score, rerank and compare sentences with a Transformer-based Text Autoencoder",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    python_requires=">=3.10,<3.14",
    packages=["tta", *(f"tta.{room}" for room in ROOMS)],
    package_dir={"tta": "tta", **{f"tta.{room}": room for room in ROOMS}},
    package_data={"tta": ["small/*"], "tta.scoring": ["templates/*"]},
    cmdclass={"build_py": BuildPyWithCommands},
    install_requires=[
        "tensorflow==2.21.*",
        "tensorflow-text==2.21.*",
        "tensorflow-serving-api==2.21.*",  # its messages, 30 kB: the requests of tta-export
        "keras>=3.15,<4",
        "numpy>=1.26",
        "absl-py>=2.1",
        "scipy>=1.15",
        "h5py>=3.11",
        "safetensors>=0.4",
        "tokenizers>=0.20",
        "tqdm>=4.66",
        "tensorboard>=2.19",  # tf.summary, what training logs with
        *RERANK,
    ],
    extras_require={
        "test": TEST,
        "test-bert": TEST_BERT,
        "report": REPORT,
        "plot": ["matplotlib>=3.8"],
        "beam": BEAM,  # tta-beam-create-tfrecords, tta-beam-score
        "kenlm": ["kenlm>=0.2"],  # --model=kenlm:path; built from source, which takes a compiler
    },
    entry_points={
        "console_scripts": [
            "tta-beam-create-tfrecords = tta.cli:beam_create_tfrecords",
            "tta-beam-score = tta.cli:beam_score",
            "tta-create-vocab = tta.cli:create_vocab",
            "tta-create-tfrecords = tta.cli:create_tfrecords",
            "tta-export = tta.cli:export",
            "tta-fit-pooling = tta.cli:fit_pooling",
            "tta-pretrain = tta.cli:pretraining",
            "tta-rerank = tta.cli:rerank",
            "tta-score = tta.cli:score",
            "tta-sts = tta.cli:sts",
        ]
    },
)
