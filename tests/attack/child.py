"""The program under test as a process: how it ended, what it took, what it printed."""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

# As scripts/lib/mpi.sh has it: replays and measurements start MPI.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_plm_rsh_agent": "/bin/false"}
FAR_TOO_MUCH_BYTES = 6 << 30  # so that a failure does not take the machine with it


class Ended(typing.NamedTuple):
    code: typing.Optional[int]  # negative: a signal's number; None: it did not end in time, and was killed
    cpu_seconds: float
    peak_bytes: int
    stdout: str
    output: str  # stdout, then stderr


# What a console or a log must not get from a name in a file.
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
MOST_BYTES = 1_000_000_000
GRACE_S = 240  # for what takes a second on an idle machine


def verdict_of(done):
    """What is wrong with any command that ends so; nothing where only its result can say more."""
    if done.code is None:
        return "hang"
    if done.code < 0 or done.code > 4 or "internal error" in done.output or "Sanitizer" in done.output or \
            "runtime error" in done.output:
        return "crash"
    if done.peak_bytes > MOST_BYTES:
        return "over budget"
    return "raw text" if RAW.search(done.output) else None


def is_json(text):
    """As the standard has it: without NaN and Infinity."""
    def refuse(word):
        raise ValueError(word)
    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def run(command, seconds, cpu_seconds=None, cwd=None, interrupt=False):
    """Runs until it ends, or has run for `seconds`, or computed for `cpu_seconds`. `interrupt`: SIGINT then, as a user
    ends what goes on for ever."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(list(map(str, command)), stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                 cwd=cwd, env=ENVIRONMENT, start_new_session=True,
                                 preexec_fn=begin)
        done = wait(child.pid, seconds, cpu_seconds)
        if done is None and interrupt:
            os.kill(child.pid, signal.SIGINT)
            done = wait(child.pid, GRACE_S, None)
        code = None
        if done is None:
            os.killpg(child.pid, signal.SIGKILL)
            done = os.wait4(child.pid, 0)[1:]
        else:
            code = os.waitstatus_to_exitcode(done[0])
        child.returncode = 0
        stdout, stderr = map(text_of, (out, err))
    usage = done[1]
    return Ended(code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, stdout, stdout + stderr)


def text_of(file):
    file.seek(0)
    return file.read(20_000_000).decode(errors="replace")


def begin():
    resource.setrlimit(resource.RLIMIT_AS, (FAR_TOO_MUCH_BYTES,) * 2)
    for number in (signal.SIGINT, signal.SIGHUP):  # ignored in what a shell or nohup starts in the background
        signal.signal(number, signal.SIG_DFL)


def wait(pid, seconds, cpu_seconds):
    """(status, usage) once the process has ended; None: it has not."""
    deadline = time.monotonic() + seconds
    pause = 0.001
    while time.monotonic() < deadline:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return status, usage
        if cpu_seconds is not None and used_seconds(pid) > cpu_seconds:
            return None
        time.sleep(pause)
        pause = min(0.02, 1.3 * pause)
    return None


def used_seconds(pid):
    """CPU time of a process that has not been waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
