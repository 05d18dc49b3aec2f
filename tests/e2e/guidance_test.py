#!/usr/bin/env python3
"""Commands that guide: what was probably meant, which command fits, short output. About 30 s."""
import json
import re
import sys

import program
import synthetic_run

CHECK_FAILED, USAGE, BAD_INPUT = 1, 2, 3
SUBCOMMANDS = ("convert", "anonymize", "audit", "pack", "unpack", "validate", "stats", "export", "replay", "monitor",
               "report", "compare", "devices", "list", "bench", "tune", "man", "completion", "bench kernels",
               "bench collectives")


class DidYouMean(program.ProgramTest):
    def said(self, *args, expect=USAGE, **kwargs):
        done = self.run_program(*args, expect=expect, **kwargs)
        lines = [line for line in done.stderr.split("\n") if line.startswith("reprise: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def test_commands(self):
        self.assertEqual(self.said("conver", "x", "-o", "y"),
                         "reprise: reprise has no command conver; did you mean convert? (`reprise --help` shows them)")
        self.assertIn("did you mean report?", self.said("Reprot", "run"))
        self.assertIn("did you mean kernels?", self.said("bench", "kernls"))
        self.assertNotIn("did you mean", self.said("xyzzyplugh"))

    def test_help_is_a_command_too(self):
        self.assertEqual(self.run_program("help", "report").stdout, self.run_program("report", "--help").stdout)
        self.assertEqual(self.run_program("help").stdout, self.run_program("--help").stdout)

    def test_what_is_missing_has_its_name(self):
        self.assertIn("RUN is required: ", self.said("report"))
        self.assertIn("--to is required: ", self.said("export", "x"))
        self.assertEqual(self.said(), "reprise: reprise needs a command (`reprise --help` shows them)")

    def test_options(self):
        """Also where the mistyped one leaves a required one missing."""
        self.assertIn("reprise report has no option --jsn; did you mean --json?", self.said("report", "run", "--jsn"))
        self.assertIn("has no option --outptu; did you mean --output?", self.said("convert", "x", "--outptu", "y"))
        self.assertIn("did you mean --iterations?", self.said("replay", "x", "-o", "y", "--iteration=3"))

    def test_values(self):
        self.assertIn("--memory takes one of own, share, not 'shar'; did you mean share?",
                      self.said("replay", "x", "-o", "y", "--memory", "shar"))
        self.assertIn("did you mean perfetto?", self.said("export", "x", "--to", "perfeto", "-o", "y"))
        self.assertIn("did you mean pytorch?", self.said("convert", "x", "-o", "y", "--format", "pytroch"))

    def test_what_became_of_modes(self):
        for mode in ("full", "compute", "comm", "dry", "other"):
            said = self.said("replay", "x", "-o", "y", "--mode", mode)
            self.assertIn("reprise simulate SET -o RUN --machine recorded", said)
            self.assertEqual(len(said.strip().split("\n")), 1)

    def test_classes_collectives_backends(self):
        trace = self.convert("gloo/gpt_single")
        replay = ("replay", trace, "-o", self.dir / "run")
        self.assertIn("did you mean gemm?", self.said(*replay, "--ops", "gem=timed"))
        self.assertIn("did you mean timed?", self.said(*replay, "--ops", "gemm=time"))
        self.assertIn("did you mean elementwise?", self.said(*replay, "--stretch", "element-wise=2"))
        self.assertIn("did you mean barrier?", self.said(*replay, "--comms", "barier=timed"))
        self.assertIn("did you mean opencl?", self.said(*replay, "--device", "openlc"))
        self.assertIn("did you mean broadcast?", self.said("bench", "collectives", "brodcast"))

    def test_once_and_not_per_rank(self):
        for wrong in (["repaly"], ["replay", "x", "--outptu", "y"], ["report", program.TRACES / "gloo/gpt_ddp4"]):
            expect = BAD_INPUT if wrong[0] == "report" else USAGE
            self.said(*wrong, ranks=3, expect=expect)
        help_text = self.run_program("replay", "--help", ranks=3).stdout
        self.assertEqual(help_text.count("Usage:"), 1)


class Paths(program.ProgramTest):
    """A run, a set or a capture given where another is expected, and the command that fits."""

    def setUp(self):
        super().setUp()
        self.capture = program.TRACES / "gloo/gpt_ddp4"
        self.trace = self.convert("gloo/gpt_ddp4")
        self.run_directory = self.dir / "runs" / "a"
        self.run_directory.parent.mkdir()
        synthetic_run.write_run(program.REPRISE, self.run_directory, ranks=2, layers=2)

    def said(self, *args):
        return self.run_program(*args, expect=BAD_INPUT).stderr

    def test_a_directory_of_repeats_has_a_report(self):
        synthetic_run.write_run(program.REPRISE, self.run_directory.parent / "b", ranks=2, layers=3)
        said = self.run_program("report", self.run_directory.parent).stdout
        self.assertIn(f"{self.run_directory}: of 2 runs the one with the median step", said)

    def test_for_a_run(self):
        self.assertIn(f"is a capture, not a run; convert it first: reprise convert {self.capture} -o trace",
                      self.said("report", self.capture))
        self.assertIn(f"give the run's directory: {self.run_directory}",
                      self.said("report", self.run_directory / "manifest.json"))
        self.assertIn("is a capture, not a run", self.said("compare", f"a={self.run_directory}", f"b={self.capture}"))
        page = self.dir / "page.html"
        page.write_text("<!doctype html>")
        self.assertIn("is an HTML page, not a run", self.said("report", page))

    def test_for_a_trace_set(self):
        for command in (["validate"], ["stats"], ["audit"], ["replay", "-o", self.dir / "r"],
                        ["pack", "-o", self.dir / "p"], ["export", "--to", "json", "-o", self.dir / "e"]):
            self.assertIn("is a capture, not a trace set; convert it first", self.said(*command, self.capture))
        self.assertIn(f"is a run, not a trace set; report on it: reprise report {self.run_directory}",
                      self.said("replay", self.run_directory, "-o", self.dir / "r"))
        file = next(self.trace.glob("*.0.et"))
        # A file is a set of its rank alone.
        done = self.run_program("replay", file, "-o", self.dir / "r", "--iterations", "1", "--quiet")
        self.assertIn("ranks: 0 of 4", done.stderr)
        self.run_program("simulate", file, "-o", self.dir / "s", "--machine", "recorded", "--quiet")
        self.run_program("anonymize", file, self.dir / "one")
        self.assertEqual(len(list((self.dir / "one").glob("*.et"))), 1)
        self.run_program("audit", file, expect=CHECK_FAILED)
        self.run_program("pack", file, "-o", self.dir / "one.reprise", "--not-anonymized")
        self.assertIn(f"{self.trace} is; give that", self.said("stats", self.dir))

    def test_for_a_capture_and_a_package(self):
        self.assertIn("is a run, not a capture", self.said("convert", self.run_directory, "-o", self.dir / "x"))
        self.assertIn(f"pack it first: reprise pack {self.trace}", self.said("unpack", self.trace, "-o", self.dir / "x"))
        package = self.dir / "set.reprise"
        self.run_program("pack", self.trace, "-o", package, "--not-anonymized")
        self.assertIn(f"is a package, not a trace set; unpack it first: reprise unpack {package} -o trace",
                      self.said("replay", package, "-o", self.dir / "r"))


class Short(program.ConvertedTest):
    """Counts by default, details with -v, wherever it stands."""

    def lines(self, *args, **kwargs):
        return self.run_program(*args, **kwargs).stdout.rstrip("\n").split("\n")

    def test_convert(self):
        out = self.dir / "out"
        short = self.lines("convert", program.TRACES / "gloo/gpt_ddp4", "-o", out)
        self.assertLessEqual(len(short), 8)
        self.assertRegex(short[0], r": 4 ranks, \d+ operations -> \d+ nodes, \d+ edges, 16 transfers in 1 group$")
        self.assertNotIn("harmless", "\n".join(short))
        for before, after in ((["-v"], []), ([], ["-v"]), ([], ["--verbose"])):
            long = self.lines(*before, "convert", program.TRACES / "gloo/gpt_ddp4", "-o", out, "--force", *after)
            self.assertEqual(sum(".et: " in line for line in long), 4)
            self.assertTrue(any(re.match(r"note: \d+ storage conflicts resolved, harmless", line) for line in long))
            self.assertFalse(any(re.search(r"\d x [a-z]+_", line) for line in long), long)

    def test_validate(self):
        self.assertEqual(len(self.lines("validate", self.trace)), 2)
        short = self.lines("validate", self.trace, "--timing")
        self.assertEqual(len(short), 3)
        self.assertIn("timing: recorded", short[1])
        self.assertEqual(sum("rank" in line for line in self.lines("validate", self.trace, "--timing", "-v")), 4)

    def test_stats(self):
        short = self.lines("stats", self.trace)
        self.assertLessEqual(len(short), 10)
        self.assertRegex(short[0], r": 4 ranks, \d+ nodes, \d+ edges")
        self.assertTrue(any(line.startswith("time: ") for line in short))
        long = self.lines("stats", self.trace, "-v")
        self.assertGreater(len(long), 40)

    def test_every_part_of_the_path_is_made(self):
        self.run_program("stats", self.trace)
        deep = self.dir / "a" / "b"
        self.run_program("export", self.trace, "--to", "json", "--rank", "0", "-o", deep / "x.json")
        self.assertTrue((deep / "x.json").is_file())
        self.run_program("convert", "--host-trace", program.TRACES / "gloo/gpt_ddp4/rank0.et.json.gz", "--device-trace",
                         program.TRACES / "gloo/gpt_ddp4/rank0.kineto.json.gz", "-o", self.dir / "c" / "d" / "x.0.et")
        self.assertTrue((self.dir / "c" / "d" / "x.0.et").is_file())
        self.run_program("pack", self.trace, "-o", self.dir / "e" / "f" / "x.reprise", "--not-anonymized")
        self.run_program("anonymize", self.trace, "-o", self.dir / "g" / "h")
        self.assertTrue(list((self.dir / "g" / "h").glob("*.et")))


class Sharing(program.ConvertedTest):
    def test_audit_begins_with_its_verdict(self):
        first, *rest = self.run_program("audit", self.trace, expect=CHECK_FAILED).stdout.split("\n")
        self.assertRegex(first, rf"^{self.trace}: do not share yet: \d+ findings in \d+ files$")
        self.assertLess(len(rest), 40)
        shared = self.dir / "shared"
        self.run_program("anonymize", self.trace, shared)
        self.assertIn("safe to share: no private name, path, secret or time of day",
                      self.run_program("audit", shared).stdout.split("\n")[0])

    def test_pack_of_a_set_that_is_not_anonymized(self):
        package = self.dir / "x.reprise"
        said = self.run_program("pack", self.trace, "-o", package, expect=USAGE).stderr
        self.assertIn(f"reprise anonymize {self.trace} shared", said)
        self.assertIn("--not-anonymized", said)
        self.assertFalse(package.exists())
        self.run_program("pack", self.trace, "-o", package, "--not-anonymized")
        shared = self.dir / "shared"
        self.run_program("anonymize", self.trace, shared)
        self.run_program("pack", shared, "-o", self.dir / "y.reprise")

    def test_a_partners_run_compares_with_the_originals(self):
        shared = self.dir / "shared"
        self.run_program("anonymize", self.trace, shared, "--verify")
        for trace, run in ((self.trace, "mine"), (shared, "theirs")):
            self.run_program("simulate", trace, "-o", self.dir / run, "--machine", "recorded")
        verdict = self.run_program("compare", self.dir / "mine", self.dir / "theirs").stdout
        self.assertIn("theirs", verdict.split("\n")[0])
        hashes = {json.loads((self.dir / run / "manifest.json").read_text())["trace_hash"] for run in ("mine", "theirs")}
        self.assertEqual(len(hashes), 2)


class Help(program.ProgramTest):
    def examples(self, command):
        text = self.run_program(*command.split(), "--help").stdout
        block = text.split("Examples:\n")[1].split("\n\n")[0].split("\n")
        self.assertLess(text.index("Examples:"), text.index("Usage:"), command)
        return text, [re.split(r" {2,}", line.strip())[0] for line in block if line.strip()]

    def test_begins_with_examples_that_parse(self):
        for command in SUBCOMMANDS:
            text, lines = self.examples(command)
            self.assertIn(len(lines), (2, 3), command)
            for line in lines:
                self.assertIn(f"reprise {command}", line)
                own = line.split(" -- ")[0]
                for option in re.findall(r" (--?[a-z][\w-]*)", own.split(f"reprise {command}")[1]):
                    self.assertRegex(text, rf"(?m)^  .*{re.escape(option)}\b", line)

    def test_examples_are_in_the_manual_page(self):
        page = self.run_program("man").stdout.replace("\\-", "-")
        for command in ("convert", "replay", "compare"):
            for line in self.examples(command)[1]:
                self.assertIn(line, page)


if __name__ == "__main__":
    sys.exit(program.main())
