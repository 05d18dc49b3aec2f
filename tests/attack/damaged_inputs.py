"""Kinds of input that are damaged as files, or in their values: captures, trace sets, runs, packages."""
import gzip
import json
import pickle
import shutil
import sqlite3

import child
import flight_recorder_dump
import nccl_inspector_log
from mutations import bomb, mutate, special
from nsight_export import write_pair
from rocprof_results import write_database, write_json, write_member
import wire
import xla_profile

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


class Export(Damaged):
    """Of Nsight Systems, rocprofv3 or JAX: damaged as a file, or right SQLite, JSON or protobuf with wrong values."""
    name = "export"
    originals = ["nsight", "rocpd", "rocpd beside", "rocprof json", "xla gpus", "xla tpus", "xla cpus"]
    checks_content = False

    def make(self, original, to):
        to.mkdir()
        pair = [write_member(rank) for rank in (0, 1)]
        if original == "nsight":
            write_pair(to / "job.db")
        elif original.startswith("xla"):
            write = {"xla gpus": xla_profile.gpu_host, "xla tpus": lambda: xla_profile.tpu_host("host", 4, own_line=False),
                     "xla cpus": xla_profile.cpu_host}[original]
            (to / "job.db").write_bytes(write())
        elif original == "rocprof json":
            write_json(to / "job.db", *pair)  # its content says what it is
        else:
            write_database(to / "job.db", *pair, moved=original == "rocpd beside")

    def damage(self, folder, rng):
        path = folder / "job.db"
        if rng.random() < 0.3:
            return mutate(folder, rng)
        data = path.read_bytes()
        change = change_database if data.startswith(b"SQLite") else change_json if data.startswith(b"{") else change_message
        return change(path, rng)

    def commands(self):
        return [["convert", self.input / "job.db", "-o", self.out, "--strict"], ["convert", self.input, "-o", self.out]]


def ask_for_much(path, rng):
    """A pickle that a few bytes make deep, long or endless."""
    kind = rng.choice(["deep", "loop", "bomb", "length", "call", "memo"])
    many = rng.randrange(10, 200_000)
    path.write_bytes(b"\x80\x02" + {
        "deep": b"]" * many + b"a" * (many - 1),
        "loop": b"}q\0X\7\0\0\0entries]q\1(h\0h\1es",
        "bomb": b"}X\7\0\0\0entries]K\1a" + b"".join(b"q%c](h%ch%ce" % (i, i, i) for i in range(60)) + b"s",
        "length": b"X" + rng.randbytes(4) + b"a",
        "call": b"cos\nsystem\n(X\4\0\0\0exittR",
        "memo": b"".join(b"Nr" + rng.randbytes(4) for _ in range(many)) + b"j" + rng.randbytes(4),
    }[kind] + b".")
    return f"a pickle: {kind}, {many}"


def change_dump(path, rng):
    """A dump with a wrong value somewhere."""
    value = pickle.loads(path.read_bytes())
    entry = rng.choice(value["entries"])
    odd = rng.choice([None, -1, 1 << 62, float("nan"), HOSTILE, [], {}, [[[]]], "1" * 400, True])
    place = rng.choice([entry, entry, entry, value, rng.choice(list(value["pg_config"].values()))])
    key = rng.choice(sorted(place))
    place[key] = odd
    path.write_bytes(pickle.dumps(value, rng.randrange(2, 6)))
    return f"{path.name}: {key} is {odd!r:.40}"


class Recorder(Damaged):
    """Dumps of PyTorch's flight recorder: damaged as files, with wrong values, or made to take time and memory."""
    name = "recorder"
    originals = ["pickled", "json"]
    checks_content = False

    def make(self, original, to):
        flight_recorder_dump.write_job(to, original)

    def damage(self, folder, rng):
        path = rng.choice(sorted(folder.iterdir()))
        choice = rng.random()
        if choice < 0.15:
            return ask_for_much(path, rng)
        if choice < 0.6 and not path.name.endswith(".json"):
            return change_dump(path, rng)
        return mutate(folder, rng)

    def commands(self):
        return [["convert", self.input, "-o", self.out], ["convert", self.input, "-o", self.out, "--json"],
                ["convert", self.input, "-o", self.out, "--format", "flight_recorder"]]


class Inspector(Damaged):
    """Files of NCCL's Inspector: damaged as files, or with wrong values."""
    name = "inspector"
    originals = ["4.0", "4.2", "4.4"]
    checks_content = False

    def make(self, original, to):
        nccl_inspector_log.write_job(to, version=original, verbose=original == "4.2")

    def damage(self, folder, rng):
        path = rng.choice(sorted(folder.iterdir()))
        if rng.random() < 0.4:
            return mutate(folder, rng)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        part = rng.choice(list(rng.choice(lines).values()))
        odd = rng.choice([None, -1, 1 << 62, 1e300, HOSTILE, [], {}, [[[]]], "1" * 400, True, 0])
        key = rng.choice(sorted(part))
        part[key] = odd
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return f"{path.name}: {key} is {odd!r:.40}"

    def commands(self):
        return [["convert", self.input, "-o", self.out], ["convert", self.input, "-o", self.out, "--json"],
                ["convert", self.input, "-o", self.out, "--strict"]]


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


class RescaledSet(TraceSet):
    name = "rescale"
    originals = ["gloo/gpt_ddp4", "gloo_comms/gpt_fsdp4"]

    def commands(self):
        return [["rescale", self.input, "--dp", "8", "-o", self.out, "--json"]]


class PipelineSet(TraceSet):
    name = "micro_batches"
    originals = ["gloo_comms/gpt_pp2_micro4"]

    def commands(self):
        return [["rescale", self.input, "--micro-batches", "7", "-o", self.out, "--json"]]


class TransformedSet(TraceSet):
    name = "transform"
    originals = ["gloo/gpt_ddp4", "gloo_comms/gpt_fsdp4"]

    def commands(self):
        rules = ["class=norm => remove", "class=comm => alone", "class=gemm => scale 0.5", "class=gemm => serialise"]
        return [["transform", self.input, "-o", self.out, "--json"] + [word for rule in rules for word in ("--rule", rule)]]


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
        return change_database(file, rng)

    @staticmethod
    def change_manifest(path, rng):
        value = json.loads(path.read_text())
        key = rng.choice(sorted(value))
        value[key] = rng.choice([None, -1, 0, 2**31 - 1, 2**63, 1e300, "", HOSTILE, [], {}, [HOSTILE] * 3, {HOSTILE: HOSTILE}, True, "none",
                                 {"mode": "monitor"}, {"mode": "recorded"}, {"mode": HOSTILE}])
        path.write_text(json.dumps(value))
        return f"{key} of the manifest = {value[key]!r:.60}"


def change_json(file, rng):
    """One wrong value, or a member that is not there, somewhere in a JSON file."""
    root = json.loads(file.read_text())
    inner, path = root, []
    while True:
        keys = sorted(inner) if isinstance(inner, dict) else range(len(inner))
        key = rng.choice(keys)
        path.append(key)
        if not isinstance(inner[key], (dict, list)) or not inner[key] or rng.random() < 0.1:
            break
        inner = inner[key]
    if rng.random() < 0.15:
        del inner[key]
        done = "removed"
    else:
        inner[key] = rng.choice([None, -1, 0, 1, 2, 7, 2**31, 2**53, 2**63 - 1, 2**63, -2**63, 2**64, 10**15, 1e308, 0.5, True, "", "5", HOSTILE, [],
                                 {}, [[]] * 3, {"handle": -1}, {"handle": 2**64 - 1}])
        done = f"= {inner[key]!r:.60}"
    file.write_text(json.dumps(root))
    return f"{file.name}: {'/'.join(map(str, path))} {done}"


def changed_message(data, rng, path):
    """The message with one field, of it or of a message within it, that is another, there again, or not there."""
    fields = list(wire.fields(data))
    at = rng.randrange(len(fields))
    number, value = fields[at]
    path.append(number)
    try:
        inner = changed_message(value, rng, path) if isinstance(value, bytes) and value and rng.random() < 0.9 else None
    except (IndexError, ValueError):  # a text
        inner = None
    if inner is not None:
        fields[at] = number, inner
    elif rng.random() < 0.3:
        fields[at:at + 1] = rng.choice([[], [fields[at]] * 3, [(rng.randrange(1, 100), value)]])
    else:
        fields[at] = number, rng.choice([0, 1, 7, 2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1, b"", HOSTILE.encode(), b"\xff" * 20,
                                         b"%a = f32[8] all-reduce(f32[8] %b), replica_groups=[9,9]<=[81]", bytes(rng.randrange(256) for _ in range(9))])
    return b"".join(wire.field(key, content) for key, content in fields)


def change_message(file, rng):
    """One wrong field somewhere in a file of protobuf."""
    path = []
    file.write_bytes(changed_message(file.read_bytes(), rng, path))
    return f"{file.name}: field {'/'.join(map(str, path))}"


def change_database(file, rng):
    """One wrong value, or rows that are too few or too many, in one table of an SQLite file."""
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
            done = change_rows(database, table, column, where, rng)
        except sqlite3.IntegrityError as error:
            done = f"refused by SQLite: {error}"
        wrong = database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()
    database.close()
    return f"{file.name} {done}{'' if wrong else ', now empty'}"


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
