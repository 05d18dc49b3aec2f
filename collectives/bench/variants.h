// Several ways to do the same collective, measured in turn: algorithms x chunks, and a bare loop of
// MPI's calls as the yardstick. What `reprise bench collectives NAME --variants` prints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/bench/collective_bench.h"

namespace reprise {

// A collective as a program that calls MPI itself would do it: one nonblocking call and its
// completion, nothing else around. On the buffers of this rank; sizes below 2 GiB.
class BareCollective {
 public:
  virtual ~BareCollective() = default;
  [[nodiscard]] virtual Status RunOnce(const CommSpec& spec, std::span<const std::byte> in,
                                       std::span<std::byte> out) = 0;
};
// Over all ranks of the run (MPI_COMM_WORLD); collective. Usage error where the communicator is not
// MPI's, EnvironmentError where MPI fails.
[[nodiscard]] Result<std::unique_ptr<BareCollective>> CreateBareCollective(
    Communicator& communicator);

struct CollectiveVariant {
  std::string name;  // as in --algo, or "bare MPI"
  AlgorithmChoices algorithms;
  bool bare = false;
};
// The algorithms that support the kind, each with each chunk and number of channels; first bare MPI
// (on that transport), then the transport's own.
[[nodiscard]] std::vector<CollectiveVariant> CollectiveVariants(
    const Communicator& communicator, CommKind kind, const std::vector<std::int64_t>& chunks,
    const std::vector<int>& channels);

// Of one variant and size; out of place.
struct VariantTiming {
  BenchTiming median;           // over rounds, of the mean over ranks
  std::int64_t fastest_ns = 0;  // round
  std::int64_t slowest_ns = 0;
};
struct VariantRow {
  std::int64_t bytes = 0;
  std::vector<VariantTiming> timings;  // by variant
};

// Every round runs `options.iterations` of each variant, one after the other, beginning with
// another one each round; so all of them see the same machine. Collective; every rank gets the same
// rows. Takes the first dtype and op of the options.
[[nodiscard]] Result<std::vector<VariantRow>> RunVariants(
    Communicator& communicator, const BenchOptions& options,
    const std::vector<CollectiveVariant>& variants, int rounds,
    const std::function<void(const VariantRow&)>& on_row);

}  // namespace reprise
