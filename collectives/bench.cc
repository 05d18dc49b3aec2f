#include "collectives/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "collectives/layout.h"
#include "collectives/reduce.h"
#include "core/clock.h"

namespace reprise {
namespace {

bool HasBlocks(CommKind kind) {
  return kind == CommKind::kAllGather || kind == CommKind::kGather || kind == CommKind::kScatter ||
         kind == CommKind::kAllToAll || kind == CommKind::kReduceScatter;
}

bool HasInPlace(CommKind kind) {
  return !IsPointToPoint(kind) && kind != CommKind::kAllToAll && kind != CommKind::kBarrier;
}

// Where `in` and `out` lie in one piece of memory.
struct Offsets {
  std::int64_t in = 0;
  std::int64_t out = 0;
};

// nccl-tests' meaning of in place: the own block's slot in the larger buffer, else the same memory.
Offsets OffsetsOf(const CommSpec& spec, bool in_place, std::int64_t block_bytes, int rank) {
  if (!in_place) {
    return {.in = 0, .out = spec.in_bytes};
  }
  switch (spec.kind) {
    case CommKind::kAllGather:
    case CommKind::kGather:
      return {.in = block_bytes * rank, .out = 0};
    case CommKind::kReduceScatter:
    case CommKind::kScatter:
      return {.in = 0, .out = block_bytes * rank};
    default:
      return {};
  }
}

class Bench {
 public:
  Bench(Communicator& communicator, GroupComm& group, const BenchOptions& options,
        std::span<const std::int32_t> ranks)
      : communicator_(communicator),
        group_(group),
        options_(options),
        place_{.ranks = ranks, .rank = communicator.rank()} {}

  Result<BenchRow> Measure(std::int64_t bytes, DType dtype, ReduceOp op) {
    const std::int64_t width = SizeOf(dtype);
    const std::int64_t parts = HasBlocks(options_.kind) ? place_.size() : 1;
    BenchRow row{.count = bytes / (width * parts), .dtype = dtype};
    row.bytes = row.count * width * parts;
    if (IsReduction(options_.kind)) {
      row.op = op;
    }
    if (HasRoot(options_.kind)) {
      row.root = options_.root;
    }
    specs_ = SpecsOf(row, op);
    REPRISE_ASSIGN(row.out_of_place, MeasureOnce(row, false));
    if (HasInPlace(options_.kind)) {
      REPRISE_ASSIGN(row.in_place, MeasureOnce(row, true));
    }
    return row;
  }

 private:
  // One spec, or a send and its recv.
  [[nodiscard]] std::vector<CommSpec> SpecsOf(const BenchRow& row, ReduceOp op) const {
    CommSpec spec{.kind = options_.kind, .group = "bench", .dtype = row.dtype, .op = op};
    const std::int64_t block = row.count * SizeOf(row.dtype);
    const int n = place_.size();
    spec.root = HasRoot(spec.kind) ? options_.root : -1;
    switch (spec.kind) {
      case CommKind::kSend: {
        spec.in_bytes = block;
        spec.peer = (place_.rank + 1) % n;
        CommSpec recv = spec;
        recv.kind = CommKind::kRecv;
        recv.peer = (place_.rank + n - 1) % n;
        recv.in_bytes = 0;
        recv.out_bytes = block;
        return {recv, spec};
      }
      case CommKind::kAllGather:
      case CommKind::kGather:
        spec.in_bytes = block;
        spec.out_bytes = row.bytes;
        break;
      case CommKind::kReduceScatter:
      case CommKind::kScatter:
        spec.in_bytes = row.bytes;
        spec.out_bytes = block;
        break;
      case CommKind::kBarrier:
        break;
      default:
        spec.in_bytes = spec.out_bytes = row.bytes;
    }
    return {spec};
  }

  Status RunOnce() {
    std::vector<std::unique_ptr<Transfer>> transfers;
    transfers.reserve(specs_.size());
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      REPRISE_ASSIGN(auto transfer, group_.Start(specs_[i], In(i), Out(i)));
      transfers.push_back(std::move(transfer));
    }
    for (const auto& transfer : transfers) {
      bool done = false;
      while (!done) {
        REPRISE_ASSIGN(done, transfer->Test());
      }
    }
    return {};
  }

  [[nodiscard]] std::span<std::byte> In(std::size_t i) {
    return std::span(memory_).subspan(static_cast<std::size_t>(offsets_[i].in),
                                      static_cast<std::size_t>(specs_[i].in_bytes));
  }
  [[nodiscard]] std::span<std::byte> Out(std::size_t i) {
    return std::span(memory_).subspan(static_cast<std::size_t>(offsets_[i].out),
                                      static_cast<std::size_t>(specs_[i].out_bytes));
  }

  void Allocate(const BenchRow& row, bool in_place) {
    const std::int64_t block = row.count * SizeOf(row.dtype);
    std::int64_t needed = 0;
    offsets_.clear();
    for (const CommSpec& spec : specs_) {
      Offsets offsets = OffsetsOf(spec, in_place, block, place_.rank);
      if (IsPointToPoint(spec.kind)) {
        offsets = {.in = needed, .out = needed};
      }
      offsets_.push_back(offsets);
      needed = std::max({needed, offsets.in + spec.in_bytes, offsets.out + spec.out_bytes});
    }
    memory_.resize(static_cast<std::size_t>(needed));
  }

  Result<BenchTiming> MeasureOnce(const BenchRow& row, bool in_place) {
    Allocate(row, in_place);
    Fill();
    for (int i = 0; i < options_.warmup; ++i) {
      REPRISE_TRY(RunOnce());
    }
    REPRISE_TRY(communicator_.Barrier());
    const std::int64_t start_ns = MonotonicNs();
    for (int i = 0; i < options_.iterations; ++i) {
      REPRISE_TRY(RunOnce());
    }
    const std::int64_t mine_ns = (MonotonicNs() - start_ns) / options_.iterations;
    std::int64_t wrong = 0;
    if (options_.check) {
      Fill();
      REPRISE_TRY(RunOnce());
      wrong = CountWrong();
    }
    return Combine(row, mine_ns, wrong);
  }

  void Fill() {
    // What is not written must show: everything else is neither input nor a likely result.
    std::fill(memory_.begin(), memory_.end(), std::byte{0xEE});
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      CollectiveRegistry::Builtin().Find(specs_[i].kind)->FillInput(specs_[i], place_, In(i));
    }
  }

  std::int64_t CountWrong() {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const Collective* collective = CollectiveRegistry::Builtin().Find(specs_[i].kind);
      wrong += collective->Check(specs_[i], place_, {}, Out(i)).wrong;
    }
    return wrong;
  }

  // Mean time and total of wrong elements over ranks.
  Result<BenchTiming> Combine(const BenchRow& row, std::int64_t mine_ns, std::int64_t wrong) {
    const std::int64_t mine[2] = {mine_ns, wrong};
    REPRISE_ASSIGN(
        const std::vector<std::string> all,
        communicator_.AllGather(std::string(reinterpret_cast<const char*>(mine), sizeof(mine))));
    BenchTiming timing;
    timing.wrong = options_.check ? 0 : -1;
    for (const std::string& text : all) {
      std::int64_t theirs[2] = {0, 0};
      std::memcpy(theirs, text.data(), std::min(text.size(), sizeof(theirs)));
      timing.time_ns += theirs[0] / place_.size();
      timing.wrong += options_.check ? theirs[1] : 0;
    }
    if (timing.time_ns > 0) {
      timing.algbw_gb_per_s = static_cast<double>(row.bytes) / static_cast<double>(timing.time_ns);
      timing.busbw_gb_per_s = timing.algbw_gb_per_s * BusFactor(options_.kind, place_.size());
    }
    return timing;
  }

  Communicator& communicator_;
  GroupComm& group_;
  const BenchOptions& options_;
  GroupPlace place_;
  std::vector<CommSpec> specs_;
  std::vector<Offsets> offsets_;
  std::vector<std::byte> memory_;
};

std::vector<std::int64_t> SizesOf(const BenchOptions& options) {
  if (options.kind == CommKind::kBarrier) {
    return {0};
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = options.min_bytes; bytes <= options.max_bytes;
       bytes = options.step_factor > 1 ? bytes * options.step_factor : bytes + options.step_bytes) {
    sizes.push_back(bytes);
  }
  return sizes;
}

}  // namespace

Status ValidateBench(const BenchOptions& options, int ranks) {
  if (options.min_bytes < 1 || options.max_bytes < options.min_bytes) {
    return UsageError(
        fmt::format("sizes from {} to {} bytes", options.min_bytes, options.max_bytes));
  }
  if (options.step_factor < 1 || (options.step_factor == 1 && options.step_bytes < 1)) {
    return UsageError("sizes must grow: a factor above 1, or an increment above 0");
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
           std::any_of(options.ops.begin(), options.ops.end(),
                       [dtype](ReduceOp op) { return CanReduce(dtype, op); });
  };
  if (std::none_of(options.dtypes.begin(), options.dtypes.end(), exists)) {
    return UsageError("no such reduction of that type");
  }
  return {};
}

Result<std::vector<BenchRow>> RunBench(Communicator& communicator, const BenchOptions& options,
                                       const std::function<void(const BenchRow&)>& on_row) {
  REPRISE_TRY(ValidateBench(options, communicator.size()));
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  REPRISE_ASSIGN(const auto group, communicator.CreateGroup(ranks));
  Bench bench(communicator, *group, options, ranks);
  std::vector<ReduceOp> ops = options.ops;
  if (!IsReduction(options.kind)) {
    ops = {ReduceOp::kSum};  // ignored
  }
  std::vector<BenchRow> rows;
  for (const DType dtype : options.dtypes) {
    for (const ReduceOp op : ops) {
      if (IsReduction(options.kind) && !CanReduce(dtype, op)) {
        continue;
      }
      for (const std::int64_t bytes : SizesOf(options)) {
        REPRISE_ASSIGN(BenchRow row, bench.Measure(bytes, dtype, op));
        on_row(row);
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace reprise
