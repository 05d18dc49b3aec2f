#!/usr/bin/env python3
"""Does the steps of Containerfile in bare roots of Debian, a root a stage, and uses what the last stage makes, as its user: for machines
that reach no image registry. The sources are the tracked files.

    scripts/container/check.py [--given STAGE=DIRECTORY]

--given: what that stage leaves for later ones is taken from DIRECTORY, by its path in the image, and the stage is left out.
Needs the right to make bare roots (scripts/lib/bare_root.sh); exit code 4 without it.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "container"
ENVIRONMENT_ERROR = 4
# What the image is used for, as its user.
USE = """entry convert /usr/share/reprise/captures/quickstart -o trace
entry replay trace -o run -n 2 --device host --iterations 1 --check --quiet
entry report run
test "$(id -u)" -ne 0"""


class Stage:
    """`name`, `suite` of Debian, `steps`: (instruction, its text)."""

    def __init__(self, image, name):
        self.name, self.steps = name, []
        found = re.fullmatch(r"docker\.io/library/debian:(\w+)-slim", image)
        if found is None:
            raise SystemExit(f"FROM {image}: a bare root is Debian's; expected docker.io/library/debian:<release>-slim")
        self.suite = found.group(1)


def read(text):
    """The stages of a Containerfile. SystemExit where it has an instruction that is not known here."""
    stages = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            image, _, name = rest.partition(" AS ")
            stages.append(Stage(image, name or str(len(stages))))
        elif instruction in ("COPY", "RUN", "ENV", "USER", "WORKDIR", "ENTRYPOINT"):
            stages[-1].steps.append((instruction, rest))
        else:
            raise SystemExit(f"{instruction}: not known to {pathlib.Path(__file__).name}")
    return stages


def copied(text):
    """The stage that a COPY copies from (None: the sources), what, and where to."""
    words = shlex.split(text)
    stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else None
    return stage, words[:-1], words[-1]


def script(stage, needed, last):
    """A stage as a shell script; `needed`: paths that later stages copy."""
    lines = ["set -euo pipefail", "as_user() { \"$@\"; }", "mkdir /context", f"tar -xf {WORK}/sources.tar -C /context"]
    entry = []
    for instruction, text in stage.steps:
        if instruction == "RUN":
            lines.append(f"as_user bash -euc {shlex.quote(text)}")
        elif instruction == "ENV":
            lines.append(f"export {text}")
        elif instruction == "WORKDIR":
            lines.append(f"mkdir -p {text}; cd {text}")
        elif instruction == "USER":
            lines.append(f"as_user() {{ setpriv --reuid={text} --regid={text} --init-groups \"$@\"; }}; export HOME=/home/{text}")
        elif instruction == "ENTRYPOINT":
            entry = json.loads(text)
        else:
            of, sources, target = copied(text)
            for source in sources:
                place = f"/context/{source}" if of is None else f"{WORK}/{of}{source}"
                lines.append(f"mkdir -p {target}; cp -rT {place} {target}")
    for path in needed:
        lines.append(f"mkdir -p {WORK}/{stage.name}{path}; cp -rT {path} {WORK}/{stage.name}{path}")
    if last:
        lines += [f"entry() {{ as_user {shlex.join(entry)} \"$@\"; }}",
                  *(line if line.startswith("entry") else f"as_user bash -euc {shlex.quote(line)}" for line in USE.splitlines())]
    return "\n".join(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--given", metavar="STAGE=DIRECTORY", action="append", default=[])
    given = dict(word.split("=", 1) for word in options.parse_args().given)
    bare_root = ROOT / "scripts" / "lib" / "bare_root.sh"
    if subprocess.run([bare_root, "--possible"], check=False).returncode != 0:
        return ENVIRONMENT_ERROR
    stages = read((ROOT / "Containerfile").read_text())
    subprocess.run(["rm", "-rf", WORK], check=True)
    WORK.mkdir(parents=True)
    subprocess.run(["git", "-C", ROOT, "archive", "-o", WORK / "sources.tar", "HEAD"], check=True)
    for number, stage in enumerate(stages):
        if stage.name in given:
            subprocess.run(["cp", "-r", given[stage.name], WORK / stage.name], check=True)
            continue
        needed = [path for later in stages[number + 1:] for instruction, text in later.steps if instruction == "COPY"
                  for of, sources, _ in [copied(text)] if of == stage.name for path in sources]
        file = WORK / f"{stage.name}.sh"
        file.write_text(script(stage, needed, number == len(stages) - 1))
        print(f"stage {stage.name}: {len(stage.steps)} steps in a bare {stage.suite}", flush=True)
        done = subprocess.run([bare_root, "--suite", stage.suite, "--with-build", "bash", file], check=False)
        if done.returncode != 0:
            return done.returncode
    print("container: all steps passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
