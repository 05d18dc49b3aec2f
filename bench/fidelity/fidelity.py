#!/usr/bin/env python3
"""How near replays come to PyTorch's untraced step, for twenty networks on one core, or four on two ranks.

    bench/fidelity/fidelity.py [--networks lora,swin,… | --distributed] [--rounds 3] [--seconds 10] [--results DIRECTORY]
                               [--json] [--kernels torch|reprise] [--core 1] [-- REPLAY OPTIONS]

A round captures each network's step anew, converts it, and lets PyTorch's untraced steps and the replay take turns on one core
(turns.py). Results stay in DIRECTORY, so that a second call goes on where the first one ended. Exit code 1 if a network
failed: it is tried again by the next call. Networks beside the suite: --networks FILE.py:FUNCTION[:NAME=NUMBER,…]."""
import argparse
import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import venv

import networks
import results
import turns

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def own_python():
    """An interpreter with the packages of requirements.txt; made once."""
    wanted = (HERE / "requirements.txt").read_text()
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "reprise/fidelity"
    directory = cache / hashlib.sha256(wanted.encode()).hexdigest()[:16]
    python, complete = directory / "bin/python", directory / "complete"
    if not complete.exists():
        print(f"installing {', '.join(wanted.split())} below {directory} (about 6 GB)", file=sys.stderr, flush=True)
        venv.create(directory, with_pip=True, clear=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt"], check=False,
                              stdout=sys.stderr)
        if done.returncode != 0:
            fail("the packages could not be installed; --python names an interpreter that has them")
        complete.touch()
    return str(python)


def fail(message, code=4):
    print(f"fidelity.py: {message}", file=sys.stderr)
    sys.exit(code)


def library_of(python):
    """Its libtorch_cpu.so: the replay's operators are the very ones of the steps."""
    done = subprocess.run([python, "-c", "import torch, pathlib; print(torch.__version__); print(pathlib.Path(torch.__file__)"
                           ".parent / 'lib/libtorch_cpu.so')"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{python} has no torch; see bench/fidelity/requirements.txt")
    return done.stdout.split()


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", maxsplit=1)[1].strip()
    return platform.processor()


def chosen(text):
    """Names in order. Commas also separate the numbers of a FILE.py:FUNCTION."""
    names = []
    for word in text.split(","):
        if names and "=" in word and ":" in names[-1] and ":" not in word:
            names[-1] += "," + word
        else:
            names.append(word)
    for name in names:
        if networks.find(name) is None:
            fail(f"--networks: no network {name}; it has"
                 f" {', '.join(one.name for one in (*networks.SUITE, *networks.DISTRIBUTED))}, and takes FILE.py:FUNCTION", code=2)
    return names


def parse(own):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--networks", help="names, or FILE.py:FUNCTION, with commas between (default: all of one rank)")
    which.add_argument("--distributed", action="store_true", help="those of two ranks, on two cores")
    parser.add_argument("--list", action="store_true", help="print the names of all and end")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10, help="of replay in a round (default: 10)")
    parser.add_argument("--block", type=float, default=1, help="seconds of a turn (default: 1)")
    parser.add_argument("--core", type=int, default=1, help="on which both run; further ranks on the next ones (default: 1)")
    parser.add_argument("--kernels", choices=("torch", "reprise"), default="torch", help="whose operators replay")
    parser.add_argument("--results", default=str(ROOT / "build/fidelity"), help="directory (default: build/fidelity)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--python", help="an interpreter with requirements.txt (default: an environment of its own, made once)")
    parser.add_argument("--reprise", default=str(ROOT / "build/reprise"))
    args = parser.parse_args(own)
    if args.rounds < 1 or args.seconds <= 0 or args.block <= 0:
        parser.error("--rounds, --seconds and --block are above 0")
    return args


def show_round(name, index, row):
    print(f"{name} {index}: untraced {1e3 * row['untraced_s']:.1f} ms ({row['steps']}), replayed"
          f" {1e3 * row['replayed_s']:.1f} ms ({row['iterations']}): step {results.percent(row['step_error'])}",
          file=sys.stderr, flush=True)


def measure(args, names, kept):
    """All rounds that are not there yet; the networks that failed, with the reason."""
    failed = {}
    for index in range(args.rounds):
        for name in names:
            if name in failed or kept.has(name, index):
                continue
            try:
                with tempfile.TemporaryDirectory() as directory:
                    row = turns.one_round(args, name, pathlib.Path(directory))
            except turns.Failure as failure:
                failed[name] = str(failure)
                print(f"{name} {index}: {failure}", file=sys.stderr, flush=True)
                continue
            kept.keep(name, index, row)
            show_round(name, index, row)
    return failed


def main():
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    args = parse(own)
    if args.list:
        for one in (*networks.SUITE, *networks.DISTRIBUTED):
            print(f"{one.name:15} {one.about}")
        return 0
    suite = networks.DISTRIBUTED if args.distributed else networks.SUITE
    names = chosen(args.networks) if args.networks else [one.name for one in suite]
    if not pathlib.Path(args.reprise).is_file():
        fail(f"no program {args.reprise}; scripts/build makes it, --reprise names another")
    args.python = args.python or own_python()
    version, library = library_of(args.python)
    args.options = [*(["--torch", library] if args.kernels == "torch" else []), *options]
    kept = results.Results(args.results)
    program = hashlib.sha256(pathlib.Path(args.reprise).read_bytes()).hexdigest()
    settings = {"reprise_sha256": program, "torch": version, "kernels": args.kernels, "options": options,
                "seconds": args.seconds, "block": args.block, "core": args.core, "processor": processor()}
    differs = kept.agree(settings)
    if differs is not None:
        fail(f"--results {args.results} has results of other settings ({differs}); name another directory", code=2)
    failed = measure(args, names, kept)
    rows = {name: kept.rows(name, args.rounds) for name in names}
    done = {name: results.of_network(of_name) for name, of_name in rows.items() if of_name}
    if args.json:
        print(json.dumps({"settings": settings, "networks": {name: {**one, "of_rounds": rows[name]}
                                                             for name, one in done.items()},
                          "all": results.of_all(done) if done else None, "failed": failed}, indent=1))
    elif done:
        print(results.table(done))
    if failed and not args.json:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
