// Which ranks of a job are alike on a machine. Part of predict/simulator/class_simulation.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/result.h"
#include "predict/simulator/class_simulation.h"
#include "predict/simulator/job_groups.h"
#include "predict/simulator/link_sharing.h"
#include "predict/simulator/network.h"
#include "predict/simulator/refine.h"

namespace reprise {

class JobClasses {
 public:
  // All must outlive it. Usage: a slow rank that is not there.
  static Result<JobClasses> Find(const JobGroups& job, const Network& network,
                                 const ClassOptions& options);

  // Equal shapes have equal numbers. With flow-level sharing they have no sharers.
  [[nodiscard]] const GroupShape& shape(std::uint32_t number) const { return shapes_[number]; }
  [[nodiscard]] std::uint32_t ShapeOfGroup(std::size_t role, std::size_t group) const {
    return shape_of_group_[role][group];
  }
  [[nodiscard]] std::uint32_t ShapeOfPair(std::int32_t sender, std::int32_t receiver);

  // Roles of the job first. With flow-level sharing then one for each level of the network but the
  // innermost: ranks whose devices share a domain below it. Domain d's kind is that of group d.
  // With slots last the ranks that stand behind each other in a node's air.
  [[nodiscard]] const Refinement& refined() const { return refined_; }
  [[nodiscard]] double SlowOf(std::int32_t rank) const {
    return slow_[static_cast<std::size_t>(rank)];
  }

 private:
  JobClasses(const JobGroups& job, const Network& network, const ClassOptions& options)
      : job_(&job), network_(&network), options_(&options), sharing_(network, job.ranks()) {}

  void ShareLinks();
  void ShapeGroups();
  // What two ranks must have in common before their groups are looked at: as values, without
  // those of AddDomains, and as a number.
  void ColourOf(std::size_t rank, std::vector<double>& colour);
  [[nodiscard]] std::vector<std::uint32_t> Colours();
  void AddDomains(std::vector<std::vector<double>>& colours) const;
  [[nodiscard]] std::uint32_t NumberOf(GroupShape shape);
  [[nodiscard]] bool flow() const { return options_->network == NetworkModel::kFlow; }

  const JobGroups* job_;
  const Network* network_;
  const ClassOptions* options_;
  LinkSharing sharing_;
  std::vector<double> slow_;  // by rank
  std::vector<GroupShape> shapes_;
  std::map<std::vector<double>, std::uint32_t> shape_numbers_;
  std::vector<std::vector<std::uint32_t>> shape_of_group_;  // by role and group
  Refinement refined_;
};

}  // namespace reprise
