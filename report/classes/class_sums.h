// Times of nodes by class or phase, and of work alone. Ranks come in any number of parts. Only
// report/ sees this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"
#include "report/values/class_values.h"

namespace reprise {

// `Key` is OpClass or Phase.
template <typename Key>
class ClassSums {
 public:
  explicit ClassSums(Key NodeInfo::*key) : key_(key) {}
  // Of the rank at this position.
  ClassSums(Key NodeInfo::*key, std::span<const MeasuredRank> ranks, std::size_t r,
            const TransferSummary& transfers);
  // The next ranks'.
  void Add(const ClassSums& others);
  // By recorded time, longest first.
  [[nodiscard]] std::vector<ClassRow> Finish() const;

 private:
  struct Sum {
    ClassRow row;
    bool work = false;  // some node is no transfer
  };
  Key NodeInfo::*key_;
  std::map<Key, Sum> sums_;
};
extern template class ClassSums<OpClass>;
extern template class ClassSums<Phase>;

// Of nodes that are no communication and have a replayed time.
class WorkTimes {
 public:
  struct Sum {
    std::int64_t recorded_ns = 0, replayed_ns = 0;
    std::int64_t tracing_ns = 0;  // of recorded_ns
  };
  WorkTimes() = default;
  // Of one rank.
  explicit WorkTimes(const MeasuredRank& rank);
  // The next ranks'.
  void Add(const WorkTimes& others);
  [[nodiscard]] const Sum& all() const { return all_; }
  // What --stretch would have to be for operations to last as recorded without tracing: of classes
  // that were faster and that matter, longest recorded first.
  [[nodiscard]] std::vector<ClassFactor> Stretches() const;

 private:
  Sum all_;
  std::map<OpClass, Sum> by_class_;
};

}  // namespace reprise
