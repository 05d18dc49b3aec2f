#!/usr/bin/env python3
"""Numbers of `report`, `compare` and `export` on every bundled capture, and on runs simulated from it, as they were before.

A change of analysis that should change no number changes none of these. pinned.json has a line for each command: some numbers
that a reader knows, and a digest of each part of the output. `pinned_test.py PROGRAM --write` writes it anew, and `--keep DIR` leaves
the outputs there, to compare those of two programs."""
import hashlib
import json
import pathlib
import shutil
import sys

import program

PINS = pathlib.Path(__file__).with_name("pinned.json")
CAPTURES = sorted(str(path.parent.relative_to(program.TRACES)) for path in program.TRACES.rglob("rank0.*")
                  if path.name.startswith("rank0.et.json") or path.name.startswith("rank0.kineto.json"))
# What differs from day to day, and from machine to machine.
OTHERWISE = {"command", "started_at", "reprise_version", "versions", "host", "hosts", "processor", "trace_hash"}
DIGITS = 9  # of numbers: other compilers round the last ones otherwise


def stable(value):
    if isinstance(value, dict):
        return {key: stable(of) for key, of in value.items() if key not in OTHERWISE}
    if isinstance(value, list):
        return [stable(of) for of in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def digest(value):
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:8]


def known(output):
    """Numbers that a reader of the pins knows."""
    names = ("step_time_recorded_ns", "step_time_replayed_ns", "imbalance")
    found = {name: output[name] for name in names if name in output}
    for difference in (of for of in output.get("alignments", [])[:1]):
        found["step_ns"] = [difference["totals"][side]["step_ns"] for side in "ab"]
    return found


def pin(output):
    if isinstance(output, bytes):
        return {"bytes": len(output), "all": digest(output)}
    output = stable(output)
    return known(output) | {"parts": " ".join(f"{key}:{digest(value)}" for key, value in sorted(output.items()) if value)}


class PinnedTest(program.ProgramTest):
    KEEP = None

    def outputs(self, capture):
        """The outputs of one capture, by what the command says."""
        folder = self.dir / capture.replace("/", "_")
        folder.mkdir()

        def run(*args):
            return self.run_program(*args, cwd=folder).stdout

        run("convert", program.TRACES / capture, "-o", "set")
        run("simulate", "set", "-o", "run", "--machine", "recorded", "--quiet")
        run("simulate", "set", "-o", "jittered", "--machine", "recorded", "--jitter", "0.2", "--quiet")
        commands = {
            "report run": ("report", "run"),
            "compare run run": ("compare", "run", "jittered"),
            "compare set set": ("compare", "set", "again=set"),
            "compare set run": ("compare", "set", "jittered"),
            "compare set": ("compare", "set"),
            "compare run": ("compare", "run"),
        }
        outputs = {name: json.loads(run(*args, "--json")) for name, args in commands.items()}
        for of in ("set", "run"):
            run("export", of, "--to", "perfetto", "-o", f"{of}.perfetto")
            outputs[f"export {of}"] = (folder / f"{of}.perfetto").read_bytes()
        if self.KEEP is not None:
            for name, output in outputs.items():
                path = self.KEEP / f"{capture}.{name}".replace("/", "_").replace(" ", "_")
                path.write_bytes(output if isinstance(output, bytes) else json.dumps(stable(output), indent=1).encode())
        shutil.rmtree(folder)
        return {f"{capture}: {name}": pin(output) for name, output in outputs.items()}

    def found(self):
        pins = {}
        for capture in CAPTURES:
            pins |= self.outputs(capture)
        return pins

    def test_numbers_are_as_before(self):
        self.assertGreaterEqual(len(CAPTURES), 14)
        wanted, found = json.loads(PINS.read_text()), self.found()
        self.assertEqual(wanted.keys(), found.keys())
        changed = {}
        for name, pins in wanted.items():
            before, after = dict(pins), dict(found[name])
            parts = set(before.pop("parts", "").split()) ^ set(after.pop("parts", "").split())
            changed |= {f"{name}, {key}": (before.get(key), after.get(key))
                        for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
            changed |= {f"{name}, {part.split(':')[0]}": "changed" for part in parts}
        self.assertEqual(changed, {}, "see pinned_test.py, --write")


def write(keep):
    test = PinnedTest("test_numbers_are_as_before")
    PinnedTest.KEEP = keep
    test.setUp()
    pins = test.found()
    test.tearDown()
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(of)}" for name, of in pins.items())
    PINS.write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write(pathlib.Path(sys.argv[sys.argv.index("--keep") + 1]) if "--keep" in sys.argv else None)
    else:
        program.main()
