"""The text of `--help`, and answers to flags of other scripts."""

import shutil
import textwrap
from collections.abc import Iterable

from tta import settings

_FLAGFILE = (
    "Read flags from a file, one per line; # begins a comment, also after a flag. Flags after "
    "--flagfile replace those of the file, lists too, and the file's replace those before it."
)
_KINDS = {int: "INTEGER", float: "NUMBER"}

# What stands in place of the flags of BERT's and the original T-TA's scripts
# (docs/tutorials/from_bert.md).
_TPU = "--distribution_strategy of tta pretrain, for GPUs; TPUs are not used"
_MASKS = "--objective=mlm of tta pretrain masks 15 % of the pieces, anew in every step"
_BOTH = "tta pretrain trains, and evaluates every --eval_steps"
_FOLDER = "--model takes the folder of a model, with its config and vocabulary"
_BATCHES = "evaluation takes the batches of --train_batch_tokens of tta pretrain"
THEIR_FLAGS = {
    "bert_config_file": "--config_file of tta pretrain",
    "config_file": _FOLDER,
    "model_checkpoint": _FOLDER,
    "init_checkpoint": _FOLDER,
    "vocab_file": _FOLDER,
    "input_file": "--input_dir of tta pretrain, --nbest_file of tta rerank, --sts_file of tta sts",
    "eval_input_file": "--heldout_fraction of tta create-tfrecords",
    "output_file": "--output_dir of tta create-tfrecords, --vocab_file of tta create-vocab",
    "num_output_split": "--num_shards of tta create-tfrecords",
    "max_seq_length": "--max_seq_length of tta create-tfrecords; training reads it there",
    "short_seq_prob": "--merge_sentences of tta create-tfrecords; else, a record is a sentence",
    "do_lower_case": "--lower_case of tta create-vocab and tta create-tfrecords; a model keeps it",
    "random_seed": "--seed of tta create-tfrecords and tta pretrain",
    "dupe_factor": _MASKS,
    "masked_lm_prob": _MASKS,
    "max_predictions_per_seq": _MASKS,
    "do_whole_word_mask": _MASKS,
    "do_train": _BOTH,
    "do_eval": _BOTH,
    "eval_batch_size": _BATCHES,
    "do_predict": "--test_file of tta classify",
    "task_name": "--task of tta classify",
    "max_eval_steps": "--max_eval_batches of tta pretrain",
    "iterations_per_loop": "--log_steps of tta pretrain",
    "use_tpu": _TPU,
    "tpu_name": _TPU,
    "tpu_zone": _TPU,
    "gcp_project": _TPU,
    "num_tpu_cores": _TPU,
    "master": _TPU,
}


def help_text(about: str, configs: Iterable[type]) -> str:
    """Renders the help of a command.

    Required flags come first. The others are grouped by the `group` of their settings, in the order
    of the configs, whose fields are the flags, and the common flags come last. `about` is what the
    command does, with an example: the docstring of its module.

    Returns lines as wide as the terminal, at most 100 characters; 80 if there is none.
    """
    width = min(shutil.get_terminal_size().columns, 100)
    groups: dict[str, list[str]] = {"Required flags": []}
    for field in (field for config in configs for field in settings.fields(config)):
        title = "Required flags" if field.required else field.group
        groups.setdefault(title, []).append(_entry(usage(field), meaning(field), width))
    common = groups.pop(settings.COMMON, [])
    groups[settings.COMMON] = [
        *common,
        _entry("--flagfile=FILE", _FLAGFILE, width),
        _entry("-h, --help", "Show this help. --helpfull adds the flags of absl.", width),
        _entry("--version", "Show the version.", width),
    ]
    listed = [f"{title}:\n" + "\n".join(flags) for title, flags in groups.items() if flags]
    return "\n\n".join([about.strip(), *listed]) + "\n"


def usage(field: settings.Field) -> str:
    """How a flag is written, such as `--num_shards=INTEGER`."""
    if field.kind is bool:
        return f"--[no]{field.name}"
    if field.setting.choices is not None:
        value = "|".join(field.setting.choices)
    else:  # vocab_file -> FILE
        value = _KINDS.get(field.kind, field.name.rpartition("_")[2].upper())
    return f"--{field.name}={value}" + ",..." * (field.is_list and not field.setting.repeated)


def meaning(field: settings.Field, *notes: str) -> str:
    """The help of a flag, then notes: its default, its bounds, whether it adds up, its other name.

    Further `notes` come first.
    """
    all_notes = list(notes)
    if field.default is not None and field.default is not False:
        value = ",".join(map(str, field.default)) if field.is_list else field.default
        all_notes.append(f"default: {'true' if value is True else value}")
    if field.setting.bounds:
        all_notes.append(field.setting.bounds)
    if field.is_list and not field.setting.repeated:
        all_notes.append("may be repeated")
    if field.setting.alias is not None:
        all_notes.append(f"also --{field.setting.alias}")
    return field.setting.help + f" [{'; '.join(all_notes)}]" * bool(all_notes)


def _entry(usage, meaning, width):
    text = textwrap.fill(
        meaning,
        width,
        initial_indent=" " * 6,
        subsequent_indent=" " * 6,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return f"  {usage}\n{text}"


def answer(flag: str) -> str | None:
    """What stands in place of a flag, which may have the prefix `no`; None for any other flag."""
    ours = THEIR_FLAGS.get(flag) or THEIR_FLAGS.get(flag.removeprefix("no"))
    return ours and f"--{flag} is a flag of BERT's or the original T-TA's scripts: here, {ours}"
