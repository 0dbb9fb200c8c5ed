"""Wrong flags of every command: one line and exit status 2, before a file is read."""

import pytest

from tests.commands import run_command

# What a command requires, which the flags below are added to.
REQUIRED = {
    "tta-adapt": "--output_dir=x",
    "tta-classify": "--output_dir=x",
    "tta-fit-pooling": "--input_file=x",
    "tta-pretrain": "--input_dir=x --config_file=x --output_dir=x --num_train_steps=9",
    "tta-probe": "--data_file=x",
    "tta-rerank": "--nbest_file=x",
    "tta-score": "",
    "tta-sts": "--sts_file=x",
    "tta-create-tfrecords": "--input_file=x --vocab_file=x",
}
WRONG = {
    "tta-adapt": [
        ("", "error: input_file or nbest_file is required"),
        ("--input_file=a --reference_file=b", "error: reference_file needs nbest_file"),
        ("--input_file=a --max_passes=0", "max_passes=0"),
    ],
    "tta-create-tfrecords": [
        ("--output_dir=-", "output_dir must be a folder, not standard output"),
    ],
    "tta-classify": [
        ("", "train_file and dev_file are required, or task and data_dir (--help lists the flags)"),
    ],
    "tta-fit-pooling": [
        ("", "--model"),
    ],
    "tta-pretrain": [
        (
            "--num_warmup_steps=2 --num_decay_steps=8",
            "num_decay_steps must be at most 7, the steps after the warm-up, not 8",
        ),
    ],
    "tta-probe": [
        ("--dev_file=x", "dev_file needs test_file"),
        ("--ner", "ner needs test_file"),
        ("--ner --test_file=x --label_column=y", "label_column has no meaning with ner"),
        ("--ner --test_file=x --pooling=sif", "pooling has no meaning with ner"),
        ("--ner --test_file=x --text_columns=a", "text_columns has no meaning with ner"),
        ("--text_columns=a,b,c", "text_columns must be one or two, not 3"),
        ("--representation=", "representation must name at least one"),
        ("--pooling=max", "pooling must be mean or sif or whitened, not 'max'"),
        ("--num_folds=1", "num_folds=1"),
        (
            "--features=mix --representation=embed",
            "representation has no meaning with features=mix",
        ),
        ("--features=mix --pooling=sif", "pooling has no meaning with features=mix"),
        ("--lstm_size=7", "lstm_size has no meaning with features=vectors"),
        ("--num_train_epochs=7", "num_train_epochs has no meaning with features=vectors"),
    ],
    "tta-rerank": [
        ("--lm_weight=nan", "lm_weight must be a finite number, not nan"),
        ("--lm_weight=much", "lm_weight=much: could not convert"),
        ("--lm_weight=", "lm_weight=: expected a number"),
        ("--model=a --model=b --lm_weight=.1", "comma-separated: got 1 (0.1) for 2"),
        ("--curve_file=c.png", "curve_file needs dev_nbest_file"),
        ("--report=r.txt", "report must end in .html, not 'r.txt'"),
        ("--dev_nbest_file=y --curve_file=c.pdf", "curve_file must end in .png, .svg"),
        ("--reduction=max", "reduction=max"),
        ("--format=xml", "format=xml"),
        ("--beam_size=0", "beam_size=0"),
        ("--metric=none --dev_nbest_file=y", "tuning on dev_nbest_file needs a metric, not none"),
        ("--normalize=upper", "normalize=upper"),
        ("--dev_reference_file=y", "needs dev_nbest_file"),
        ("--dev_score_file=y", "needs dev_nbest_file"),
        ("--decision=min", "decision=min: value should be one of <max|mbr>"),
        ("--scale=-1", "scale=-1: -1.0 is not a non-negative number"),
        ("--decision=max --scale=2", "scale is for the decision mbr, not max"),
        (
            "--features=rank",
            "features need dev_nbest_file, or a weight each (name=weight), got 'rank'",
        ),
        ("--features=am_score=x", "features: expected name=number, got 'am_score=x'"),
        ("--features=rank=nan", "features: expected name=number, got 'rank=nan"),
        ("--features==1", "features must be different names, not '=1'"),
        ("--features=a=1,a=2", "features must be different names, not 'a=1,a=2'"),
        ("--model=none --model=small", "--model=none does not go with another --model"),
        ("--model=none --lm_weight=.5", "lm_weight needs a model, and there is none: got '0.5'"),
        ("--lm_wait=1", "lm_wait"),
        ("lists.json", "unexpected argument 'lists.json': every option is a --flag=value (--help"),
        ("setup.py", "every option is a --flag=value; a glob is quoted, as --flag='*.txt'"),
        ("--pll_variant=masked", "--pll_variant=masked: value should be one of"),
    ],
    "tta-score": [
        ("--pairs=x --texts=y", "error: texts and pairs cannot be combined (--help lists the"),
        ("--column=2 y", "error: column needs input_file, not texts (--help lists the flags)"),
        ("--input_file=x --group_by=UID", "error: group_by needs pairs (--help lists the flags)"),
        ("--pairs=x --perplexity", "error: perplexity needs input_file, not pairs"),
        ("--pairs=x --input_file=x", "error: input_file and pairs cannot be combined (--help "),
        ("--pairs=x --tokens", "error: tokens needs input_file, not pairs (--help lists "),
        ("--pairs=x --words", "error: words needs input_file, not pairs (--help lists "),
    ],
    "tta-sts": [
        ("--pooling=max", "pooling must be mean or sif or whitened, not 'max'"),
        ("--pooling=", "pooling must name at least one, and none twice"),
        ("--pooling=sif,sif", "none twice, not 'sif,sif'"),
        ("--representation=embed,embed", "must name at least one, and none"),
        ("--long_sentences=cut", "long_sentences=cut"),
        ("--batch_tokens=0", "batch_tokens=0"),
    ],
}


@pytest.mark.parametrize(
    ("command", "flags", "rule"),
    [(command, *row) for command, rows in WRONG.items() for row in rows],
)
def test_wrong_flags_are_one_line_and_exit_with_2(no_model, command, flags, rule):
    ended = run_command(command, *REQUIRED[command].split(), *flags.split())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert rule in ended.stderr
    assert ended.stderr.count("\n") == 1


# Two values for what takes one; the last one counted before.
TWICE = [
    ("tta-rerank", "--beam_size=1 --beam_size=2", "beam_size"),
    ("tta-rerank", "--decision=max --decision=mbr", "decision"),  # a choice
    ("tta-rerank", "--rank_scores --norank_scores", "rank_scores"),  # yes or no
    ("tta-rerank", "-metric=wer --metric cer", "metric"),  # other spellings
    ("tta-rerank", "--verbosity=1 -v=0", "verbosity"),  # of absl
    ("tta-rerank", "--offline --offline", "offline"),  # of every command
    ("tta-score", "--input_file=x --model=a --model=b", "model"),
    (
        "tta-pretrain",
        "--mixed_precision=float32 --precision=float32",
        "mixed_precision",
    ),  # an alias
]


@pytest.mark.parametrize(("command", "flags", "name"), TWICE)
def test_a_flag_of_one_value_that_is_given_twice_is_one_line(no_model, command, flags, name):
    ended = run_command(command, *REQUIRED[command].split(), *flags.split())
    rule = f"--{name} is given more than once, and it takes one value (--help lists the flags)"
    assert ended == (1, "", f"error: {rule}\n")
