#!/usr/bin/env python3
"""Runs that are read host by host because they would not fit in memory. About 5 s."""
import json
import re
import unittest

import program
import synthetic_run

ENVIRONMENT = 4
RANKS = 20
NEIGHBOURS = [range(i, min(i + synthetic_run.DEVICES, RANKS)) for i in range(0, RANKS, synthetic_run.DEVICES)]
THROUGH_ALL_RANKS = ("difference", "difference_unknown_because", "critical_path")


def page_data(path):
    return json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text(), re.S)[1])


class LargeRun(program.ProgramTest):
    def write(self, **settings):
        run = self.dir / "run"
        synthetic_run.write_run(program.REPRISE, run, **{"ranks": RANKS, "layers": 4, **settings})
        return run

    def least_memory(self, run, hosts):
        """What takes any one of the hosts: three bytes a byte on disk."""
        sizes = [[path.stat().st_size for r in ranks if (path := run / f"rank{r}.sqlite").exists()] for ranks in hosts]
        self.assertGreater(len(sizes), 1)
        return 3 * max(map(sum, sizes))

    def data(self, run, *args):
        """What the report says in JSON and what the page shows."""
        page = self.dir / "page.html"
        self.run_program("report", run, *args, "-o", page, "--quiet", "--force")
        return self.run_json("report", run, *args), page_data(page)

    def drop_what_leads_through_all_ranks(self, *reports):
        return [[report["fidelity"].pop(key) for key in THROUGH_ALL_RANKS] for report in reports]

    def test_hosts_one_by_one_say_what_all_at_once_say(self):
        run = self.write()
        whole, whole_page = self.data(run)
        parts, parts_page = self.data(run, "--memory", self.least_memory(run, NEIGHBOURS))
        kept = self.drop_what_leads_through_all_ranks(whole, whole_page["report"])
        dropped = self.drop_what_leads_through_all_ranks(parts, parts_page["report"])
        self.assertTrue(all(difference and path for difference, _, path in kept))
        for difference, because, path in dropped:
            self.assertIsNone(difference)
            self.assertIn("host by host", because)
            self.assertEqual(path, [])
        self.assertEqual(parts, whole)
        self.assertEqual(parts_page, whole_page)
        self.assertGreater(len(whole["fidelity"]["overlap"]), RANKS)
        self.assertGreater(whole["attribution"]["joules"], 0)

    def test_a_host_that_does_not_fit_is_refused(self):
        run = self.write()
        refused = self.run_program("report", run, "--memory", "100KiB", expect=ENVIRONMENT).stderr
        self.assertIn("the files of 8 ranks (from 0 on)", refused)
        self.assertIn("copy manifest.json", refused)

    def test_hosts_whose_ranks_take_turns_and_one_that_lost_a_file(self):
        run = self.write()
        manifest = json.loads((run / "manifest.json").read_text())
        hosts = [f"node{r % 3}" for r in range(RANKS)]
        (run / "manifest.json").write_text(json.dumps({**manifest, "hosts": hosts}))
        (run / "rank7.sqlite").unlink()
        memory = self.least_memory(run, [range(i, RANKS, 3) for i in range(3)])
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
