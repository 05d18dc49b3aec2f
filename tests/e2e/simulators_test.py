#!/usr/bin/env python3
"""Sets for simulators: what ASTRA-sim would not take, its export, Chakra's JSON. ASTRA-sim itself is run by hand
(bench/peers/astra_sim.py); here a few lines do what its workload layer does in replay mode."""
import heapq
import json
import sys

import program
from wire import fields, read_varint

CHECK_FAILED, USAGE, BAD_INPUT = 1, 2, 3
SETS = ["gloo/gpt_ddp4", "gloo_comms/gpt_fsdp4", "gloo_comms/gpt_pp4", "gloo_comms/gpt_tp4", "gloo_comms/moe_ep4",
        "gloo_comms/collectives4"]
COMP, SEND, RECV = 4, 5, 6


def numbers(value):
    at = 0
    while at < len(value):
        number, at = read_varint(value, at)
        yield number


def nodes_of(path):
    """Of an .et file: {id: (type, dependencies, microseconds, on the CPU)}."""
    data = path.read_bytes()
    at = 0
    nodes = {}
    while at < len(data):
        size, at = read_varint(data, at)
        message, at = data[at:at + size], at + size
        if size and not nodes and dict(fields(message)).get(3) is None:
            continue  # the header
        node, deps, cpu = {}, set(), False
        for number, value in fields(message):
            if number in (4, 5):
                deps.update(numbers(value))
            elif number == 10:
                parts = dict(fields(value))
                cpu = cpu or (parts[1] == b"is_cpu_op" and parts.get(27, 0) == 1)
            else:
                node[number] = value
        nodes[node[1]] = (node.get(3, 0), deps, node.get(7, 0), cpu)
    return nodes


def replay_ns(nodes):
    """When the last node ends: one node of a unit at a time, of those that are ready the lowest id first."""
    followers, missing, ready, running, busy, now = {}, {}, [], [], set(), 0
    for node, (_, deps, _, _) in nodes.items():
        missing[node] = len(deps)
        for dep in deps:
            followers.setdefault(dep, []).append(node)
        if not deps:
            ready.append(node)

    def unit(node):
        kind, _, _, cpu = nodes[node]
        return "cpu" if cpu else "npu" if kind == COMP else None if kind == RECV else "transfer"

    left = len(nodes)
    while ready or running:
        waiting = []
        for node in sorted(ready):
            if unit(node) in busy:
                waiting.append(node)
                continue
            busy.add(unit(node))
            busy.discard(None)
            heapq.heappush(running, (now + max(nodes[node][2] * 1000, 1), node))
        ready = waiting
        now, node = heapq.heappop(running)
        busy.discard(unit(node))
        left -= 1
        for after in followers.get(node, []):
            missing[after] -= 1
            if missing[after] == 0:
                ready.append(after)
    assert left == 0, f"{left} nodes never start"
    return now


class Simulators(program.ProgramTest):
    def export(self, source, *flags, name="out", expect=0):
        out = self.dir / name
        return out, self.run_program("export", source, "--to", "astra-sim", "-o", out, *flags, expect=expect)

    def test_converted_sets_are_accepted_but_for_kinds_that_it_lacks(self):
        for case in SETS:
            lacks = case.endswith("collectives4")
            done = self.run_program("validate", self.convert(case), "--for", "astra-sim",
                                    expect=CHECK_FAILED if lacks else 0)
            self.assertEqual("simulates no BARRIER" in done.stdout, lacks, done.stdout)

    def test_exports_of_every_set_are_accepted(self):
        for case in SETS:
            trace = self.convert(case)
            out, _ = self.export(trace, name=case.replace("/", "_") + "_network")
            self.run_program("validate", out, "--for", "astra-sim")

    def test_replay_mode_ends_when_the_recording_did(self):
        for case in SETS:
            trace = self.convert(case)
            rows = self.run_json("validate", trace, "--timing")["timing"]
            recorded = {row["rank"]: row["recorded_ns"] for row in rows if row["scope"] == "rank"}
            out, _ = self.export(trace, "--mode", "replay", name=case.replace("/", "_") + "_replay")
            for rank, recorded_ns in recorded.items():
                nodes = nodes_of(next(out.glob(f"*.{rank}.et")))
                self.assertLess(abs(replay_ns(nodes) / recorded_ns - 1), 0.002, f"{case}, rank {rank}")

    def test_files_of_the_machine(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        out, done = self.export(trace, "--topology", "ring,switch", "--npus", "2,2", "--bandwidth", "400,50", "--mode",
                                "roofline", "--peak-tflops", 100, "--memory-bandwidth", 2000)
        self.assertIn("work: ", done.stdout)
        network = (out / "network.yml").read_text()
        self.assertIn("topology: [ Ring, Switch ]", network)
        self.assertIn("bandwidth: [ 400, 50 ]", network)
        self.assertIn("latency: [ 500, 500 ]", network)
        system = json.loads((out / "system.json").read_text())
        self.assertEqual((system["roofline-enabled"], system["replay-only"], system["peak-perf"]), (1, 0, 100))
        self.assertEqual(system["all-reduce-implementation"], ["ring", "ring"])
        self.export(trace, expect=USAGE)  # it exists
        self.export(trace, "--force")
        for flags, text in ((["--npus", 8], "multiply to 8"), (["--topology", "torus"], "torus"),
                            (["--topology", "ring,ring"], "--npus"), (["--mode", "roofline"], "--peak-tflops"),
                            (["--rank", 1], "whole set")):
            _, done = self.export(trace, *flags, name="none", expect=USAGE)
            self.assertIn(text, done.stderr)
            self.assertFalse((self.dir / "none").exists())
        self.export(self.convert("gloo/gpt_single"), name="none", expect=USAGE)

    def test_the_script_counts_ranks_that_finish(self):
        out, _ = self.export(self.convert("gloo_comms/gpt_pp4"))
        simulator = self.dir / "simulator"
        for finished, expect in ((4, 0), (3, CHECK_FAILED)):
            simulator.write_text('#!/bin/sh\necho "$@"\nfor rank in ' + " ".join(map(str, range(finished)))
                                 + "; do echo \"sys[$rank] finished, 7 cycles\"; done\n")
            simulator.chmod(0o755)
            done = program.subprocess.run([out / "run.sh"], capture_output=True, text=True, check=False,
                                          env={**program.ENVIRONMENT, "ASTRA_SIM": str(simulator)})
            self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
            self.assertIn(f"{finished} of 4 ranks finished", done.stdout)
            self.assertIn("--workload-configuration=gpt_pp4 ", done.stdout)

    def test_chakra_json_comes_back_as_it_was(self):
        for case in ("gloo_comms/gpt_pp4", "gloo_comms/moe_ep4"):
            trace = self.convert(case)
            name = trace.name
            self.run_program("export", trace, "--to", "chakra-json", "-o", self.dir / f"{name}_json")
            file = next((self.dir / f"{name}_json").glob("*.1.json"))
            nodes = json.loads(file.read_text())["workload_graph"]
            self.assertEqual(len(nodes), self.run_json("stats", trace)["ranks"][1]["nodes"])
            transfers = [node for node in nodes if node["NodeType"] > COMP]
            for key in ("Id", "Name", "data_deps", "ctrlDeps", "runtime", "is_cpu_op", "comm_size"):
                self.assertIn(key, transfers[0])
            again = self.dir / f"{name}_again"
            self.run_program("convert", self.dir / f"{name}_json", "-o", again)
            for of, to in ((trace, f"{name}_a"), (again, f"{name}_b")):
                self.run_program("export", of, "--to", "json", "-o", self.dir / to)
            self.assertEqual(json.loads((self.dir / f"{name}_a").read_text()),
                             json.loads((self.dir / f"{name}_b").read_text()))
        one = next(trace.glob("*.0.et"))
        self.run_program("export", one, "--to", "chakra-json", "-o", self.dir / "one.json")
        self.run_program("export", one, "--to", "chakra-json", "-o", self.dir / "one.json", expect=USAGE)
        self.run_program("export", self.dir / "one.json", "--to", "chakra-json", "-o", self.dir / "two.json",
                         expect=BAD_INPUT)


if __name__ == "__main__":
    sys.exit(program.main())
