"""Tables of measured training steps, the workloads that they describe, and what the program predicts of them.

Every predicted time is `step_time_ns` of `reprise simulate` on a set of `reprise generate`. Sets and times are kept in a folder
while a script runs (or longer, `--cache`), because a fit simulates each row many times.
"""
import copy
import csv
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

# GPT-2's, which the tables' authors use; Megatron-LM pads it.
VOCABULARY = 50257


def padded_vocabulary(tp, vocabulary=VOCABULARY):
    block = 128 * tp
    return (vocabulary + block - 1) // block * block


def read_rows(path):
    """Rows of a table as dictionaries of numbers."""
    rows = []
    with open(path, newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.DictReader(line for line in file if not line.startswith("#")), start=2):
            numbers = {}
            for key, text in row.items():
                value = float(text)
                numbers[key] = int(value) if value.is_integer() and not key.endswith("_ms") else value
            rows.append({**numbers, "line": line})
    return rows


def micro_batches(row):
    return row["global_batch"] // (row["dp"] * row["micro_batch"])


def name_of(row):
    return (f"{row['gpus']} GPUs, h{row['hidden']} L{row['layers']}, tp{row['tp']} dp{row['dp']} pp{row['pp']}, "
            f"micro-batch {row['micro_batch']} of {row['global_batch']}")


def workload(row, steps=None, layers=None, synchronize=False):
    """The description that a row's columns give, or with other micro-batches and layers."""
    steps = steps or micro_batches(row)
    heads = row["heads"] // row["tp"]
    # Megatron's fused softmax masks, too; it refuses batches of scores that are no multiple of 4.
    fused_mask = heads * row["micro_batch"] % 4 == 0
    return {
        "model": {"family": "gpt", "layers": layers or row["layers"], "hidden": row["hidden"], "heads": row["heads"],
                  "kv_heads": row["heads"], "ffn": 4 * row["hidden"], "gated_ffn": False,
                  "vocab": padded_vocabulary(row["tp"], row.get("vocabulary", VOCABULARY)),
                  "sequence": row["sequence"], "dtype": "float16", "fused_attention": False,
                  "causal": not fused_mask, "dropout": 0.1},
        "layout": {"tp": row["tp"], "pp": row["pp"], "dp": row["dp"], "scatter_gather": True},
        "batch": {"global": steps * row["dp"] * row["micro_batch"], "micro": row["micro_batch"]},
        "schedule": f"interleaved:{row['virtual']}" if row.get("virtual", 1) > 1 else "1f1b",
        "recompute": "full", "gradient_dtype": "float16", "overlap": [], "optimizer": "adam",
        "synchronize": synchronize}


def step_flops(row):
    """Executed FLOPs of a GPT's step with full recomputation (arXiv 2104.04473, equation 3)."""
    h, layers, s = row["hidden"], row["layers"], row["sequence"]
    vocabulary = row.get("vocabulary", VOCABULARY)
    return 96 * row["global_batch"] * s * layers * h * h * (1 + s / (6 * h) + vocabulary / (16 * layers * h))


def set_number(machine, path, value, reference):
    """Of a machine as JSON, the number at a path; a time in us, a ratio without unit."""
    if path.startswith("device.efficiency."):  # a class's own rate would stand instead, as with --set
        of_class = machine["device"].get("classes", {}).get(path.rsplit(".", 1)[1], {})
        for rates in (of_class, *of_class.get("types", {}).values()):
            rates.pop("rate", None)
    at = machine
    *outer, last = path.split(".")
    for part in outer:
        at = at.setdefault(part, {})
    unit = at[last]["unit"] if last in at else "us" if last == "start" else "1"
    at[last] = {**at.get(last, {}), "value": float(f"{value:.6g}"), "unit": unit, "source": "fitted",
                "reference": reference}


class Predictor:
    """Runs the program. Sets are generated once; the same set on the same numbers is simulated once."""

    def __init__(self, binary, machine="a100-hgx", folder=None, jobs=2, launch_bound=False):
        self.binary = str(binary)
        self.launch_bound = launch_bound
        self.jobs = jobs
        self.temporary = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="reprise_steps_"))
        self.folder.mkdir(parents=True, exist_ok=True)
        machines = self.run(["list", "machines", "--json"])["machines"]
        self.machine = next(entry for entry in machines if entry["name"] == machine)
        stat = os.stat(self.binary)
        self.build = f"{stat.st_size}.{stat.st_mtime_ns}"
        self.known_file = self.folder / "times.json"
        self.known = json.loads(self.known_file.read_text()) if self.known_file.exists() else {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, arguments):
        done = subprocess.run([self.binary, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join([self.binary, *arguments])}: exit code {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def with_numbers(self, numbers, reference="tried in a fit"):
        machine = copy.deepcopy(self.machine)
        machine["calibration"] = {"on": reference}  # so that no software stack changes the numbers
        for path, value in numbers.items():
            set_number(machine, path, value, reference)
        return machine

    def set_of(self, description):
        text = json.dumps(description, sort_keys=True)
        name = hashlib.sha256((text + self.build).encode()).hexdigest()[:20]
        path = self.folder / name
        if not path.exists():
            (self.folder / f"{name}.json").write_text(text)
            part = f"{path}.{os.getpid()}.part"
            self.run(["generate", f"{path}.json", "-o", part, "--name", "job", "--force", "--json"])
            try:
                os.replace(part, path)
            except OSError:
                shutil.rmtree(part)  # another thread was faster
        return path

    def simulate(self, description, machine):
        """The JSON object of `simulate` for a description on a machine."""
        text = json.dumps(machine, sort_keys=True)
        machine_file = self.folder / f"machine.{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"
        key = json.dumps([description, machine_file.name, self.build], sort_keys=True)
        key = hashlib.sha256(key.encode()).hexdigest()
        if key not in self.known:
            trace = self.set_of(description)
            with tempfile.TemporaryDirectory(prefix="run_", dir=self.folder) as run:
                if not machine_file.exists():
                    part = pathlib.Path(run) / machine_file.name
                    part.write_text(text)
                    os.replace(part, machine_file)  # whole at once: other threads simulate on the same machine
                self.known[key] = self.run(["simulate", str(trace), "-o", f"{run}/run", "--machine",
                                            str(machine_file), "--json"])
        return self.known[key]

    def predict(self, rows, machine, whole=True):
        """Step times in ms. Not `whole`: each from four short steps of few layers, extended in both."""
        plans = [[(None, None, 1)] if whole else extension(row, self.launch_bound) for row in rows]
        pairs = [(workload(row, count, layers, self.launch_bound), machine)
                 for row, plan in zip(rows, plans) for count, layers, _ in plan]
        each = {json.dumps(description, sort_keys=True): description for description, _ in pairs}
        with ThreadPoolExecutor(self.jobs) as pool:  # rows share short steps
            list(pool.map(lambda description: self.simulate(description, machine), each.values()))
        done = [self.simulate(description, machine)["step_time_ns"] / 1e6 for description, _ in pairs]
        temporary = self.known_file.with_suffix(".part")
        temporary.write_text(json.dumps(self.known))
        os.replace(temporary, self.known_file)
        times = iter(done)
        return [sum(weight * next(times) for _, _, weight in plan) for plan in plans]


def extension(row, launch_bound=False):
    """Micro-batches, layers and weight of short steps whose sum is the row's step where that grows evenly with both.

    Where launches bound some passes, it does so from two layers a stage on.
    """
    counts, layers = micro_batches(row), row["layers"]
    virtual = row.get("virtual", 1)
    few = min(counts, row["pp"])
    some = row["pp"] * virtual * (2 if launch_bound else 1)
    more = row["pp"] if virtual > 1 else 1  # interleaved: micro-batches come in groups of pp

    def weights(whole, at):
        if whole <= at[1]:
            return [(whole, 1.0)]
        share = (whole - at[0]) / (at[1] - at[0])
        return [(at[0], 1 - share), (at[1], share)]

    return [(count, layer, a * b) for count, a in weights(counts, (few, few + more))
            for layer, b in weights(layers, (some, some + row["pp"] * virtual))]
