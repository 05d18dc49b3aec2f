// Times of nodes by class or phase, and of work alone. Ranks come in any number of parts. Only
// report/ sees this. VisitMembers: core/stored_values.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "report/classes/pass_sums.h"
#include "report/nodes/measured.h"
#include "report/values/class_values.h"

namespace reprise {

// `Key` is OpClass or Phase.
template <typename Key>
class ClassSums {
 public:
  explicit ClassSums(Key NodeInfo::*key) : key_(key) {}
  // Of one rank, without how long its transfers took as replayed.
  ClassSums(Key NodeInfo::*key, const MeasuredRank& rank);
  // That of one of them: of a node that counts, in one iteration.
  void AddTransfer(const NodeInfo& node, const NodeRecord& record, std::int64_t own_ns) {
    passes_[node.*key_].Add(record.iteration, own_ns);
    sums_[node.*key_].row.from_ns[static_cast<std::size_t>(node.time_from)] += alike_ * own_ns;
  }
  // The next rank's.
  void Add(const ClassSums& other);
  // By recorded time, longest first.
  [[nodiscard]] std::vector<ClassRow> Finish() const;

  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.alike_);
    visit(self.sums_);
    visit(self.passes_);
  }

 private:
  struct Sum {
    ClassRow row;
    bool work = false;  // some node is no transfer
  };
  Key NodeInfo::*key_;
  std::map<Key, Sum> sums_;
  // Of one rank: what its nodes took, and for how many ranks it stands.
  std::map<Key, PassSums> passes_;
  std::int64_t alike_ = 1;
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

  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.all_);
    visit(self.by_class_);
  }

 private:
  Sum all_;
  std::map<OpClass, Sum> by_class_;
};

}  // namespace reprise
