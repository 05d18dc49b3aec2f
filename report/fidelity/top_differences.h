// The operations that differ most from their recorded time, with a likely cause.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "report/nodes/measured.h"
#include "report/values/fidelity_values.h"

namespace reprise {

// Takes ranks in any number of parts. Only report/ sees this.
class TopDifferences {
 public:
  TopDifferences() = default;
  // Of one rank.
  explicit TopDifferences(const MeasuredRank& rank);
  // The next ranks'.
  void Add(TopDifferences&& others);
  // Ten at most, by |difference|.
  [[nodiscard]] std::vector<TopDifferenceRow> Finish(bool oversubscribed) const;

  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.operations_);
  }

 private:
  // All nodes of one operation.
  struct Operation {
    TopDifferenceRow row;
    ReplayMode mode = ReplayMode::kReal;
    TimeSource time_from = TimeSource::kNone;
    double flops = 0, bytes = 0;
    double spread_ns = 0;         // longest minus shortest iteration of each node, summed
    std::int64_t tracing_ns = 0;  // of the recorded time: what tracing took, estimated
    bool elsewhere = false;       // not replayed where it was recorded, or it is not known
    std::int64_t iterations = 0;
  };
  Operation& Find(const NodeInfo& node);
  static void AddOperation(const Operation& other, Operation& operation);
  static void AddNode(const MeasuredRank& rank, std::size_t i, Operation& operation);
  static std::string SpeedCause(const Operation& operation);
  // Tracing made most of the difference.
  static bool IsTracing(const Operation& operation);
  static std::string ModelledCause(TimeSource source);
  static std::string LikelyCause(const Operation& operation, bool oversubscribed);

  // Name, class and kernel, held or looked at.
  using Key = std::tuple<std::string, OpClass, std::string>;
  using View = std::tuple<std::string_view, OpClass, std::string_view>;
  struct Before {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return View(a) < View(b);
    }
  };
  std::map<Key, Operation, Before> operations_;
};

}  // namespace reprise
