#!/usr/bin/env python3
"""One definition of a step, in every command that names one. About 10 s."""
import json

import program

CASES = program.ROOT / "tests" / "converters" / "cases"


class Steps(program.ProgramTest):
    def convert_case(self, case):
        trace = self.dir / case
        self.run_program("convert", CASES / case, "-o", trace)
        return trace

    def lengths_ns(self, trace):
        """The step of a set as each command says it: the mean of all."""
        stats = self.run_json("stats", trace)["ranks"][0]["steps"]
        run = self.dir / f"{trace.name}_dry"
        self.run_program("simulate", trace, "-o", run, "--machine", "recorded", "--quiet")
        report = self.run_json("report", run)
        difference = self.run_json("compare", f"a={trace}", f"b={trace}")["alignments"][0]
        timing = self.run_json("validate", trace, "--timing")["timing"][0]
        return {
            "stats": sum(step["duration_ns"] for step in stats) / len(stats),
            "validate": timing["recorded_ns"] / len(stats),
            "its dry run": timing["dry_run_ns"] / len(stats),
            "compare": difference["totals"]["a"]["step_ns"],
            "report, recorded": report["step_time_recorded_ns"],
            "report, dry": report["step_time_replayed_ns"],
        }

    def test_every_command_names_one_length(self):
        for case, right_ns in (("01a_step_without_marks", 10.05e6), ("01b_step_without_marks_slower", 40.05e6),
                               ("01c_host_runs_ahead", 10.02e6), ("01d_host_runs_ahead_slower", 20.02e6)):
            for command, length_ns in self.lengths_ns(self.convert_case(case)).items():
                self.assertAlmostEqual(length_ns / right_ns, 1, delta=0.001, msg=f"{case}: {command}")

    def test_a_slower_device_is_seen(self):
        for a, b, ratio in (("01a_step_without_marks", "01b_step_without_marks_slower", 3.99),
                            ("01c_host_runs_ahead", "01d_host_runs_ahead_slower", 2.0)):
            a, b = self.convert_case(a), self.convert_case(b)
            self.assertAlmostEqual(self.run_json("compare", f"a={a}", f"b={b}")["alignments"][0]["totals"]["step_ratio"],
                                   ratio, delta=0.01)

    def test_work_before_and_after_the_marks_is_in_no_step(self):
        capture = json.loads((CASES / "01c_host_runs_ahead" / "t.json").read_text())
        events = capture["traceEvents"]
        for name, at_us in (("before", -700), ("after", 31_000)):
            events.append({"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 4242, "tid": 4242, "ts": 5_000_000 + at_us,
                           "dur": 300, "args": {"External id": 9000 + at_us}})
        capture["traceEvents"] = sorted(events, key=lambda event: event.get("ts", 0))
        (self.dir / "t.json").write_text(json.dumps(capture))
        trace = self.dir / "outside"
        self.run_program("convert", self.dir / "t.json", "-o", trace)
        for command, length_ns in self.lengths_ns(trace).items():
            self.assertAlmostEqual(length_ns / 10.02e6, 1, delta=0.001, msg=command)
        run = self.dir / "run"
        self.run_program("replay", trace, "-o", run, "--device", "host", "--ops", "timed", "--quiet")
        self.assertLess(abs(self.run_json("report", run)["step_time_replayed_ns"] / 10.02e6 - 1), 0.2)


if __name__ == "__main__":
    program.main()
