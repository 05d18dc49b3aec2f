// Ranks of a run that each stand for a class of equal ranks (RankFacts::class_members).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/nodes/measured.h"

namespace reprise {

class ClassMembers {
 public:
  explicit ClassMembers(std::span<const MeasuredRank> ranks);

  // False: each rank stands for itself.
  [[nodiscard]] bool present() const { return !members_.empty(); }
  // The position among `ranks` of the one that stands for a rank of the job; nothing: none does.
  [[nodiscard]] std::optional<std::uint32_t> PositionOf(std::int32_t job_rank) const;

 private:
  struct Members {
    std::int32_t first = 0, last = 0, stride = 1;
    std::uint32_t position = 0;
  };
  std::vector<Members> members_;
};

}  // namespace reprise
