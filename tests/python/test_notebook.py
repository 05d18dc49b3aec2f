"""The example notebook, executed from its first cell to its last on a run made here."""
import os
import unittest

import made
import nbclient
import nbformat
import reprise

NOTEBOOK = made.program.ROOT / "report" / "python" / "examples" / "analyse_a_run.ipynb"


class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["REPRISE_RUN"] = str(made.real_run())
        os.environ["REPRISE_TRACE"] = str(made.trace("gloo/gpt_single"))
        cls.notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbclient.NotebookClient(cls.notebook, timeout=300, kernel_name="python3").execute()
        cls.cells = [cell for cell in cls.notebook.cells if cell.cell_type == "code"]

    def shown(self, source):
        cell, = (cell for cell in self.cells if source in cell.source)
        return "\n".join(output.data["text/plain"] for output in cell.outputs if "data" in output)

    def test_every_cell_shows_something_and_nothing_warns(self):
        for cell in self.cells:
            self.assertEqual([output.output_type for output in cell.outputs], ["execute_result"], cell.source)

    def test_energy_is_the_reports(self):
        row = made.report(made.real_run())["energy"][0]
        joules = float(self.shown("def joules").split("\n")[0].split()[-1])
        # The report counts to the very bounds, the notebook from the first sample within to the last.
        power = reprise.Run(made.real_run()).samples(row["metric"])
        longest_s = power["time_ns"].diff().max() * 1e-9
        self.assertLessEqual(joules, row["joules"] * 1.001)
        self.assertGreaterEqual(joules, row["joules"] - 2 * longest_s * power["value_watts"].max())

    def test_stored_without_results(self):
        for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
            self.assertFalse(cell.get("outputs"), "outputs are of one machine: clear them before a commit")
