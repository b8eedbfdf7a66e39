"""Waits until the programs of this user rest: they take less than a tenth of a processor for a while. Ends at the latest after as
many seconds as its argument says."""

import os
import sys
import time

FLOOR = 0.1  # s between two looks
LOOKS = 3  # looks in a row that find rest
BUSY = 0.1  # processors, above which a look finds none


def spent():
    """Seconds of processors that each program has taken so far."""
    taken = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        place = "/proc/" + process
        try:
            if os.stat(place).st_uid == os.getuid() and int(process) != os.getpid():
                fields = open(place + "/stat").read().rsplit(")", 1)[1].split()
                taken[process] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue  # It has ended.
    return taken


deadline = time.monotonic() + float(sys.argv[1])
before, began, resting = spent(), time.monotonic(), 0
while resting < LOOKS and time.monotonic() < deadline:
    time.sleep(FLOOR)
    now, moment = spent(), time.monotonic()
    used = sum(seconds - before.get(process, 0) for process, seconds in now.items())
    resting = resting + 1 if used <= BUSY * (moment - began) else 0
    before, began = now, moment
