"""run_pretraining.py, which sends itself a signal when it has done a number of steps.

python signalled_pretraining.py STEP SIGNAL --flag=value ...
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.faults import signal_after
from tta.flags import pretraining

_, STEP, SIGNAL, *ARGUMENTS = sys.argv
signal_after(int(STEP), int(SIGNAL))
sys.argv = ["run_pretraining.py", *ARGUMENTS]
pretraining.run()
