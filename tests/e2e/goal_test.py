#!/usr/bin/env python3
"""reprise export --to goal: schedules for LogGOPSim and ATLAHS. These are run by hand (bench/peers/loggopsim.py); here a few lines do what
the LogGP model says (goal_schedule.py)."""
import json
import shutil
import sys

import goal_schedule
import program
from goal_schedule import makespan

USAGE, BAD_INPUT = 2, 3
JOB = {"model": {"family": "mixtral", "layers": 4, "hidden": 64, "heads": 4, "vocab": 64, "sequence": 32, "experts": 4, "top_k": 2},
       "layout": {"tp": 2, "pp": 2, "dp": 1}, "batch": {"global": 4, "micro": 1}}
# One collective after 12 ms of compute.
COLLECTIVE = "DATA\n1\nlayer -1 5000 NONE 0 5000 NONE 0 7000 {kind} {size} 5\n"
COMPUTE_NS = 12_000_000
LOGGP = {"L": 3000, "o": 400, "g": 100, "G": 2}


def number(value, unit, **more):
    return {"value": value, "unit": unit, **more, "source": "measured", "reference": "this test"}


# Its transfers take no time.
MACHINE = {"format": "reprise-machine", "version": 1, "name": "gpus", "about": "for this test",
           "device": {"name": "a GPU", "kind": "gpu", "memory": {"capacity": number(80, "GB"), "bandwidth": number(10**6, "GB/s")},
                      "matrix": {"float32": number(10, "TFLOP/s"), "bfloat16": number(10, "TFLOP/s")},
                      "vector": {"float32": number(1, "TFLOP/s")}, "launch_latency": number(2, "us")},
           "host": {"launch_time": number(3, "us")}, "node": {"devices": number(8, "1")},
           "collectives": {"start": number(0, "us")},
           "links": {"bus": {"bandwidth": number(10**6, "GB/s", per="device", ways="one"), "latency": number(0, "us")}}}


def message_ns(size):
    return LOGGP["L"] + 2 * LOGGP["o"] + (size - 1) * LOGGP["G"]


def equation_ns(exported):
    """From the first start to the last end by the one equation, where collectives end for all with the last arrival."""
    ranks = exported["ranks"]
    bases = [of["metadata"]["base_ns"] + of["metadata"]["clock_offset_ns"] for of in ranks]
    nodes, members = {}, {}
    for rank, of in enumerate(ranks):
        for node in of["nodes"]:
            nodes[rank, node["id"]] = node
            if comm := node.get("comm"):
                members.setdefault((comm["group"], comm["index"]), []).append((rank, node["id"]))
    starts, ends = {}, {}

    def known(key):
        return all((key[0], dep["id"]) in ends for dep in nodes[key]["deps"])

    waiting = list(nodes)
    while waiting:
        left = []
        for key in waiting:
            if not known(key):
                left.append(key)
                continue
            node = nodes[key]
            deps = [ends[key[0], dep["id"]] for dep in node["deps"]]
            drift = ranks[key[0]]["metadata"]["clock_drift"]
            root_ns = bases[key[0]] - min(bases) + round(drift * node["delay_ns"])
            starts[key] = (max(deps) if deps else root_ns) + node["delay_ns"]
            comm = node.get("comm")
            if not comm:
                ends[key] = starts[key] + node["duration_ns"]
            elif all(member in starts for member in members[comm["group"], comm["index"]]):
                together = members[comm["group"], comm["index"]]
                ends.update((member, max(starts[of] for of in together)) for member in together)
        assert len(left) < len(waiting), "a cycle"
        waiting = left
    return max(ends.values()) - min(starts.values())


class Goal(program.ProgramTest):
    def export(self, *sets, expect=0, **options):
        out = self.dir / "schedule"
        flags = [part for name, value in options.items() for each in (value if isinstance(value, list) else [value])
                 for part in (f"--{name.replace('_', '-')}", each)]
        done = self.run_program("export", *sets, "--to", "goal-text", "-o", out, "--force", *flags, expect=expect)
        self.said = done.stdout
        if expect:
            return done.stderr
        ranks = goal_schedule.parse(out.read_text())
        self.assertEqual(goal_schedule.unpaired(ranks), [])
        return ranks

    def generate(self, *options):
        (self.dir / "job.json").write_text(json.dumps(JOB))
        self.run_program("generate", self.dir / "job.json", "-o", self.dir / "generated", "--force", *options)
        return self.dir / "generated"

    def machine(self):
        path = self.dir / "machine.json"
        path.write_text(json.dumps(MACHINE))
        return path

    def step_ns(self, trace, machine):
        return self.run_json("simulate", trace, "--machine", machine, "-o", self.dir / "run", "--force")["step_time_ns"]

    def collective(self, kind, size, ranks):
        (self.dir / "layer.txt").write_text(COLLECTIVE.format(kind=kind, size=size))
        out = self.dir / f"{kind}{ranks}"
        self.run_program("convert", self.dir / "layer.txt", "--ranks", ranks, "-o", out, "--force")
        return out

    def test_binary_is_the_text(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        ranks = self.export(trace)
        out = self.dir / "schedule.bin"
        self.run_program("export", trace, "--to", "goal", "-o", out)
        self.assertEqual(out.read_bytes(), goal_schedule.binary(ranks))

    def test_collectives_in_closed_form(self):
        for ranks in 2, 3, 8:
            # Kind, bytes, algorithm, messages one after the other, bytes of each.
            for kind, size, algo, steps, bytes_each in (
                    ("ALLREDUCE", 4800, None, 2 * (ranks - 1), 4800 // ranks), ("ALLGATHER", 4800, None, ranks - 1, 4800),
                    ("REDUCESCATTER", 4800, None, ranks - 1, 4800 // ranks), ("ALLTOALL", 4800, None, ranks - 1, 4800 // ranks),
                    ("ALLREDUCE", 4800, "tree,chunk=1GiB,channels=1", 2 * (ranks - 1).bit_length(), 4800)):
                if algo and ranks & (ranks - 1):
                    continue  # messages of a tree with other numbers of members are beside each other
                with self.subTest(kind, ranks=ranks, algo=algo):
                    schedule = self.export(self.collective(kind, size, ranks), **({"algo": algo} if algo else {}))
                    self.assertEqual(makespan(schedule), COMPUTE_NS)
                    self.assertEqual(makespan(schedule, **LOGGP) - COMPUTE_NS, steps * message_ns(bytes_each))

    def test_recorded_times_and_edges(self):
        """Without a network, it lasts as long as the equation says of the set."""
        for case in "gloo/gpt_ddp4", "gloo_comms/gpt_fsdp4", "gloo_comms/gpt_tp4", "gloo_comms/moe_ep4", "h100/resnet50", "quickstart":
            with self.subTest(case):
                trace = self.convert(case)
                self.run_program("export", trace, "--to", "json", "-o", self.dir / "all.json", "--force")
                schedule = self.export(trace)
                self.assertEqual(makespan(schedule), equation_ns(json.loads((self.dir / "all.json").read_text())))
                self.assertEqual(makespan(schedule), makespan(schedule, rendezvous=True))
                one = self.export(trace, cpus="one")
                self.assertEqual({of.cpu for rank in one for of in rank.operations}, {0})
                self.assertGreaterEqual(makespan(one), makespan(schedule))

    def test_pairs(self):
        schedule = self.export(self.convert("gloo_comms/gpt_pp4"))
        self.assertIn("24 × send and recv", self.said)
        self.assertEqual({of.kind for rank in schedule for of in rank.operations}, {"calc", "send", "recv"})
        self.assertLessEqual(makespan(schedule), makespan(schedule, rendezvous=True))

    def test_all_kinds(self):
        self.export(self.convert("gloo_comms/collectives4"))
        for text in "1 × barrier by recursive_doubling", "1 × broadcast by tree", "1 × gather by direct", "8 messages without data":
            self.assertIn(text, self.said)

    def test_generated_on_a_machine(self):
        """Times are those of the machine's model, launches and their latencies among them."""
        machine = self.machine()
        for options in [], ["--dp", "2", "--pp", "1"], ["--tp", "1", "--pp", "4"], ["--tp", "1", "--pp", "1", "--dp", "4", "--fsdp"], \
                ["--dp", "2", "--tp", "1", "--ep", "2"]:
            with self.subTest(options):
                trace = self.generate(*options)
                schedule = self.export(trace, machine=machine)
                self.assertEqual(makespan(schedule), self.step_ns(trace, machine))
                self.assertGreater(makespan(schedule, **LOGGP, rendezvous=True), makespan(schedule))

    def test_places(self):
        one, two = self.collective("ALLREDUCE", 4800, 2), self.collective("ALLTOALL", 4800, 3)
        alone = [goal_schedule.times(self.export(trace), **LOGGP) for trace in (one, two)]
        beside = self.export(one, two)
        self.assertEqual(goal_schedule.times(beside, **LOGGP), alone[0] + alone[1])
        placed = self.export(one, two, place=["1@0-2", "0@5,3"])
        self.assertEqual(goal_schedule.times(placed, **LOGGP), alone[1] + [alone[0][1], [], alone[0][0]])
        shared = self.export(one, two, place=["0@2,0", "1@0-2"])
        self.assertEqual(makespan(shared), COMPUTE_NS)
        self.assertEqual(len({of.cpu for of in shared[0].operations}), 4)
        for place, says in ((["0@0-2", "1@3-5"], "3 nodes, and it has 2 ranks"), (["0@0,1"], "1 of 2 sets"), (["7@0"], "numbered from 0"),
                            (["0@0-1", "0@2-3"], "a place already"), (["0-1"], "JOB@NODES"), (["0@1,1", "1@0-2"], "twice")):
            with self.subTest(place):
                self.assertIn(says, self.export(one, two, place=place, expect=USAGE))

    def test_a_part(self):
        trace = self.convert("gloo/gpt_ddp4")
        schedule = self.export(trace, ranks="1-2")
        self.assertEqual(len(schedule), 2)
        self.export(self.convert("gloo_comms/collectives4"), ranks="0,2")
        self.export(self.convert("gloo_comms/gpt_pp4"), ranks="1-2")
        self.assertIn("16 transfers with ranks outside stay calculations of their time", self.said)

    def changed(self, change):
        """gpt_ddp4, after `change` of rank 2's nodes and their transfers, as Chakra's JSON has them."""
        if not (self.dir / "json").exists():
            self.run_program("export", self.convert("gloo/gpt_ddp4"), "--to", "chakra-json", "-o", self.dir / "json")
        to, out = self.dir / "changed", self.dir / "changed_set"
        shutil.copytree(self.dir / "json", to, dirs_exist_ok=True)
        graph = json.loads((to / "gpt_ddp4.2.json").read_text())
        nodes = graph["workload_graph"]
        change(nodes, [node for node in nodes if "comm_size" in node])
        (to / "gpt_ddp4.2.json").write_text(json.dumps(graph))
        self.run_program("convert", to, "-o", out, "--force", expect=1)  # it says what does not match
        return out

    def test_ranks_that_do_not_match(self):
        def halve(_, transfers):
            for attribute in transfers[0]["attr"]:
                if attribute["name"] in ("comm_in_bytes", "comm_out_bytes"):
                    attribute["int64Val"] = str(int(attribute["int64Val"]) // 2)

        def drop(nodes, transfers):
            nodes.remove(transfers[-1])
            for node in nodes:
                for deps in "ctrlDeps", "data_deps":
                    node[deps] = [dep for dep in node.get(deps, []) if dep != transfers[-1]["Id"]]
                for attribute in node["attr"]:
                    if attribute["name"] == "dep_reasons":
                        values = attribute["int32List"]["values"]
                        attribute["int32List"]["values"] = values[:len(node["data_deps"])]

        said = self.export(self.changed(halve), expect=BAD_INPUT)
        self.assertIn("all_reduce #0", said)
        self.assertIn("do not agree on a message", said)
        self.export(self.changed(drop))
        self.assertIn("3 transfers without all members stay calculations of their time", self.said)

    def test_what_is_refused(self):
        trace = self.generate()
        self.assertIn("name one with --machine", self.export(trace, expect=BAD_INPUT))
        ddp = self.convert("gloo/gpt_ddp4")
        self.assertIn("needs an algorithm made of messages", self.export(ddp, algo="mpi", expect=USAGE))
        self.assertIn("no --rank", self.export(ddp, rank=0, expect=USAGE))
        for to, more, says in (("json", [ddp], "one SET"), ("json", ["--place", "0@0"], "for --to goal")):
            done = self.run_program("export", ddp, *more, "--to", to, "-o", self.dir / "out", expect=USAGE)
            self.assertIn(says, done.stderr)
        done = self.run_program("export", ddp, "--to", "goal", "-o", self.dir / "out.gz", expect=USAGE)
        self.assertIn("compressed", done.stderr)
        (self.dir / "gloo_gpt_ddp4" / "gpt_ddp4.3.et").unlink()
        self.assertIn("rank 3", self.export(ddp, expect=BAD_INPUT))
        self.assertFalse((self.dir / "out").exists())


if __name__ == "__main__":
    sys.exit(program.main())
