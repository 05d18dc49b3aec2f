"""Random small jobs as folded and as expanded sets: their simulations are equal."""
import json
import math
import shutil

import child

EQUAL = ["step_time_ns", "ranks", "exposed_communication_ns", "bubble_ns", "device_time_ns", "linked_device_time_ns", "memory",
         "unknown_share", "default_share"]


def job_of(rng):
    """(description, options of generate): not all of them can be."""
    pick = rng.choice
    tp, pp, dp, cp = pick([1, 1, 2, 4]), pick([1, 1, 2, 3, 4]), pick([1, 2, 3, 4]), pick([1, 1, 1, 2])
    family = pick(["gpt", "llama", "llama", "mixtral", "mixtral", "vit", "dit"])
    pp = 1 if family == "dit" else pp
    schedule = pick(["gpipe", "1f1b", "zb-h1", "zb-v", "dualpipe-v", "interleaved:2"]) if pp > 1 else None
    chunks = 2 if schedule in ("interleaved:2", "zb-v", "dualpipe-v") else 1
    model = {"family": family, "layers": pp * chunks * pick([1, 2, 3]), "hidden": 16 * tp, "heads": 4 * tp}
    if family in ("vit", "dit"):
        cp = 1
        model |= {"image": 8, "patch": 4, "channels": 3, "classes": 8 * tp}
    else:
        model |= {"vocab": 16 * tp, "sequence": 8 * cp * tp}
    ep, etp = 1, None
    if family == "mixtral":
        ep = pick([n for n in (1, 2, 3, 4) if dp % n == 0])
        model |= {"experts": ep * pick([1, 2]), "top_k": 1}
        etp = pick([None, None, 1, 2])
    micro, passes = pick([1, 1, 2]), pick([1, 2, 3, 4]) if chunks == 1 else pp * pick([1, 2])
    options = ["--tp", tp, "--pp", pp, "--dp", dp, "--cp", cp, "--ep", ep, "--micro-batch", micro,
               "--global-batch", micro * passes * dp, "--steps", pick([1, 1, 1, 2])]
    options += ["--schedule", schedule] if schedule else []
    options += ["--etp", etp] if etp else []
    options += ["--cp-comm-type", pick(["p2p", "all_gather", "a2a"])] if cp > 1 else []
    options += ["--sp"] if tp > 1 and rng.random() < 0.4 else []
    options += pick([[], [], ["--fsdp"], ["--distributed-optimizer"]])
    options += ["--recompute", pick(["none", "selective", "full"])] if rng.random() < 0.4 else []
    options += ["--overlap", pick(["none"] + ["tp"] * (tp > 1) + ["grad"] * (dp > 1))] if rng.random() < 0.4 else []
    options += ["--dtype", pick(["bfloat16", "float16", "float32"])] if rng.random() < 0.3 else []
    return {"model": model, "layout": {}, "batch": {"global": dp * micro, "micro": micro}}, options


def machine_of(rng, ranks):
    options = ["--machine", rng.choice(["h100-hgx", "h100-study", "mi250-study", "a100-hgx"])]
    options += ["--network", "flow"] if rng.random() < 0.3 else []
    options += ["--slow", f"{rng.randrange(ranks)}=1.3"] if rng.random() < 0.3 else []
    options += ["--power-limit", "350W"] if rng.random() < 0.2 else []
    return options


class Layouts:
    name = "layouts"

    def __init__(self, program, work, rng):
        self.program, self.folder = program, work / self.name
        self.folder.mkdir()

    def run(self, *arguments):
        return child.run([self.program, *arguments], child.GRACE_S, cwd=self.folder)

    def case(self, _, rng):
        job, options = job_of(rng)
        (self.folder / "job.json").write_text(json.dumps(job))
        for path in ("folded", "expanded", "run_folded", "run_expanded"):
            shutil.rmtree(self.folder / path, ignore_errors=True)
        did = f"{json.dumps(job['model'])} {' '.join(map(str, options))}"
        made = [self.run("generate", "job.json", *options, "-o", "folded"),
                self.run("generate", "job.json", *options, "--expand", "-o", "expanded")]
        for done in made:
            if child.verdict_of(done):
                return child.verdict_of(done), did, done.output
        if made[0].code != made[1].code:
            return "different result", did, f"{made[0].output} {made[1].output}"
        if made[0].code:
            return "clean error", did, made[0].output
        ranks = math.prod(int(options[options.index(flag) + 1]) for flag in ("--tp", "--pp", "--dp", "--cp"))
        machine = machine_of(rng, ranks)
        did += f" {' '.join(machine)}"
        results = []
        for kind in ("folded", "expanded"):
            done = self.run("simulate", kind, *machine, "-o", f"run_{kind}", "--json")
            report = self.run("report", f"run_{kind}", "--json") if done.code == 0 else done
            for one in (done, report):
                if child.verdict_of(one):
                    return child.verdict_of(one), did, one.output
            results.append(outcome(done, report))
        if "refused" in results[0] and results[0] == results[1]:
            return "clean error", did, results[0]["refused"]
        differ = {key: (results[0].get(key), results[1].get(key)) for key in results[0] if not near(results[0].get(key), results[1].get(key))}
        return ("different result" if differ else "same result"), did, str(differ)


def outcome(done, report):
    if done.code or report.code:
        return {"refused": done.output + report.output}
    result, values = json.loads(done.stdout), json.loads(report.stdout)
    found = {key: result.get(key) for key in EQUAL} | {"power": result["power"] and result["power"]["joules"]}
    found["step of the report"] = values["step_time_replayed_ns"]
    found["classes"] = {row["name"]: {key: row[key] for key in ("count", "flops", "bytes", "replayed_ns")} for row in values["classes"]}
    found["phases"] = {row["name"]: {key: row[key] for key in ("count", "flops", "bytes")} for row in values["phases"]}
    found["bytes of transfers"] = sum(row["bytes"] * row["count"] for row in values["collectives"])
    found["ranks of the report"] = sum(row["alike"] for row in values["ranks"])
    if found["memory"]:
        for group in found["memory"].get("classes", []):
            group.pop("first_rank", None)
    return found


def near(a, b):
    """Equal; sums of reals may be added up in another order."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9)
    return a == b
