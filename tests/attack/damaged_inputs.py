"""Kinds of input that are damaged as files, or in their values: captures, trace sets, runs, packages."""
import gzip
import json
import shutil
import sqlite3

import child
from mutations import bomb, mutate, special

TRACES = child.ROOT / "traces"
CAPTURES = ["quickstart", "gloo/resnet18", "gloo_comms/collectives4"]
HOSTILE = "\x1b]0;owned\x07\nreprise: all is well\u202e=1+1|</script>\x7f"


def tree(folder):
    """Content of an output; without the checksums, which follow from it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "checksums.xxh128"}


class Damaged:
    """A sound input is made once of each original, and a copy of it is damaged in each case."""
    originals = CAPTURES
    # Whether the program can know that content was changed. A mutated capture that still converts is another capture.
    checks_content = True
    may_refuse_sound = False  # some commands are not for all originals

    def __init__(self, program, work, rng):
        self.program, self.work = program, work / self.name
        self.work.mkdir()
        self.input, self.out = self.work / "input", self.work / "out"
        self.known = {}  # of a sound input and a command, the outcome

    # The sound input, what is done to it, and the command lines that read it, of which a case takes one.
    def make(self, original, to):
        raise NotImplementedError

    def damage(self, folder, rng):
        raise NotImplementedError

    def commands(self):
        raise NotImplementedError

    def reprise(self, *arguments):
        return child.run([self.program, *arguments], child.GRACE_S, cwd=self.work)

    def made(self, *arguments):
        done = self.reprise(*arguments)
        assert done.code == 0, (arguments, done.output)

    def sound(self, original):
        folder = self.work / "sound" / original.replace("/", "_")
        if not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            self.make(original, folder)
        return folder

    def outcome(self, output):
        files = tree(self.out) if self.out.is_dir() else {}
        return facts(output), files

    def clear(self):
        for path in list(self.work.iterdir()):
            if path.name not in ("sound", "input"):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def case(self, _, rng):
        """(verdict, what was done, output) of one case."""
        original = rng.choice(self.originals)
        command = rng.choice(self.commands())
        shutil.rmtree(self.input, ignore_errors=True)
        shutil.copytree(self.sound(original), self.input)
        key = (original, tuple(map(str, command)))
        if key not in self.known:
            done = self.reprise(*command)
            if done.code in (2, 3) and self.may_refuse_sound:
                return "clean error", f"nothing, then {command}", done.output
            if done.code not in (0, 1):
                return "crash", f"nothing, then {command}", f"the sound input fails with {done.code}: {done.output}"
            self.known[key] = (self.outcome(done.stdout), notes(done.stdout))
            self.clear()
        did = f"{self.damage(self.input, rng)}, then {' '.join(map(str, command))}"
        done = self.reprise(*command)
        verdict = self.judge(done, *self.known[key], "--json" in command)
        self.clear()
        return verdict, did, done.output

    def judge(self, done, sound_outcome, sound_notes, is_json):
        plain = child.verdict_of(done)
        if plain:
            return plain
        if any(".tmp" in path.name for path in self.work.iterdir()) or (
                done.code > 1 and self.out.exists()):
            return "left behind"
        if done.code > 1:
            return "clean error" if "reprise: " in done.output else "crash"
        if is_json and not child.is_json(done.stdout):
            return "raw text"
        if self.outcome(done.stdout) == sound_outcome:
            return "same result"
        if not self.checks_content or "note:" in done.output or notes(done.stdout) != sound_notes:
            return "accounted"
        return "different result"


class Capture(Damaged):
    name = "capture"
    checks_content = False

    def make(self, original, to):
        shutil.copytree(TRACES / original, to)

    def damage(self, folder, rng):
        choice = rng.random()
        if choice < 0.55:
            return mutate(folder, rng)
        if choice < 0.7:
            return special(folder, rng)
        if choice < 0.72:
            return bomb(folder, rng)
        if choice < 0.86:
            return self.swap(folder, rng)
        return self.change(folder, rng)

    @staticmethod
    def swap(folder, rng):
        """A file of another rank or of another capture."""
        files = sorted(folder.glob("rank*.json.gz"))
        target = rng.choice(files)
        kind = target.name.split(".", 1)[1]
        others = [path for capture in CAPTURES + ["gloo/gpt_ddp4"] for path in (TRACES / capture).glob(f"rank*.{kind}")]
        source = rng.choice([path for path in others if path.read_bytes() != target.read_bytes()])
        shutil.copy(source, target)
        return f"{source.parent.name}/{source.name} as {target.name}"

    @staticmethod
    def change(folder, rng):
        path = rng.choice(sorted(folder.glob("rank*.json.gz")))
        value = json.loads(gzip.decompress(path.read_bytes()))
        key = rng.choice(["pid", "baseTimeNanoseconds", "host_name", "distributedInfo", "schema", "names", "start_ts", "time"])
        if key == "names":
            for event in value.get("traceEvents", value.get("nodes", [])):
                if "name" in event and rng.random() < 0.2:
                    event["name"] = event["name"] + HOSTILE
        else:
            value[key] = rng.choice([0, -1, 2**63 - 1, 2**63, "5", None, [], {}, HOSTILE, 1e300, {"rank": 7, "world_size": -3}])
        path.write_bytes(gzip.compress(json.dumps(value).encode(), 1))
        return f"{key} of {path.name}"

    def commands(self):
        return [["convert", self.input, "-o", self.out, "--strict"]]


class TraceSet(Damaged):
    name = "set"

    def make(self, original, to):
        self.made("convert", TRACES / original, "-o", to, "--name", "t")

    def damage(self, folder, rng):
        # As of earlier versions, which had no checksums: only the formats themselves can show damage then.
        self.checks_content = not (folder / "checksums.xxh128").exists() or rng.random() < 0.5
        if not self.checks_content:
            (folder / "checksums.xxh128").unlink()
        return special(folder, rng) if rng.random() < 0.2 else mutate(folder, rng)

    def commands(self):
        return [["simulate", self.input, "--machine", "recorded", "-o", self.out, "--json"]]

    def outcome(self, output):
        return facts(output), {}


class ReportedSet(TraceSet):
    name = "report"

    def commands(self):
        return [["report", self.input, "--json"], ["report", self.input, "--full"], ["stats", self.input, "--json"]]


class Package(TraceSet):
    name = "package"

    def make(self, original, to):
        to.mkdir()
        self.made("convert", TRACES / original, "-o", self.work / "t", "--name", "t")
        self.made("pack", self.work / "t", "-o", to / "a.reprise", "--not-anonymized")
        shutil.rmtree(self.work / "t")

    def commands(self):
        return [["unpack", self.input / "a.reprise", "-o", self.out]]

    def outcome(self, output):
        return Damaged.outcome(self, output)


class Run(TraceSet):
    name = "run"
    originals = ["recorded", "modelled", "replayed", "monitored"]

    def make(self, original, to):
        trace = self.work / "t"
        if original == "modelled":
            job = self.work / "job.json"
            job.write_text(json.dumps({"model": {"family": "gpt", "layers": 2, "hidden": 8, "heads": 2, "vocab": 16, "sequence": 4},
                                       "layout": {"tp": 2, "pp": 2, "dp": 2}, "batch": {"global": 4, "micro": 1}}))
            self.made("generate", job, "-o", trace)
            self.made("simulate", trace, "--machine", "h100-hgx", "-o", to)
        elif original == "monitored":
            self.made("monitor", "-o", to, "--duration", "0.3", "--sample-period", "20")
        else:
            self.made("convert", TRACES / "quickstart", "-o", trace)
            self.made(*(["simulate", trace, "--machine", "recorded", "-o", to] if original == "recorded" else
                        ["replay", trace, "-o", to, "--device", "host", "--ranks-per-process", "2", "--idle", "0", "--iterations", "2",
                         "--quiet"]))
        shutil.rmtree(trace, ignore_errors=True)

    def commands(self):
        return [["report", self.input, "--json"]]


class RunValues(Run):
    """Right SQLite and JSON with wrong values, which every reader checks: no checksums show them."""
    name = "values"
    may_refuse_sound = True  # a monitored run has no operations, and the others have no telemetry

    def commands(self):
        out = self.out
        return [["report", self.input, "--json"], ["report", self.input, "--full"], ["report", self.input, "-o", f"{out}.html"],
                ["compare", f"a={self.input}", f"b={self.input}", "--json", "--allow", "mode"],
                ["compare", f"a={self.input}", f"b={self.input}", "-o", f"{out}.html"], ["compare", self.input, "--json"],
                ["export", self.input, "--to", "perfetto", "-o", out], ["export", self.input, "--to", "csv", "-o", out],
                ["audit", self.input, "--json"]]

    def damage(self, folder, rng):
        self.checks_content = False
        (folder / "checksums.xxh128").unlink()
        return "; ".join(self.change(folder, rng) for _ in range(rng.choice([1, 1, 1, 3])))

    def change(self, folder, rng):
        file = rng.choice(sorted(folder.glob("*.sqlite")))
        if rng.random() < 0.1:
            return self.change_manifest(folder / "manifest.json", rng)
        with sqlite3.connect(file) as database:
            tables = [(name, rows) for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                      for rows, in database.execute(f"SELECT count(*) FROM {name}") if rows]
            table = rng.choice(tables)[0]
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            # Facts are texts, of which each is another value.
            column = "value" if table == "facts" and rng.random() < 0.8 else rng.choice(columns)
            row, = rng.choice(database.execute(f"SELECT rowid FROM {table}").fetchall())
            where = rng.choice(["", f" WHERE rowid = {row}", f" WHERE rowid = {row}", f" WHERE rowid >= {row}"])
            try:
                done = self.change_rows(database, table, column, where, rng)
            except sqlite3.IntegrityError as error:
                done = f"refused by SQLite: {error}"
            wrong = database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()
        database.close()
        return f"{file.name} {done}{'' if wrong else ', now empty'}"

    @staticmethod
    def change_rows(database, table, column, where, rng):
        kind = rng.random()
        if kind < 0.06:
            database.execute(f"DELETE FROM {table}{where}")
            return f"DELETE FROM {table}{where}"
        if kind < 0.12:
            database.execute(f"INSERT INTO {table} SELECT * FROM {table}{where}")
            return f"doubled {table}{where}"
        if kind < 0.25:
            change = rng.choice(["-{}", "{} + 1", "{} * 1000000", "{} * 1e18", "cast({} AS TEXT)", "cast({} AS REAL)", "cast({} AS BLOB)"])
            database.execute(f"UPDATE {table} SET {column} = {change.format(column)}{where}")
            return f"UPDATE {table} SET {column} = {change.format(column)}{where}"
        value = rng.choice([None, -1, 0, 1, 2, 7, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -2**63, 10**15, -10**15, 1e308, -1e308,
                            5e-324, 0.5, float("inf"), float("-inf"), "", "x", "-1", "nan", "inf", HOSTILE, "9" * 400, "1,2,3", "[1,2]",
                            "0 0 0; 9 9 9", "9223372036854775807 -9223372036854775808 1", "x" * 100_000, b"\xff\x00\xfe"])
        if rng.random() < 0.2:
            value = rng.choice(database.execute(f"SELECT {column} FROM {table}").fetchall())[0]
        database.execute(f"UPDATE {table} SET {column} = ?{where}", (value,))
        return f"UPDATE {table} SET {column} = {value!r:.60}{where}"

    @staticmethod
    def change_manifest(path, rng):
        value = json.loads(path.read_text())
        key = rng.choice(sorted(value))
        value[key] = rng.choice([None, -1, 0, 2**31 - 1, 2**63, 1e300, "", HOSTILE, [], {}, [HOSTILE] * 3, {HOSTILE: HOSTILE}, True, "none",
                                 {"mode": "monitor"}, {"mode": "recorded"}, {"mode": HOSTILE}])
        path.write_text(json.dumps(value))
        return f"{key} of the manifest = {value[key]!r:.60}"


def facts(output):
    """Of JSON with times and paths of the moment: what a damaged input could change."""
    try:
        value = json.loads(output)
    except ValueError:
        return output
    drop = {"command", "started_at", "run", "path", "directory", "recorded_at", "name", "notes"}

    def clean(item):
        if isinstance(item, dict):
            return {k: clean(v) for k, v in item.items() if k not in drop}
        return [clean(v) for v in item] if isinstance(item, list) else item
    return json.dumps(clean(value), sort_keys=True)


def notes(output):
    """What a report says that it found odd."""
    try:
        value = json.loads(output)
        return value.get("notes", []), value.get("missing_ranks", "")
    except (ValueError, AttributeError):
        return output[output.find("\nNotes\n"):], [line for line in output.splitlines() if "note:" in line]
