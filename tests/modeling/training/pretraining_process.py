"""run_pretraining.py in its own process, which saves the final variables of each replica.

    python pretraining_process.py LAST_STEP OUTPUT.npz --flag=value ...

LAST_STEP: the process kills itself after this step; a step that does not come means never. The file
gets every variable of the training, as `saving` saves them.
"""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.faults import signal_after
from tests.modeling.training.saved_variables import saving
from tta.flags import pretraining
from tta.modeling.training import pretrain

_, LAST_STEP, OUTPUT, *ARGUMENTS = sys.argv


def train_and_save(*args):
    # Imported after the flags are parsed, as in the command, so that TensorFlow is quiet.
    from tta.modeling.training import assembly

    assembly.make_trainer = saving(assembly.make_trainer, OUTPUT)
    signal_after(int(LAST_STEP), signal.SIGKILL)
    return train(*args)


train = pretrain._train
pretrain._train = train_and_save
sys.argv = ["run_pretraining.py", *ARGUMENTS]
pretraining.run()
