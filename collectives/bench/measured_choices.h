// Which algorithm is fastest on this machine: a short measurement before a run, kept in a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithms/algorithm_choices.h"
#include "collectives/algorithms/group.h"
#include "collectives/communicator.h"
#include "core/result.h"

namespace reprise {

// Collectives that are measured as one: sizes from half to twice `bytes`, a power of 4 from
// kLeastMeasuredBytes to kMostMeasuredBytes (which stands for all above).
struct CollectiveClass {
  CommKind kind = CommKind::kAllReduce;
  int members = 0;
  int hosts = 0;  // of the members
  std::int64_t bytes = 0;
  auto operator<=>(const CollectiveClass&) const = default;
};
// Below, a call of MPI takes microseconds, and nothing made of messages is faster.
inline constexpr std::int64_t kLeastMeasuredBytes = 16 << 10;
inline constexpr std::int64_t kMostMeasuredBytes = 16 << 20;

// The class of a transfer; nothing where no measurement decides: a barrier, send and recv, a group
// of one, fewer bytes than are measured, members of different sizes.
[[nodiscard]] std::optional<CollectiveClass> ClassOf(const ChosenTransfer& transfer);

struct MeasuredAlgorithm {
  std::string algorithm = "mpi";  // as in --algo
  std::int64_t time_ns = 0;       // of one, median of rounds; in place and not, where both exist
  std::int64_t mpi_ns = 0;        // of MPI's own call
  bool operator==(const MeasuredAlgorithm&) const = default;
};
using MeasuredTable = std::map<CollectiveClass, MeasuredAlgorithm>;
// What the table says, as choices.
[[nodiscard]] AlgorithmChoices ChoicesOf(const MeasuredTable& table);

// A group of the run, as every rank knows it.
struct MeasuredGroup {
  std::vector<std::int32_t> ranks;
  int hosts = 0;              // of these ranks
  GroupComm* comm = nullptr;  // made by the maker below; null where this rank is no member
};

// Measures each class in groups of its size and hosts, in as many at a time as share no rank. MPI's
// own call stays where no algorithm is at least a tenth faster in most rounds. Ends early once
// `budget_ns` have passed: the table then lacks the rest. Classes without a group are left out.
// Collective over all ranks of the run, with the same classes and groups in the same order; every
// rank gets the same table. Uses the maker for its candidates, and leaves it without choices.
[[nodiscard]] Result<MeasuredTable> MeasureAlgorithms(Communicator& communicator, GroupMaker& maker,
                                                      std::span<const MeasuredGroup> groups,
                                                      std::span<const CollectiveClass> classes,
                                                      std::int64_t budget_ns);

// What `asked` leaves open of this rank's transfers is added: from the file and, for classes that
// it lacks, from a measurement, which rank 0 adds to the file; or from AlgorithmChoices::Table,
// where `asked` wants no measurement. An empty path: nothing is kept. A file that cannot be read or
// written is said in a warning. `library`: the version of MPI, for which a measurement holds.
// Collective; `transfers` may differ among ranks.
[[nodiscard]] Result<AlgorithmChoices> CompleteChoices(
    Communicator& communicator, GroupMaker& maker, std::span<const MeasuredGroup> groups,
    std::span<const ChosenTransfer> transfers, const AlgorithmChoices& asked,
    const std::string& path, const std::string& library);

}  // namespace reprise
