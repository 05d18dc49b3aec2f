#include "collectives/bench/collective_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "collectives/algorithms/group.h"
#include "collectives/bench/bench_case.h"
#include "collectives/host_reduction.h"
#include "collectives/layout.h"
#include "core/clock.h"

namespace reprise {
namespace {

constexpr std::int64_t kMaxBenchSizes = 10'000;

Result<BenchTiming> MeasureOnce(Communicator& communicator, GroupComm& group,
                                const BenchOptions& options, BenchCase& bench, bool in_place) {
  bench.Allocate(in_place);
  bench.Fill();
  for (int i = 0; i < options.warmup; ++i) {
    REPRISE_TRY(bench.RunOnce(group));
  }
  REPRISE_TRY(communicator.Barrier());
  const std::int64_t start_ns = MonotonicNs();
  for (int i = 0; i < options.iterations; ++i) {
    REPRISE_TRY(bench.RunOnce(group));
  }
  const std::int64_t mine_ns = (MonotonicNs() - start_ns) / options.iterations;
  std::int64_t wrong = 0;
  if (options.check) {
    bench.Fill();
    REPRISE_TRY(bench.RunOnce(group));
    wrong = bench.CountWrong();
  }
  REPRISE_ASSIGN(BenchTiming timing,
                 CombineRanks(communicator, bench.row(), options.kind, mine_ns, wrong));
  timing.wrong = options.check ? timing.wrong : -1;
  return timing;
}

}  // namespace

std::vector<std::int64_t> BenchSizes(const BenchOptions& options) {
  if (options.kind == CommKind::kBarrier) {
    return {0};
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = options.min_bytes;;) {
    sizes.push_back(bytes);
    const bool last = options.step_factor > 1 ? bytes > options.max_bytes / options.step_factor
                                              : bytes > options.max_bytes - options.step_bytes;
    if (last) {
      return sizes;
    }
    bytes = options.step_factor > 1 ? bytes * options.step_factor : bytes + options.step_bytes;
  }
}

Status ValidateBench(const BenchOptions& options, int ranks) {
  if (options.min_bytes < 1 || options.max_bytes < options.min_bytes) {
    return UsageError(
        fmt::format("sizes from {} to {} bytes", options.min_bytes, options.max_bytes));
  }
  if (options.step_factor < 1 || (options.step_factor == 1 && options.step_bytes < 1)) {
    return UsageError("sizes must grow: a factor above 1, or an increment above 0");
  }
  if (options.step_factor == 1 &&
      (options.max_bytes - options.min_bytes) / options.step_bytes >= kMaxBenchSizes) {
    return UsageError(fmt::format(
        "more than {} sizes; choose a larger --stepbytes, or --stepfactor", kMaxBenchSizes));
  }
  if (options.iterations < 1 || options.warmup < 0) {
    return UsageError("at least one iteration, and no negative warm-up");
  }
  if (options.root < 0 || options.root >= ranks) {
    return UsageError(fmt::format("root {} of {} ranks", options.root, ranks));
  }
  if (IsPointToPoint(options.kind) && ranks < 2) {
    return UsageError("send and recv take two ranks: start with mpirun -n 2 or more");
  }
  const auto exists = [&](DType dtype) {
    return !IsReduction(options.kind) ||
           std::ranges::any_of(options.ops, [dtype](ReduceOp op) { return CanReduce(dtype, op); });
  };
  if (std::ranges::none_of(options.dtypes, exists)) {
    return UsageError("no such reduction of that type");
  }
  return {};
}

Result<std::vector<BenchRow>> RunBench(Communicator& communicator, const BenchOptions& options,
                                       const std::function<void(const BenchRow&)>& on_row) {
  REPRISE_TRY(ValidateBench(options, communicator.size()));
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  GroupMaker maker(communicator, options.algorithms);
  REPRISE_ASSIGN(const auto group, maker.Create(ranks, "bench"));
  const GroupPlace place{.ranks = ranks, .rank = communicator.rank()};
  const auto ops =
      IsReduction(options.kind) ? options.ops : std::vector<ReduceOp>{ReduceOp::kSum};  // ignored
  std::vector<BenchRow> rows;
  for (const DType dtype : options.dtypes) {
    for (const ReduceOp op : ops) {
      if (IsReduction(options.kind) && !CanReduce(dtype, op)) {
        continue;
      }
      for (const std::int64_t bytes : BenchSizes(options)) {
        BenchCase bench(options.kind, bytes, dtype, op, options.root, place);
        BenchRow row = bench.row();
        REPRISE_ASSIGN(row.out_of_place, MeasureOnce(communicator, *group, options, bench, false));
        if (HasInPlace(options.kind)) {
          REPRISE_ASSIGN(row.in_place, MeasureOnce(communicator, *group, options, bench, true));
        }
        on_row(row);
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace reprise
