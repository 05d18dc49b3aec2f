#!/usr/bin/env python3
"""bench/fidelity without PyTorch: the table of networks, results that are resumed, and sums that a reader can check by hand."""
import ast
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = ROOT / "bench/fidelity"
sys.path.insert(0, str(SUITE))
import networks  # noqa: E402
import results  # noqa: E402
import turns  # noqa: E402


def row(error, untraced_s=0.1, exposed_s=0):
    return {"steps": 9, "iterations": 9, "untraced_s": untraced_s, "replayed_s": untraced_s * (1 + error), "step_error": error,
            "fastest_tenth_error": error, "work_error": error, "real": 1.0, "stretch": 1.0, "page_faults": 7,
            "recorded_page_faults": 8, "exposed_recorded_s": exposed_s,
            "exposed_replayed_s": exposed_s / 2}


def state_of(pid):
    """"T": stopped."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def wait_until(holds):
    """Up to a minute, on a busy machine."""
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("did not come to hold")


class FidelitySuite(unittest.TestCase):
    def test_twenty_networks_have_a_function_each(self):
        self.assertEqual(len(networks.SUITE), 20)
        self.assertEqual(len({one.name for one in networks.SUITE}), 20)
        self.assertEqual(len({one.name for one in networks.DISTRIBUTED}), 8)
        for one in (*networks.SUITE, *networks.DISTRIBUTED):
            tree = ast.parse((SUITE / "networks" / f"{one.file}.py").read_text())
            self.assertIn(one.function, [node.name for node in tree.body if isinstance(node, ast.FunctionDef)], one.name)

    def test_names_of_networks(self):
        self.assertEqual(networks.find("a/b.py:f:x=1,y=2").function, "f:x=1,y=2")
        self.assertIsNone(networks.find("no_such_network"))
        done = subprocess.run([sys.executable, SUITE / "fidelity.py", "--networks", "lora,no_such_network"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no network no_such_network; it has lora, swin", done.stderr)

    def test_a_second_call_finds_the_first_ones_results(self):
        with tempfile.TemporaryDirectory() as directory:
            kept = results.Results(directory)
            self.assertIsNone(kept.agree({"core": 1}))
            kept.keep("lora", 0, row(0.02))
            kept.keep("b.py:f:x=1", 2, row(0.5))
            again = results.Results(directory)
            self.assertIsNone(again.agree({"core": 1}))
            self.assertTrue(again.has("lora", 0))
            self.assertFalse(again.has("lora", 1))
            self.assertEqual([one["step_error"] for one in again.rows("lora", 3)], [0.02])
            self.assertEqual(again.rows("b.py:f:x=2", 3), [])
            self.assertEqual(again.rows("b.py:f:x=1", 2), [])  # of the first two rounds
            self.assertIn("core was 1, is 0", again.agree({"core": 0}))

    def test_median_worst_and_count(self):
        errors = {"a": [0.02, -0.30, 0.04], "b": [-0.11, -0.09, -0.12], "c": [0.10, 0.05, 0.01]}
        each = {name: results.of_network([row(error) for error in values]) for name, values in errors.items()}
        self.assertAlmostEqual(each["a"]["step_error"], 0.02)
        self.assertAlmostEqual(each["a"]["worst"], -0.30)
        self.assertEqual([each[name]["within_tenth"] for name in "abc"], [2, 1, 3])
        every = results.of_all(each)
        self.assertAlmostEqual(every["median"], 0.05)  # of 0.02, 0.11, 0.05
        self.assertAlmostEqual(every["worst"], -0.11)
        self.assertEqual((every["worst_network"], every["within_tenth"]), ("b", 2))
        self.assertIn("3 networks: median of the absolute errors 5.0 %, worst -11.0 % (b), within 10 %: 2", results.table(each))

    def test_a_round_leaves_out_what_was_interrupted(self):
        report = {"iteration_step_ns": [110e6] * 8 + [1.2e9], "step_time_untraced_ns": 50e6, "coverage": {"real": 0.995, "surrogate": 0, "timed": 0.005, "skipped": 0},
                  "diagnostics": {"diagnostic.page_faults": 70}, "classes": [{"name": "gemm", "replayed_ns": 60e6}, {"name": "comm", "replayed_ns": 9e9}],
                  "fidelity": {"untraced_work_error": 0.5, "overlap": [
                      {"rank": 0, "recorded_exposed_ns": 4e6, "replayed_exposed_ns": 2e6},
                      {"rank": 0, "recorded_exposed_ns": 1e6, "replayed_exposed_ns": 0},
                      {"rank": 1, "recorded_exposed_ns": 3e6, "replayed_exposed_ns": 1e6}]}}
        got = turns.row_of([(0.1, 60)] * 5 + [(1.1, 90)], report, block=1)
        self.assertAlmostEqual(got["page_faults"], 65)
        self.assertEqual(got["recorded_page_faults"], 70)
        self.assertEqual((got["steps"], got["iterations"]), (5, 8))
        self.assertAlmostEqual(got["step_error"], 0.1)
        self.assertAlmostEqual(got["work_error"], -0.25)  # the untraced step takes twice as long as beside the capture
        self.assertAlmostEqual(got["stretch"], 1 - 0.01 / 0.06)
        self.assertAlmostEqual(got["exposed_recorded_s"], 4e-3)  # of a rank
        self.assertAlmostEqual(got["exposed_replayed_s"], 1.5e-3)

    def test_exposed_transfers_stand_in_tables_of_several_ranks(self):
        self.assertNotIn("exposed", results.table({"a": results.of_network([row(0.1)])}))
        text = results.table({"a": results.of_network([row(0.1)]), "b": results.of_network([row(0.1, exposed_s=0.004)])})
        self.assertIn("| exposed transfers, recorded and replayed |", text)
        self.assertIn("| 7, 8 | 4.0 ms, 2.0 ms |", text)
        self.assertEqual(len({line.count("|") for line in text.splitlines() if line.startswith("|")}), 1)

    def test_a_program_is_stopped_with_its_descendants(self):
        shell = "sleep 60 & sleep 60 & wait"
        program = turns.Program([subprocess.Popen(["bash", "-c", shell]), subprocess.Popen(["sleep", "60"])])
        try:
            wait_until(lambda: len(program.family()) == 4)
            program.signal(signal.SIGSTOP)
            wait_until(lambda: [state_of(pid) for pid in program.family()] == ["T"] * 4)
            self.assertIsNone(program.returncode())
            program.signal(signal.SIGCONT)
            wait_until(lambda: "T" not in [state_of(pid) for pid in program.family()])
            family = program.family()
        finally:
            program.end()
        self.assertEqual(program.returncode(), -signal.SIGKILL)
        wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}/task").exists() and state_of(pid) != "Z" for pid in family))

    def test_a_program_has_ended_well_when_all_its_processes_have(self):
        program = turns.Program([subprocess.Popen(["true"]), subprocess.Popen(["true"])])
        wait_until(lambda: program.returncode() is not None)
        self.assertEqual(program.returncode(), 0)

    def test_the_step_of_median_duration_is_replayed(self):
        self.assertEqual(turns.middle_step({"traced_steps": [2, 3, 4], "step_seconds": [1, 1, 9, 5, 7]}), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
