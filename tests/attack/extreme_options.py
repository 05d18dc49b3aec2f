"""Every option and argument of every command, as the program lists them, with values that no job needs."""
import json
import re
import shutil
import subprocess
import typing

import child

VALUES = ["nan", "inf", "-inf", "1e300", "1e-300", "1e12", "0", "-1", "-0", "2147483648", "4294967296", "9223372036854775808",
          "18446744073709551616", "", "x" * 60_000, "\x1b]0;owned\x07\r\n\u202e\x7f\udcff", "9" * 400]
JOB = {"model": {"family": "mixtral", "layers": 2, "hidden": 8, "heads": 2, "vocab": 16, "sequence": 4, "experts": 2, "top_k": 1},
       "layout": {"tp": 2, "pp": 2, "dp": 1}, "batch": {"global": 2, "micro": 1}}
# These run as long as the user says: Ctrl-C must end them.
LASTING = {"reprise replay", "reprise monitor", "reprise bench collectives", "reprise bench kernels", "reprise tune",
           "reprise machine measure"}
# A sound call of each command, so that an extreme value is all that is wrong with it. Several where options exclude each other.
SOUND = {
    "reprise": [{}],
    "reprise convert": [{"CAPTURE": "capture", "--output": "out"}, {"CAPTURE": "text.txt", "--output": "out", "--ranks": "2"},
                        {"--host-trace": "capture/rank0.et.json.gz", "--device-trace": "capture/rank0.kineto.json.gz",
                         "--output": "out.et"}],
    "reprise anonymize": [{"SET": "set", "--output": "out"}],
    "reprise audit": [{"SET": "set"}, {"SET": "run"}],
    "reprise pack": [{"SET": "set", "--output": "out", "--not-anonymized": None}],
    "reprise unpack": [{"PACKAGE": "set.reprise", "--output": "out"}],
    "reprise generate": [{"JOB": "job.json", "--output": "out"}],
    "reprise rescale": [{"SET": "replicas", "--dp": "4", "--output": "out"},
                        {"SET": "pipeline", "--micro-batches": "6", "--output": "out"},
                        {"SET": "layers", "--layers": "8", "--output": "out"},
                        {"SET": "tensors", "--tp": "4", "--kv-heads": "8", "--output": "out"},
                        {"SET": "experts", "--ep": "4", "--output": "out"}],
    "reprise transform": [{"SET": "set", "--rule": "class=gemm => scale 0.5", "--output": "out"}],
    "reprise validate": [{"SET": "set"}],
    "reprise stats": [{"SET": "set"}],
    "reprise export": [{"SET": "set", "--to": "json", "--output": "out"}, {"SET": "monitored", "--to": "csv", "--output": "out"},
                       {"SET": "run", "--to": "perfetto", "--output": "out"},
                       {"SET": "set", "--to": "astra-sim", "--output": "out"},
                       {"SET": "set", "--to": "astra-sim", "--output": "out", "--mode": "roofline", "--peak-tflops": "1",
                        "--memory-bandwidth": "1"},
                       {"SET": "set", "--to": "goal", "--output": "out", "--algo": "ring", "--place": "0@0-1"},
                       {"SET": "generated", "--to": "goal-text", "--machine": "h100-hgx", "--output": "out"},
                       {"SET": "set", "--to": "dot", "--rank": "0", "--output": "out"}],
    "reprise replay": [{"SET": "set", "--output": "out", "--device": "host", "--ranks": "0", "--iterations": "1", "--idle": "0",
                        "--quiet": None}],
    "reprise simulate": [{"SET": "set", "--machine": "recorded", "--output": "out", "--json": None},
                         {"SET": "generated", "--machine": "h100-hgx", "--output": "out", "--json": None}],
    "reprise predict": [{"JOB": "job.json", "--machine": "h100-hgx", "--json": None},
                        {"JOB": "job.json", "--machine": "h100-hgx", "--ranks": "4", "--json": None}],
    "reprise sweep": [{"JOB": "job.json", "KEYS": "micro-batch=1,2", "--machine": "h100-hgx", "--output": "out"}],
    "reprise calibrate": [{"CAPTURE": "gpu", "--output": "out.json"}],
    "reprise machine": [{}],
    "reprise machine measure": [{"--output": "out.json", "--ranks": "1", "--repeat": "1", "--min-time-ms": "0"}],
    "reprise monitor": [{"--output": "out", "--duration": "0.1"}, {"--output": "out", "COMMAND": "true"},
                        {"--duration": "0.1", "--prometheus": "0"}, {"--duration": "0.1"}],
    "reprise report": [{"RUN": "run"}, {"RUN": "run", "--output": "out.html"}, {"RUN": "set"}],
    "reprise compare": [{"RUN": "run"}, {"RUN": ["a=run", "b=run"], "--output": "out.html"}, {"RUN": ["a=set", "b=set"]}],
    "reprise devices": [{}],
    "reprise list": [{"WHAT": "sources"}, {"WHAT": "machines"}],
    "reprise bench": [{}],
    "reprise bench collectives": [{"COLLECTIVE": "all_reduce", "--minbytes": "1K", "--maxbytes": "1K", "--iters": "1", "--warmup_iters": "0"},
                                  {"COLLECTIVE": "all_reduce", "--minbytes": "1K", "--maxbytes": "1K", "--iters": "1", "--rounds": "1",
                                   "--variants": None}],
    "reprise bench kernels": [{"--device": "host", "--filter": "relu", "--repeat": "1", "--min-time-ms": "0", "--peers": "off"}],
    "reprise tune": [{"--device": "host", "--size": "16", "--repeat": "1", "--min-time-ms": "0", "--output": "out.json"}],
    "reprise man": [{}],
    "reprise completion": [{"SHELL": "bash"}],
}
# How a number is written in an option that takes more than the number; {} is the number.
FORMS = {
    "--slow": ["0={}"], "--link": ["nvlink={}", "nvlink@0={}", "all={}"], "--power-limit": ["{}W"], "--limits": [],
    "--time-scale": ["gemm={}", "comm={}"], "--stretch": ["gemm={}"], "--host-gaps": ["scale:{}"], "--durations": ["grid:{}"],
    "--shapes": ["grid:{}"], "--routing": ["zipf:{}"], "--schedule": ["interleaved:{}"], "--ranks": ["0-{}", "0-3:{}"],
    "--steps": ["0-{}"], "--range": ["x:{}"], "--npus": ["{},2"], "--bandwidth": ["{},1"], "--sample-period": ["5,proc={}"],
    "--algo": ["ring,chunk={}", "ring,channels={}", "ring,node={}", "ring,from={}", "ring,members={}", "ring,hosts={}"], "--device-map": ["0:{}", "{}:0"], "--streams": ["{}/{}"],
    "--staging-chunk": ["{}MiB"], "--fail-if": ["time>{}"], "--memory": ["{}GiB"], "--prometheus": ["127.0.0.1:{}"],
    "--minbytes": ["{}G"], "--chunks": ["{}M"], "KEYS": ["micro-batch={}", "tp=1,{}", "x{}=1"], "RUN": ["a={}", "a=run,{}"],
    "--layers-per-stage": ["{},1"], "--documents": ["{},1"], "--place": ["0@{}", "{}@0-1", "0@0-{}"], "--telemetry-library": ["nvml={}"],
}


class Option(typing.NamedTuple):
    command: str  # "reprise bench kernels"
    name: str     # "--output", or of a positional argument "path"
    value: bool   # takes one


def options_of(program):
    """All that `man --markdown` lists."""
    manual = subprocess.run([program, "man", "--markdown"], capture_output=True, text=True, check=True).stdout
    command, found = None, []
    for line in manual.splitlines():
        heading = re.fullmatch(r"## (reprise.*|Options before the command)", line)
        if line.startswith("## "):
            command = heading and (heading[1] if heading[1].startswith("reprise") else "reprise")
        row = command and re.match(r"\| (`[^|]*?`)((?:[^|`]|\\\|)*)\|", line)
        if row:
            name = re.findall(r"`([^`]*)`", row[1])[-1]
            found.append(Option(command, name, not name.startswith("-") or row[2].strip() != ""))
    return found


def command_line(command, arguments):
    words, positional = command.split()[1:], []
    for name, value in arguments.items():
        if not name.startswith("-"):
            positional += value if isinstance(value, list) else [value]
        else:
            words.append(name if value is None else f"{name}={value}")
    return words + (["--"] if positional == ["true"] else []) + positional


def make_inputs(program, folder):
    """What the sound calls read."""
    folder.mkdir()
    (folder / "job.json").write_text(json.dumps(JOB))
    (folder / "text.txt").write_text("MICRO\n1\nlayer -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1024 5\n")
    shutil.copytree(child.ROOT / "traces/quickstart", folder / "capture")
    for command in (["convert", "capture", "-o", "set"], ["generate", "job.json", "-o", "generated"],
                    ["generate", "job.json", "--dp", "2", "--global-batch", "4", "-o", "replicas"],
                    ["convert", child.ROOT / "traces/gloo_comms/gpt_pp2_micro4", "-o", "pipeline"],
                    ["convert", child.ROOT / "traces/gloo/gpt_layers2", "-o", "layers"],
                    ["convert", child.ROOT / "traces/gloo_comms/gpt_tp2", "-o", "tensors"],
                    ["generate", "qwen3-moe-small", "--dp", "8", "--ep", "2", "--global-batch", "8", "--micro-batch", "1", "-o", "experts"],
                    ["simulate", "set", "--machine", "recorded", "-o", "run"],
                    ["convert", child.ROOT / "traces/h100/resnet50", "-o", "gpu"], ["monitor", "-o", "monitored", "--duration", "0.2"],
                    ["pack", "set", "-o", "set.reprise", "--not-anonymized"]):
        done = child.run([program, *command], child.GRACE_S, cwd=folder)
        assert done.code == 0, (command, done.output)


class Numbers:
    """Cases: one option with one value in one sound call."""
    name = "numbers"

    def __init__(self, program, work, rng):
        self.program, self.folder = program, work / self.name
        make_inputs(program, self.folder)
        self.files = set(map(str, self.folder.rglob("*")))
        self.cases = cases_of(program)
        rng.shuffle(self.cases)

    def case(self, i, _):
        """(verdict, what was done, output)."""
        option, sound, value = self.cases[i % len(self.cases)]
        line = command_line(option.command, {**sound, option.name: value})
        lasts = option.command in LASTING
        done = child.run([self.program, *line], 10 if lasts else child.GRACE_S, 5, self.folder, interrupt=lasts)
        added = self.clear()
        shown = " ".join(word[:60] + "..." * (len(word) > 60) for word in map(repr, line))
        return judge(done, added, lasts), f"{shown}: {done.code}, {done.cpu_seconds:.1f} s", done.output

    def clear(self):
        """Removes what a case wrote; its names."""
        added = sorted(path for path in self.folder.rglob("*") if str(path) not in self.files)
        for path in reversed(added):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        return [str(path.relative_to(self.folder)) for path in added]


def cases_of(program):
    options = options_of(program)
    assert {option.command for option in options} == set(SOUND), "each command needs a sound call"
    known = {(option.command, option.name) for option in options}
    assert all((command, name) in known for command, calls in SOUND.items() for call in calls for name in call), "a sound call is none"
    assert set(FORMS) <= {option.name for option in options}, "a form of an option that is none"
    manual = subprocess.run([program, "man", "--markdown"], capture_output=True, text=True, check=True).stdout
    limits = re.search(r"`--limits`.*with ([a-z_, ]+)", manual)[1].split(", ")
    cases = []
    for option in options:
        forms = ["{}"] + (FORMS.get(option.name, []) if option.name != "--limits" else [f"{name}={{}}" for name in limits])
        values = VALUES if option.value else VALUES[:3] + VALUES[-2:]
        for sound in SOUND[option.command]:
            cases += [(option, sound, form.replace("{}", value)) for form in forms for value in values]
    return cases


def judge(done, added, lasts):
    if lasts and done.code in (-2, 128 + 2):  # Ctrl-C
        return "accounted" if "internal error" not in done.output else "crash"
    if child.verdict_of(done):
        return child.verdict_of(done)
    if done.cpu_seconds > 5:
        return "over budget"
    if (done.code != 0 and added and not (done.code == 1 and added[0].startswith("out"))) or any(".tmp-" in name for name in added):
        return "left behind"
    if done.code > 1:
        too_long = len(done.output) > 20_000 + 2 * max(map(len, VALUES))
        return "crash" if too_long or not done.output.strip() else "clean error"
    return "accounted"


class Worse:
    """A machine, link or rank that is made worse gives no shorter step."""
    name = "worse"

    def __init__(self, program, work, rng):
        self.program, self.folder = program, work / self.name
        self.folder.mkdir()
        (self.folder / "job.json").write_text(json.dumps(JOB))
        listed = subprocess.run([program, "list", "machines", "--json"], capture_output=True, text=True, check=True).stdout
        self.machines = json.loads(listed)["machines"]
        self.steps = {}

    def case(self, _, rng):
        machine = rng.choice(self.machines)
        base = ["predict", rng.choice(["job.json", "gpt-small"]), "--machine", machine["name"], "--json"]
        base += rng.choice([[], ["--network", "flow"], ["--until-steady"]])
        factor = rng.choice([1.001, 1.5, 7.0, 1e3, 1e6, 1e9, 1e12, 1e18, 1e300])
        kind = rng.random()
        if kind < 0.2:
            worse = ["--slow", f"{rng.randrange(4)}={factor!r}"]
        elif kind < 0.4:
            worse = ["--link", f"{rng.choice(sorted(machine['links']))}={1 / factor!r}"]
        elif kind < 0.5:
            worse = ["--power-limit", f"{machine['device']['power']['limit']['value'] / factor!r}W"]
        else:
            path, value = rng.choice(list(numbers_of(machine["device"], "device")))
            grows = any(word in path for word in ("latency", "time", ".start", ".half_", ".waves"))
            worse = ["--set", f"{path}={value * factor if grows else value / factor!r}"]
        if tuple(base) not in self.steps:
            done = child.run([self.program, *base], child.GRACE_S, cwd=self.folder)
            if done.code in (2, 3):  # a machine without temperatures has no steady state
                return "clean error", " ".join(base), done.output
            self.steps[tuple(base)] = json.loads(done.stdout)["step_time_ns"]
        done = child.run([self.program, *base, *worse], child.GRACE_S, cwd=self.folder)
        did = f"{' '.join(base)} {' '.join(worse)}"
        if child.verdict_of(done) or done.code not in (0, 2, 3):
            return child.verdict_of(done) or "crash", did, done.output
        if done.code:
            return "clean error", did, done.output
        before, after = self.steps[tuple(base)], json.loads(done.stdout)["step_time_ns"]
        verdict = "different result" if after < before else "same result" if after == before else "accounted"
        return verdict, f"{did}: {before} ns, then {after} ns", done.output


def numbers_of(value, path):
    """(path, number) of the rates and times of a device that a step takes."""
    for key, item in value.items():
        if isinstance(item, dict) and "value" in item and isinstance(item["value"], (int, float)):
            if key not in ("capacity", "multiprocessors"):  # of fewer, the last wave may be fuller
                yield f"{path}.{key}", item["value"]
        elif isinstance(item, dict) and key not in ("power", "thermal"):
            yield from numbers_of(item, f"{path}.{key}")
