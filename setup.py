"""Installs the package `tta`. Its rooms are links: tta/data -> ../data and so on.

A clone on Windows has text files in their place; there, setuptools takes the folders themselves.
"""

import os
import re
import runpy
import sys
import tempfile
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"', (ROOT / "tta/version.py").read_text(), re.MULTILINE)
sys.path.insert(0, str(ROOT))  # a build of pip has it not
COMMANDS = runpy.run_path(str(ROOT / "tta/commands.py"))["OURS"]
if (ROOT / "papers").is_dir():
    COMMANDS |= runpy.run_path(str(ROOT / "papers/table.py"))["TABLE"]["command"]
BUILD = tempfile.TemporaryDirectory()  # modules deleted since an earlier build would stay in build/
ROOMS = () if (ROOT / "tta/data").is_dir() else ("data", "flags", "modeling", "papers", "scoring")
IN_ROOMS = [f"tta.{name}" for room in ROOMS for name in find_packages(include=[room, f"{room}.*"])]

# GitHub's CI says where the source is. A build elsewhere has no addresses, and relative links.
SERVER, REPOSITORY = (os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY"))
HOME = f"{SERVER}/{REPOSITORY}" if SERVER and REPOSITORY else None
README = (ROOT / "README.md").read_text(encoding="utf-8")
if HOME:
    for ending, view in ((r"\.(?:png|svg)", "raw"), ("", "blob")):
        link = rf"\]\(([^:#)]+{ending}(?:#[^)]*)?)\)"
        README = re.sub(link, rf"]({HOME}/{view}/v{VERSION[1]}/\1)", README)

# TensorFlow 2.21 has no wheels for Python 3.14; all but training and SavedModels runs there.
# TensorFlow Text holds TensorFlow at its own minor version. It has no wheels for Windows.
LEARN = ["keras>=3.15,<4", "tensorboard>=2.19", "google-crc32c>=1.7"]  # with any backend of Keras
TRAIN = ["tensorflow>=2.21,<3", *LEARN]
TRAIN += ['tensorflow-text>=2.21; sys_platform != "win32"', "tensorflow-serving-api>=2.21"]
JAX = "jax>=0.4.38"  # an earlier one ends a process that has imported TensorFlow 2.21
BLEU = ["sacrebleu>=2.4"]
REPORT = ["jinja2>=3.1", "matplotlib>=3.10.7"]
KENLM = ["camel-kenlm>=2026.2"]  # the code of kenlm; with wheels for each Python on Linux
WHISPER = ["whisper-normalizer>=0.1.5"]  # --normalize=whisper
PROBE = ["scikit-learn>=1.6"]
CLASSIFY = [*TRAIN, "scikit-learn>=1.6"]
COMPLETION = ["shtab>=1.7"]
HUB = ["huggingface-hub>=0.30"]
SERVE = ["fastapi>=0.115", "uvicorn[standard]>=0.30", "prometheus-client>=0.23.1"]
PARQUET = ["pyarrow>=15"]
VECTORS = ["gensim>=4.4"]  # wheels for each Python; NumPy and SciPy are its only large needs
TEST = ["pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "jiwer>=3.1", "setuptools>=70.1"]
TEST += ["ruff>=0.12", "pyright>=1.1.400", *REPORT, *PROBE, *SERVE]
TEST += [*BLEU, *WHISPER, *COMPLETION, *HUB, *KENLM, *PARQUET, "openapi-spec-validator>=0.7.1"]
# References: exact Bessel functions; the F1 of entities.
TEST += ["mpmath>=1.3", "seqeval>=1.2"]
DOCS = ["zensical>=0.0.73", "mkdocstrings[python]>=0.30", "ruff>=0.12"]  # Ruff wraps signatures
TEST += DOCS
TEST_TRAIN = [*TEST, *CLASSIFY, *VECTORS, JAX]
LM_EVAL = ["lm-eval>=0.4.9"]
# What loads our exports or is the reference for our BERT, and a browser: pytest -m large. PyPI's
# torch includes CUDA. Install a CPU build first on machines without a GPU.
TEST_LARGE = ["torch>=2.4", "transformers>=5", "sentence-transformers>=5", "model2vec>=0.6"]
TEST_LARGE += ["playwright>=1.45", "axe-playwright-python>=0.1.4", *LM_EVAL]

setup(
    name="tta-lm",
    version=VERSION[1],
    description="Score, rerank and compare sentences with a Transformer-based Text Autoencoder",
    long_description=README,
    long_description_content_type="text/markdown",
    project_urls={"Source": HOME, "Issues": f"{HOME}/issues"} if HOME else {},
    author="The authors of tta-lm",
    keywords="language model, sentence scoring, reranking, N-best, ASR, MT, sentence similarity",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.10,<3.15",
    packages=[*find_packages(include=["tta", "tta.*"]), *IN_ROOMS],
    package_dir={f"tta.{room}": room for room in ROOMS},
    options={"build": {"build_base": BUILD.name}},
    package_data={
        "tta": ["py.typed", "small/*"],
        "tta.scoring.server": ["templates/*"],
        "tta.scoring.reports": ["templates/*"],
        "tta.scoring.exports": ["templates/*"],
    },
    install_requires=[
        "numpy>=1.26",
        "absl-py>=2.1",
        "scipy>=1.15",
        "h5py>=3.11",
        "safetensors>=0.4",
        "ml_dtypes>=0.4",  # bfloat16 in safetensors
        "onnx>=1.16",  # builds the graphs that onnxruntime runs
        "onnxruntime>=1.18",
        "tokenizers>=0.20,<1",
        "filelock>=3.30",  # its lock_descriptor
        "tqdm>=4.66",
        "tabulate>=0.9",
        "rapidfuzz>=3.9",
    ],
    extras_require={
        "train": TRAIN,  # training, the Keras layers, tta export --format=saved_model
        "train-jax": [*LEARN, JAX],  # KERAS_BACKEND=jax run_pretraining.py
        "docs": DOCS,  # python docs/pages.py && zensical serve
        "test": TEST,  # the tests that need no TensorFlow
        "test-train": TEST_TRAIN,  # all but those marked large
        "test-large": TEST_LARGE,
        "gpu": [*TRAIN, "tensorflow[and-cuda]>=2.21,<3"],  # NVIDIA's libraries, Linux
        "lm-eval": LM_EVAL,  # tta.scoring.minimal_pairs.harness
        "serving": TRAIN,  # its name in version 0.1
        "transformers": ["torch>=2.4", "transformers>=4.57"],  # --model=transformers:NAME
        "serve": SERVE,  # tta serve, tta demo
        "whisper": WHISPER,  # --normalize=whisper
        "report": REPORT,
        "bleu": BLEU,  # --metric=bleu
        "hub": HUB,  # --model=hf:OWNER/NAME
        "plot": ["matplotlib>=3.10.7"],
        "probe": PROBE,  # tta probe
        "classify": CLASSIFY,  # tta classify
        "kenlm": KENLM,  # --model=kenlm:path
        "completion": COMPLETION,  # tta completion
        "parquet": PARQUET,  # files and outputs that end in .parquet
        "vectors": VECTORS,  # tta create-vectors with skip_gram or fasttext, --model=fasttext:path
    },
    entry_points={
        "console_scripts": [
            "tta = tta.__main__:run",
            *(f"{name} = {module}:run" for name, module in COMMANDS.items()),
        ]
    },
)
