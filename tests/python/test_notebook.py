"""The example notebook, executed from its first cell to its last on a run made here."""
import os
import unittest

import made
import nbclient
import nbformat

NOTEBOOK = made.program.ROOT / "python" / "examples" / "analyse_a_run.ipynb"


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
        report = made.report(made.real_run())
        joules = float(self.shown("def joules").split("\n")[0].split()[-1])
        self.assertAlmostEqual(joules, report["energy"][0]["joules"], delta=0.03 * joules)

    def test_stored_without_results(self):
        for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
            self.assertFalse(cell.get("outputs"), "outputs are of one machine: clear them before a commit")
