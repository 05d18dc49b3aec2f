#!/usr/bin/env python3
"""Runs that are read rank by rank because they would not fit in memory. About 5 s."""
import json
import re
import unittest

import program
import synthetic_run

ENVIRONMENT = 4
RANKS = 20
THROUGH_ALL_RANKS = ("difference", "difference_unknown_because", "critical_path", "gains")


def page_data(path):
    return json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text(), re.S)[1])


class LargeRun(program.ProgramTest):
    def write(self, **settings):
        run = self.dir / "run"
        synthetic_run.write_run(program.REPRISE, run, **{"ranks": RANKS, "layers": 4, **settings})
        return run

    def least_memory(self, run):
        """What takes any one of the ranks: three bytes a byte on disk."""
        return 3 * max(path.stat().st_size for path in run.glob("rank*.sqlite"))

    def data(self, run, *args):
        """What the report says in JSON and what the page shows."""
        page = self.dir / "page.html"
        self.run_program("report", run, *args, "-o", page, "--quiet", "--force")
        return self.run_json("report", run, *args), page_data(page)

    def drop_what_leads_through_all_ranks(self, *reports):
        return [[report["fidelity"].pop(key) for key in THROUGH_ALL_RANKS] for report in reports]

    def test_ranks_one_by_one_say_what_all_at_once_say(self):
        run = self.write()
        whole, whole_page = self.data(run)
        parts, parts_page = self.data(run, "--memory", self.least_memory(run))
        kept = self.drop_what_leads_through_all_ranks(whole, whole_page["report"])
        dropped = self.drop_what_leads_through_all_ranks(parts, parts_page["report"])
        self.assertTrue(all(difference and path and gains for difference, _, path, gains in kept))
        for difference, because, path, gains in dropped:
            self.assertIsNone(difference)
            self.assertIn("rank by rank", because)
            self.assertEqual(path + gains, [])
        self.assertEqual(parts, whole)
        self.assertEqual(parts_page, whole_page)
        self.assertGreater(len(whole["fidelity"]["overlap"]), RANKS)
        self.assertGreater(whole["attribution"]["joules"], 0)

    def test_columns_and_sums_of_a_rank_say_what_its_rows_say(self):
        run = self.dir / "run"
        self.run_program("predict", "llama3-8b", "--tp", 2, "--pp", 2, "--dp", 2, "--machine", "h100-hgx", "-o", run)
        for kept in ("rank*.sums", "rank*.columns"):
            files = {file: file.read_bytes() for file in run.glob(kept)}
            self.assertTrue(files, kept)
            for memory in ((), ("--memory", 4 * self.least_memory(run))):  # rows that repeat are stored once
                reports = []
                for lost in (0, 1, None):  # bytes; None: the file
                    for file, stored in files.items():
                        file.unlink(missing_ok=True)
                        if lost is not None:
                            file.write_bytes(stored[:len(stored) - lost])
                    (run / "analysis.bin").unlink(missing_ok=True)
                    reports.append(self.data(run, *memory))
                self.assertEqual(reports[1], reports[0])
                self.assertEqual(reports[2], reports[0])

    def test_sums_that_are_damaged_or_old_are_named(self):
        run = self.dir / "run"
        self.run_program("predict", "llama3-8b", "--tp", 2, "--pp", 2, "--dp", 2, "--machine", "h100-hgx", "-o", run)
        files = sorted(run.glob("rank*.sums"))
        self.assertGreater(len(files), 1)
        report = ("report", run, "--json", "--memory", 4 * self.least_memory(run))
        self.assertNotIn("sums", self.run_program(*report).stderr)
        (run / "analysis.bin").unlink(missing_ok=True)
        for file in files:
            file.write_bytes(file.read_bytes()[:-1])
        said = self.run_program(*report).stderr
        self.assertRegex(said, r"rank\d+.sums: damaged")
        self.assertIn("the ranks' nodes are read instead", said)

    def test_a_rank_that_does_not_fit_is_refused(self):
        run = self.write()
        refused = self.run_program("report", run, "--memory", "20KiB", expect=ENVIRONMENT).stderr
        self.assertIn("rank0.sqlite holds", refused)
        self.assertIn("copy manifest.json", refused)

    def test_hosts_whose_ranks_take_turns_and_one_that_lost_a_file(self):
        run = self.write()
        manifest = json.loads((run / "manifest.json").read_text())
        hosts = [f"node{r % 3}" for r in range(RANKS)]
        (run / "manifest.json").write_text(json.dumps({**manifest, "hosts": hosts}))
        (run / "rank7.sqlite").unlink()
        memory = self.least_memory(run)
        whole = self.run_json("report", run)
        parts = self.run_json("report", run, "--memory", memory)
        self.drop_what_leads_through_all_ranks(whole, parts)
        self.assertEqual([row["rank"] for row in parts["ranks"]], [r for r in range(RANKS) if r != 7])
        self.assertIn("rank 7: rank7.sqlite is missing", "".join(parts["notes"]))
        self.assertEqual(parts["classes"], whole["classes"])
        self.assertEqual(parts["ranks"], whole["ranks"])
        self.assertEqual(parts["collectives"], whole["collectives"])


if __name__ == "__main__":
    program.main()
