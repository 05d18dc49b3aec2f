#!/usr/bin/env python3
"""A published job at two sizes: the smaller one generated, rescaled to the larger, both modelled; nothing fitted.

    bench/predict/scaled_steps.py [--binary build/reprise]

Megatron-LM's H100 table has 177 B on 96 and on 4,608 GPUs with one batch, so with 576 and 12 micro-batches. Printed is how much longer the larger
job's step takes than with linear scaling. The smaller step is extended from 48 and 96 micro-batches: it is linear in them once the pipeline is full.
Its interleaving is not published: 1F1B stands beside one layer a chunk.
"""
import argparse
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from megatron_steps import HERE, Simulator, h100_workload  # noqa: E402
from step_tables import micro_batches, read_rows  # noqa: E402

FEW, MORE = 48, 96


class Scaling(Simulator):
    def generate(self, row, name):
        job = self.folder / "job.json"
        job.write_text(json.dumps(h100_workload(row, FEW, row["layers"])))
        self.run("generate", job, "-o", self.folder / name, "--json", "--force")
        return self.folder / name

    def rescale(self, trace, name, *options):
        self.run("rescale", trace, *options, "-o", self.folder / name, "--json", "--force")
        return self.folder / name

    def step_of(self, trace):
        return self.run("simulate", trace, "--machine", "h100-hgx", "-o", self.folder / "run", "--force", "--json")["step_time_ns"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/reprise")
    flags = parser.parse_args()
    small, large = (next(row for row in read_rows(HERE / "megatron_h100_steps.csv") if row["gpus"] == gpus) for gpus in (96, 4608))
    ratio = large["gpus"] / small["gpus"]
    published = small["teraflops"] / large["teraflops"]
    print(f"published: {published:.3f} of linear scaling's step; linear scaling is {1 / published - 1:+.1%} off")
    with tempfile.TemporaryDirectory(prefix="scaled_") as folder:
        scaling = Scaling(flags.binary, folder)
        for virtual in (1, small["layers"] // small["pp"]):
            few = scaling.generate({**small, "virtual": virtual}, "few")
            more = scaling.rescale(few, "more", "--micro-batches", MORE)
            scaled = scaling.rescale(few, "scaled", "--micro-batches", micro_batches(large), "--dp", large["dp"])
            few_ns, more_ns, scaled_ns = map(scaling.step_of, (few, more, scaled))
            whole_ns = more_ns + (micro_batches(small) - MORE) / (MORE - FEW) * (more_ns - few_ns)
            factor = scaled_ns * ratio / whole_ns
            print(f"{virtual} virtual stages: modelled {factor:.3f}, {factor / published - 1:+.1%}", flush=True)


if __name__ == "__main__":
    main()
