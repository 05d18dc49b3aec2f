#include "collectives/bench/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "collectives/algorithms/algorithm.h"
#include "collectives/algorithms/group.h"
#include "collectives/bench/bench_case.h"
#include "core/bytes.h"
#include "core/clock.h"

namespace reprise {
namespace {

// One way, ready to run.
struct Runner {
  std::unique_ptr<GroupComm> group;
  BareCollective* bare = nullptr;

  [[nodiscard]] Status RunOnce(BenchCase& bench) const {
    return bare == nullptr ? bench.RunOnce(*group)
                           : bare->RunOnce(bench.specs()[0], bench.In(0), bench.Out(0));
  }
};

Result<std::int64_t> TimeRound(Communicator& communicator, const Runner& runner, BenchCase& bench,
                               int iterations) {
  REPRISE_TRY(communicator.Barrier());
  REPRISE_TRY(runner.RunOnce(bench));  // the caches are this way's own
  const std::int64_t start_ns = MonotonicNs();
  for (int i = 0; i < iterations; ++i) {
    REPRISE_TRY(runner.RunOnce(bench));
  }
  return (MonotonicNs() - start_ns) / iterations;
}

VariantTiming Summarise(const BenchCase& bench, const BenchOptions& options, int ranks,
                        std::vector<std::int64_t> times_ns, std::int64_t wrong) {
  std::ranges::sort(times_ns);
  VariantTiming timing{.fastest_ns = times_ns.front(), .slowest_ns = times_ns.back()};
  timing.median.time_ns = times_ns[times_ns.size() / 2];
  timing.median.wrong = options.check ? wrong : -1;
  SetRates(bench.row(), options.kind, ranks, timing.median);
  return timing;
}

Result<VariantRow> MeasureSize(Communicator& communicator, const BenchOptions& options,
                               const std::vector<Runner>& runners, int rounds, BenchCase& bench) {
  const std::size_t count = runners.size();
  std::vector<std::vector<std::int64_t>> times_ns(count);
  std::vector<std::int64_t> wrong(count, 0);
  bench.Allocate(false);
  bench.Fill();
  for (std::size_t v = 0; v < count; ++v) {
    for (int i = 0; i < options.warmup; ++i) {
      REPRISE_TRY(runners[v].RunOnce(bench));
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t v = (k + static_cast<std::size_t>(round)) % count;
      REPRISE_ASSIGN(const std::int64_t mine_ns,
                     TimeRound(communicator, runners[v], bench, options.iterations));
      REPRISE_ASSIGN(const BenchTiming all,
                     CombineRanks(communicator, bench.row(), options.kind, mine_ns, 0));
      times_ns[v].push_back(all.time_ns);
    }
  }
  VariantRow row{.bytes = bench.row().bytes, .timings = {}};
  for (std::size_t v = 0; v < count; ++v) {
    if (options.check) {
      bench.Fill();
      REPRISE_TRY(runners[v].RunOnce(bench));
      REPRISE_ASSIGN(const BenchTiming all,
                     CombineRanks(communicator, bench.row(), options.kind, 0, bench.CountWrong()));
      wrong[v] = all.wrong;
    }
    row.timings.push_back(Summarise(bench, options, communicator.size(), times_ns[v], wrong[v]));
  }
  return row;
}

}  // namespace

std::vector<CollectiveVariant> CollectiveVariants(const Communicator& communicator, CommKind kind,
                                                  const std::vector<std::int64_t>& chunks,
                                                  const std::vector<int>& channels) {
  std::vector<CollectiveVariant> variants;
  if (communicator.transport() == "mpi") {
    variants.push_back({.name = "bare MPI", .algorithms = {}, .bare = true});
  }
  variants.push_back({.name = std::string(communicator.transport()), .algorithms = {}});
  for (const auto& algorithm : BuiltinAlgorithms()) {
    if (!algorithm->Supports(kind)) {
      continue;
    }
    for (const std::int64_t chunk : chunks) {
      for (const int count : channels) {
        CollectiveVariant variant{.name = fmt::format("{},chunk={},channels={}", algorithm->name(),
                                                      ShowBytes(chunk), count),
                                  .algorithms = {}};
        static_cast<void>(variant.algorithms.Add(variant.name));  // well-formed: made here
        variants.push_back(std::move(variant));
      }
    }
  }
  return variants;
}

Result<std::vector<VariantRow>> RunVariants(Communicator& communicator, const BenchOptions& options,
                                            const std::vector<CollectiveVariant>& variants,
                                            int rounds,
                                            const std::function<void(const VariantRow&)>& on_row) {
  REPRISE_TRY(ValidateBench(options, communicator.size()));
  if (rounds < 1 || variants.empty() || IsPointToPoint(options.kind)) {
    return UsageError("a comparison of variants takes a collective and one round or more");
  }
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const GroupPlace place{.ranks = ranks, .rank = communicator.rank()};
  std::unique_ptr<BareCollective> bare;
  std::vector<Runner> runners;
  for (const CollectiveVariant& variant : variants) {
    Runner runner;
    if (variant.bare) {
      REPRISE_ASSIGN(bare, CreateBareCollective(communicator));
      runner.bare = bare.get();
    } else {
      GroupMaker maker(communicator, variant.algorithms);
      REPRISE_ASSIGN(runner.group, maker.Create(ranks, "bench"));
    }
    runners.push_back(std::move(runner));
  }
  std::vector<VariantRow> rows;
  for (const std::int64_t bytes : BenchSizes(options)) {
    BenchCase bench(options.kind, bytes, options.dtypes.front(), options.ops.front(), options.root,
                    place);
    REPRISE_ASSIGN(VariantRow row, MeasureSize(communicator, options, runners, rounds, bench));
    on_row(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace reprise
