// Plans taken apart into the sequences in which order matters.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/communicator.h"

namespace reprise {

// Collectives of a group, or point-to-point transfers from one rank to another in it.
struct SequenceKey {
  std::string group;
  std::int32_t source = -1;
  std::int32_t destination = -1;
  [[nodiscard]] bool IsPointToPoint() const { return source >= 0 || destination >= 0; }
  auto operator<=>(const SequenceKey&) const = default;
};

[[nodiscard]] SequenceKey SequenceKeyOf(const CommSpec& spec, std::int32_t rank);

// Of one rank: positions in its plan, in issue order; transfers to the outside are in no sequence.
[[nodiscard]] std::map<SequenceKey, std::vector<std::size_t>> SequencesOf(
    const std::vector<PlannedTransfer>& plan, std::int32_t rank);

class Sequences {
 public:
  // Rank → positions in that rank's plan, in issue order.
  using ByRank = std::map<std::int32_t, std::vector<std::size_t>>;

  explicit Sequences(const std::vector<std::vector<PlannedTransfer>>& plans);
  [[nodiscard]] const std::map<SequenceKey, ByRank>& all() const { return sequences_; }

 private:
  std::map<SequenceKey, ByRank> sequences_;
};

}  // namespace reprise
