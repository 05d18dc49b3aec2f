#!/usr/bin/env python3
"""A sample of scripts/check_targets: each program for sm_90, by clang and ptxas without a GPU; and that it notices mistakes.

    targets_test.py build/tests/kernels/program_variants

About 30 s on two cores. Skipped where clang-14, libclc-14 or ptxas is missing.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import check_targets  # noqa: E402
import skips  # noqa: E402

LISTS_VARIANTS = pathlib.Path(sys.argv.pop(1)).resolve()
PYPI = LISTS_VARIANTS.parents[2] / "pypi_targets"
TABLE = ROOT / "tests" / "kernels" / "targets" / "targets.tsv"


def check(*options, environment=None):
    return subprocess.run([sys.executable, ROOT / "scripts" / "lib" / "check_targets.py", "--pypi", PYPI, *options],
                          capture_output=True, text=True, timeout=600, check=False, env={**os.environ, **(environment or {})})


class TargetsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.variants = pathlib.Path(directory.name)
        subprocess.run([LISTS_VARIANTS, self.variants], check=True)

    def compiled(self, *options, expect, target="sm_90"):
        done = check("--variants", self.variants, "--target", target, *options)
        if done.returncode == 4:
            skips.skip("ptxas" if "ptxas" in done.stderr else "nvptx", done.stderr.strip())
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def keep(self, program, change=None):
        """Leaves the first variant of one program, whose text `change` may change."""
        path = self.variants / "variants.json"
        targets = json.loads(path.read_text())
        for of_target in targets.values():
            of_target["variants"] = [variant for variant in of_target["variants"]
                                     if variant["program"] == program][:1]
        path.write_text(json.dumps(targets))
        if change is not None:
            text = (self.variants / program).read_text()
            self.assertNotEqual(change(text), text)
            (self.variants / program).write_text(change(text))

    def test_each_program_compiles_as_in_the_table(self):
        done = self.compiled("--sample", expect=0)
        programs = {path.name for path in self.variants.glob("*.cl")}
        self.assertGreater(len(programs), 30)
        tried, of = map(int, done.stdout.splitlines()[1].split()[1:4:2])
        self.assertEqual(tried, of)
        self.assertGreaterEqual(tried, len(programs))

    def test_a_mistake_is_named(self):
        self.keep("fill.cl", lambda text: text.replace("__kernel void sequence_real(", "not_a_type x;\n__kernel void sequence_real("))
        message = self.compiled(expect=1).stderr
        self.assertRegex(message, r"fill\.cl with .* does not compile")
        self.assertRegex(message, r"fill\.cl:\d+:1: error: .*not_a_type")

    def test_a_function_that_the_library_lacks_is_named(self):
        self.keep("fill.cl", lambda text: text.replace(
            "__kernel void sequence_real(", "void nobody_has_this(void);\n__kernel void probe_it(void) { nobody_has_this(); }\n__kernel void sequence_real("))
        self.assertRegex(self.compiled(expect=1).stderr, r"fill\.cl with .* does not compile: ptxas for sm_90:\n.*nobody_has_this")
        self.assertRegex(self.compiled(expect=1, target="gfx90a").stderr, r"fill\.cl with .* no function nobody_has_this")

    def test_spilled_registers_are_a_failure(self):
        numbers = range(400)  # more than the 255 registers of a work-item
        loads = "".join(f"float v{i} = p[{i}];\n" for i in numbers)
        stores = "".join(f"p[{i}] = v{400 - 1 - i};\n" for i in numbers)
        self.keep("fill.cl", lambda text: f"{text}\n__kernel void many(__global volatile float* p) {{\n{loads}{stores}}}\n")
        self.assertRegex(self.compiled(expect=1).stderr, r"fill\.cl, many, sm_90: spills \d+ bytes; it is not listed")

    def change_variant(self, change):
        path = self.variants / "variants.json"
        of_targets = json.loads(path.read_text())
        change(of_targets["sm_90"]["variants"][0])
        path.write_text(json.dumps(of_targets))

    def test_a_lost_instruction_is_named(self):
        self.keep("gemm_mma.cl")
        self.change_variant(lambda variant: variant["instructions"].update({"mma.sync.of_another_gpu": 8}))
        self.assertIn("0 instructions mma.sync.of_another_gpu, expected 8", self.compiled(expect=1).stderr)

    def test_more_work_items_than_registers_are_named(self):
        self.keep("gemm_mma.cl")
        self.change_variant(lambda variant: variant["entries"]["gemm_mma"].update(work_items=1 << 14))
        self.assertRegex(self.compiled(expect=1).stderr, r"gemm_mma, sm_90: 16384 work-items of \d+ registers; a processor has 65536")

    def test_a_changed_kernel_differs_from_the_table(self):
        self.keep("fill.cl")
        table = self.variants / "table.tsv"
        lines = TABLE.read_text().splitlines()
        column = next(line for line in lines if line.startswith("program")).split("\t").index("sm_90")
        for i, line in enumerate(lines):
            if line.startswith("fill.cl\t"):
                cells = line.split("\t")
                cells[column] = "1" + cells[column]
                lines[i] = "\t".join(cells)
        table.write_text("\n".join(lines) + "\n")
        done = check("--variants", self.variants, "--target", "sm_90", "--table", table)
        if done.returncode == 4 or "is not compared" in done.stderr:
            skips.skip("ptxas", done.stderr.strip())
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"fill\.cl, sequence_real, sm_90, .*: registers 1(\d+) -> \1\n")

    def test_a_kernel_that_nothing_launches_is_named(self):
        (self.variants / "two.cl").write_text("__kernel void used(int n) {}\n__kernel void unused(int n) {}\n")
        jobs = [(("nvidia", "two.cl", ""), {"sm_90": {"entries": {"used": {}}}})]
        values = {("sm_90", "two.cl", entry, ""): {} for entry in ("used", "unused")}
        self.assertEqual([problem.split(":")[0] for problem in check_targets.unused_problems(self.variants, jobs, values)],
                         ["two.cl, unused"])

    def test_a_missing_package_is_named(self):
        done = check("--variants", self.variants, environment={"PATH": str(self.variants)})
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("package clang-14", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
