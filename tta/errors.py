"""The error for bad input: what a user can mend, said in one line."""


class InputError(ValueError):
    """A file or value that breaks a documented rule.

    Commands print it as one line and exit with status 1; in Python it is a `ValueError`. Whatever
    stood in the file, its text is one printable line: what would break or colour it is escaped,
    and the middle of a long rule is left out.

    Args:
        rule: what was expected and what was found, without a full stop.
        path: the file it was found in, if any.
        line: the line in that file, counted from 1, if known.
    """

    def __init__(self, rule, path=None, line=None):
        self.rule = rule
        self.path = None if path is None else str(path)
        self.line = line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        if len(rule) > _HEAD + _TAIL:
            rule = f"{rule[:_HEAD]} ... {rule[-_TAIL:]}"
        super().__init__("".join(map(_printable, where + rule)))


class DamagedDataError(InputError):
    """A training or held-out shard is damaged; which one, the reader of batches does not know."""


_HEAD, _TAIL = 700, 300  # characters of a rule that are shown


def _printable(character):
    return character if character.isprintable() else ascii(character)[1:-1]
