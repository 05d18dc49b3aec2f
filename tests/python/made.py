"""What the tests of the package read: made once by the program, copied before anything is changed."""
import atexit
import functools
import json
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

import program  # tests/e2e

SCRATCH = tempfile.TemporaryDirectory(prefix="reprise_made_")
atexit.register(SCRATCH.cleanup)
DIRECTORY = pathlib.Path(SCRATCH.name)


def reprise(*args):
    done = subprocess.run([program.REPRISE, *map(str, args)], capture_output=True, text=True, timeout=300,
                          env=program.ENVIRONMENT, check=False)
    if done.returncode != 0:
        raise AssertionError(f"reprise {args}: {done.stdout}{done.stderr}")
    return done.stdout


@functools.cache
def trace(case):
    out = DIRECTORY / case.replace("/", "_")
    reprise("convert", program.TRACES / case, "-o", out)
    return out


@functools.cache
def real_run():
    """One rank, kernels on the host: telemetry, records, measured times."""
    out = DIRECTORY / "real"
    reprise("replay", trace("gloo/gpt_single"), "-o", out, "--device", "host", "--iterations", "2", "--warmup", "1")
    return out


@functools.cache
def dry_run():
    """Four ranks, simulated."""
    out = DIRECTORY / "dry"
    reprise("simulate", trace("gloo/gpt_ddp4"), "-o", out, "--machine", "recorded")
    return out


def report(run):
    return json.loads(reprise("report", run, "--json"))


def copy(run, name):
    return pathlib.Path(shutil.copytree(run, DIRECTORY / name))


def change(path, sql):
    connection = sqlite3.connect(path)
    connection.executescript(sql)
    connection.commit()
    connection.close()


def unmerged(run, name):
    """As a run that was killed leaves it."""
    out = copy(run, name)
    (out / "run.sqlite").unlink()
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "complete": False}))
    return out
