// Times that only the HTML report shows: by rank, step, iteration and class, and which ranks made
// others wait. Only report/ sees this.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "report/nodes/measured_run.h"

namespace reprise {

// One step of one rank: as recorded, or one iteration of it as replayed.
struct StepClassRow {
  std::int32_t rank = 0, step = 0;
  std::int32_t iteration = -1;  // -1: recorded
  std::int64_t step_ns = 0;     // 0: unknown
  std::vector<std::int64_t>
      class_ns;  // by StepClasses::classes; transfers from the last arrival on
};

struct StepClasses {
  std::vector<std::string> classes;  // by recorded time, longest first
  std::vector<StepClassRow> recorded, replayed;
  std::int64_t iterations_left_out = 0;
};

// Ranks come in any number of parts.
class StepClassSums {
 public:
  StepClassSums() = default;
  // Of one rank, without how long its transfers took as replayed.
  explicit StepClassSums(const MeasuredRank& rank);
  // That of one of them: of the rank's node that counts, in one iteration.
  void AddTransfer(std::int32_t rank, const NodeInfo& node, const NodeRecord& record,
                   std::int64_t own_ns);
  // The next ranks'.
  void Add(StepClassSums&& others);
  // By rank, step and iteration. At most `most_cells` class times as replayed: whole iterations,
  // the first ones, at least one.
  [[nodiscard]] StepClasses Finish(std::size_t most_cells) const;

  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.recorded_);
    visit(self.replayed_);
    visit(self.present_);
  }

 private:
  struct Sum {
    std::int64_t step_ns = 0;
    std::array<std::int64_t, kOpClassCount> class_ns{};
  };
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // rank, step, iteration
  [[nodiscard]] std::vector<std::size_t> ClassesInOrder() const;
  [[nodiscard]] std::set<std::int32_t> ChooseIterations(std::size_t classes, std::size_t most_cells,
                                                        std::int64_t& left_out) const;

  std::map<Key, Sum> recorded_, replayed_;
  std::array<bool, kOpClassCount> present_{};
};

// A rank in its collectives with others. Times are per pass over the trace: the mean of iterations.
struct StragglerRow {
  std::int32_t rank = 0;
  std::int64_t transfers = 0;                                   // measured, all iterations
  std::int64_t last = 0;                                        // of these, where it arrived last
  std::int64_t recorded_waited_ns = 0, replayed_waited_ns = 0;  // from its arrival to the last one
  std::int64_t caused_ns = 0;  // while it was last: how long the other members waited, their mean
};

// Ranks come in any number of parts.
class StragglerSums {
 public:
  // Of all ranks.
  explicit StragglerSums(std::span<const MeasuredRank> outline);
  // Each rank once.
  void Add(const MeasuredRun& part);
  [[nodiscard]] std::vector<StragglerRow> Finish();

 private:
  // What members waited for the last one in one iteration of a collective.
  struct Wait {
    std::int64_t sum_ns = 0;
    std::int64_t least_ns = INT64_MAX;  // of the last to arrive
    std::uint32_t last = UINT32_MAX;    // its position
    std::int32_t came = 0, members = 0;
  };
  void AddRank(const MeasuredRun& part, std::size_t r);

  std::vector<StragglerRow> rows_;    // by position
  std::vector<std::int64_t> passes_;  // likewise
  std::vector<Wait> waits_;           // as RunTransfers numbers executions
};

}  // namespace reprise
