// How transfers of classes of ranks load classes of links. Part of
// predict/simulator/class_simulation.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "predict/simulator/event_schedule.h"
#include "predict/simulator/job_classes.h"
#include "predict/simulator/job_groups.h"
#include "predict/simulator/network.h"
#include "predict/simulator/shared_links.h"

namespace reprise {

class ClassFlows {
 public:
  // All must outlive it; `classes` was found with flow-level sharing.
  ClassFlows(const JobGroups& job, const JobClasses& classes, const Network& network);

  // A transfer of all groups of one kind of a role (Refinement::kind_of_group); it takes `time`
  // alone. Of a pair: the positions of sender and receiver; else of the root, twice.
  struct Transfer {
    std::size_t role = 0;
    std::uint32_t kind_of_group = 0;
    CommKind kind = CommKind::kAllReduce;
    double bytes = 0;
    std::int32_t from = 0, to = 0;
    auto operator<=>(const Transfer&) const = default;
  };
  [[nodiscard]] MatchFlow FlowOf(const Transfer& transfer, const TransferTime& time);

  [[nodiscard]] SharedLinks& links() { return links_; }

 private:
  // One link stands for the class: the first. False: this one does not.
  [[nodiscard]] bool Represents(const LinkPlace& link) const;
  [[nodiscard]] std::int64_t AddRoute(const Transfer& transfer, const TransferTime& time);

  const JobGroups& job_;
  const JobClasses& classes_;
  const Network& network_;
  std::vector<std::vector<bool>> first_domain_;  // by level and domain, whether it is its kind's
  std::map<Transfer, std::int64_t> routes_;
  // By role and kind, its groups.
  std::vector<std::vector<std::vector<std::uint32_t>>> groups_of_kind_;
  SharedLinks links_;
};

}  // namespace reprise
