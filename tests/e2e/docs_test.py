#!/usr/bin/env python3
"""Pages of docs/ that hold what the program prints."""
import re
import sys

import program

PAGE = program.ROOT / "docs" / "kernels.md"


class Docs(program.ProgramTest):
    def test_kernel_table_is_what_the_program_prints(self):
        printed = self.run_program("list", "kernels", "--markdown").stdout
        page = PAGE.read_text(encoding="utf-8")
        self.assertIn(printed, page,
                      f"{PAGE}: replace the table by what `reprise list kernels --markdown` prints")
        self.assertEqual(page.count("\n|"), printed.count("\n|") + 1, f"{PAGE}: one table only")

    def test_every_listed_operator_is_in_the_table(self):
        page = PAGE.read_text(encoding="utf-8")
        for kernel in self.run_json("list", "kernels")["kernels"]:
            for operator in kernel["operators"]:
                self.assertTrue(re.search(re.escape(f"`{operator}`"), page), operator)

    def test_markdown_or_json(self):
        self.run_program("list", "kernels", "--markdown", "--json", expect=2)


if __name__ == "__main__":
    sys.exit(program.main())
