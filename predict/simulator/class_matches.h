// Which transfers of classes of ranks belong together, and what they take. Part of
// predict/simulator/class_simulation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/result.h"
#include "predict/simulator/class_flows.h"
#include "predict/simulator/job_classes.h"
#include "predict/simulator/job_groups.h"
#include "predict/simulator/network.h"

namespace reprise {

class ClassMatches {
 public:
  // All must outlive it. `flows` null: links are shared as the groups imply.
  ClassMatches(const JobGroups& job, JobClasses& classes, const Network& network, ClassFlows* flows)
      : job_(job), classes_(classes), network_(network), flows_(flows) {}

  struct Member {
    std::int32_t match = -1;  // −1: no other rank takes part
    std::int64_t transfer_ns = 0;
  };
  // A transfer of a class's first rank. Bad input: a role that it is not in, members that differ.
  Result<Member> Add(std::int32_t rank, const Graph& program, Graph::Index i);
  // After all of them. Bad input: a member that never comes.
  [[nodiscard]] Status CheckComplete() const;

  [[nodiscard]] bool empty() const { return matches_.empty(); }
  // By match; empty without flow-level sharing.
  [[nodiscard]] const std::vector<MatchFlow>& flows() const { return flow_of_; }

 private:
  // Members of one collective, or the two ends of one pair: role, kind of group, and of a pair the
  // two positions; then the place in that sequence.
  using MatchName =
      std::tuple<std::size_t, std::uint32_t, std::int32_t, std::int32_t, std::int64_t>;
  // Of its members here, one a class.
  struct Matched {
    std::int32_t number = 0, expected = 0, found = 0;
    CommKind kind = CommKind::kAllReduce;
    double bytes = 0;       // the first member's
    double most_bytes = 0;  // of the member with most: its share of the links counts
    std::int32_t rank = 0;  // the first member's
    std::uint64_t node_id = 0;
  };

  [[nodiscard]] std::int32_t ClassesIn(const std::vector<std::int32_t>& members) const;
  const TransferTime& TimeOf(CommKind kind, double bytes, std::uint32_t shape);
  void AddFlow(const MatchName& name, const CommSpec& spec, double bytes, const TransferTime& time);

  const JobGroups& job_;
  JobClasses& classes_;
  const Network& network_;
  ClassFlows* flows_;
  std::map<MatchName, Matched> matches_;
  std::map<std::tuple<CommKind, double, std::uint32_t>, TransferTime> times_;
  std::vector<MatchFlow> flow_of_;
};

}  // namespace reprise
