// Measures one kind of collective over a range of sizes, as nccl-tests does: what
// `reprise bench collectives` prints.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms/algorithm_choices.h"
#include "collectives/communicator.h"

namespace reprise {

struct BenchOptions {
  CommKind kind = CommKind::kAllReduce;  // kSend: every rank sends to the next and receives
  std::int64_t min_bytes = 32 << 20;
  std::int64_t max_bytes = 32 << 20;
  std::int64_t step_bytes = 1 << 20;  // next size = size × step_factor, + step_bytes if that is 1
  std::int64_t step_factor = 1;
  int iterations = 20;
  int warmup = 5;
  bool check = true;
  std::vector<DType> dtypes = {DType::kFloat32};
  std::vector<ReduceOp> ops = {ReduceOp::kSum};
  int root = 0;
  AlgorithmChoices algorithms;  // none: the transport's own
};

struct BenchTiming {
  std::int64_t time_ns = 0;  // per iteration, mean over ranks
  double algbw_gb_per_s = 0;
  double busbw_gb_per_s = 0;
  std::int64_t wrong = -1;  // elements on all ranks; -1: not checked
};

// One size. `bytes` is the larger buffer of any rank, a multiple of what all ranks need for equal
// blocks; `count` the elements of one block, or of the whole message where there are no blocks.
struct BenchRow {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  DType dtype = DType::kFloat32;
  std::optional<ReduceOp> op;
  std::optional<int> root;
  BenchTiming out_of_place;
  std::optional<BenchTiming> in_place;  // where the kind has a meaning for it
};

// UsageError for sizes, counts or ops that make no sense together.
[[nodiscard]] Status ValidateBench(const BenchOptions& options, int ranks);
// The sizes from min_bytes to max_bytes; 0 alone for a barrier.
[[nodiscard]] std::vector<std::int64_t> BenchSizes(const BenchOptions& options);
// Collective over all ranks, which all get the same rows; `on_row` is called as each is done.
[[nodiscard]] Result<std::vector<BenchRow>> RunBench(
    Communicator& communicator, const BenchOptions& options,
    const std::function<void(const BenchRow&)>& on_row);

}  // namespace reprise
