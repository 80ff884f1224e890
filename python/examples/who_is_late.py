"""A monitor of one's own: which rank of a running job comes last to its allreduces.

``python examples/who_is_late.py JOB``; ``foretop mpi trace jobs`` lists the jobs.
"""

import sys
import time
from collections import Counter

import pandas as pd
from foretop import mpi_trace

job, waiting, last = mpi_trace.follow(sys.argv[1]), pd.DataFrame(), Counter[int]()
while job.is_alive:
    time.sleep(1)
    calls = pd.concat([waiting, job.pull().calls.to_frame().reset_index()], ignore_index=True)
    calls = calls[calls["call"] == "MPI_Allreduce"]
    number = calls.groupby("rank").cumcount()
    # Those that all ranks have made by now; the others wait.
    done = calls[number < calls["rank"].value_counts().min()]
    last.update(done.loc[done.groupby(number)["start_ns"].idxmax(), "rank"])
    waiting = calls.drop(done.index)
    print("last to arrive:", dict(last.most_common()), flush=True)
