#!/usr/bin/env python3
"""Which parts a build has. Without replay (-DREPRISE_REPLAY=OFF): none of replay's libraries, a way out where replay is asked for,
and every other command. About 5 s."""
import subprocess
import sys

import program

ENVIRONMENT_ERROR = 4
LEFT_OUT = ("replay", "machine", "devices", "bench", "tune")


class Parts(program.ProgramTest):
    def facts(self):
        lines = self.run_program("--version").stdout.rstrip().split("\n")
        return dict(line.split(maxsplit=1) for line in lines[1:])

    def test_version_names_them(self):
        facts = self.facts()
        if self.replays():
            self.assertEqual(facts["parts"], "all")
            self.assertRegex(facts["libraries"], "oneDNN.*TBB")
        else:
            self.assertEqual(facts["parts"], "all but replay (-DREPRISE_REPLAY=OFF)")
            self.assertEqual((facts["backends"], facts["mpi"]), ("none", "none"))
            self.assertNotRegex(facts["libraries"], "oneDNN|TBB")

    def replays(self):
        return "Not in this build" not in self.run_program("--help").stdout

    def test_loads_libraries_of_its_parts_alone(self):
        loads = subprocess.run(["ldd", program.REPRISE], check=True, capture_output=True, text=True).stdout
        for library in ("libmpi", "libOpenCL", "libtbb"):
            self.assertEqual(library in loads, self.replays(), library)
        self.assertNotIn("libdnnl", loads)  # opened at run time

    def test_what_is_left_out_says_so(self):
        if self.replays():
            return
        for command in LEFT_OUT:
            done = self.run_program(command, "trace", "-o", "run", expect=ENVIRONMENT_ERROR)
            self.assertIn(f"`reprise {command}` is not in this build", done.stderr)
            self.assertIn("-DREPRISE_REPLAY=ON", done.stderr)
            self.assertIn("Not in this build", self.run_program(command, "--help").stdout)
        done = self.run_program("list", "kernels", expect=ENVIRONMENT_ERROR)
        self.assertIn("`reprise list kernels` is not in this build", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_from_a_capture_to_a_report_of_a_simulation(self):
        trace = self.convert("quickstart")
        self.assertGreater(self.run_json("stats", trace)["nodes"], 0)
        self.run_program("validate", trace)
        job = self.dir / "job"
        self.run_program("predict", "llama3-8b", "--machine", "h200-hgx", "-o", job)
        report = self.run_json("report", job)
        self.assertGreater(report["step_time_replayed_ns"], 0)
        self.run_program("report", job, "-o", self.dir / "page.html")
        shared, package, arrived = self.dir / "shared", self.dir / "x.reprise", self.dir / "arrived"
        self.run_program("anonymize", trace, shared, "--verify")
        self.run_program("audit", shared)
        self.run_program("pack", shared, "-o", package)
        self.run_program("unpack", package, "-o", arrived)
        self.assertEqual(sorted(path.name for path in arrived.glob("*.et")),
                         sorted(path.name for path in shared.glob("*.et")))
        self.run_program("export", trace, "--to", "perfetto", "-o", self.dir / "trace.pftrace")
        self.assertGreater((self.dir / "trace.pftrace").stat().st_size, 10_000)


if __name__ == "__main__":
    sys.exit(program.main())
