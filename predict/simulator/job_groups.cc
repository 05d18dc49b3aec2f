#include "predict/simulator/job_groups.h"

#include <fmt/format.h>

#include "predict/simulator/device_operations.h"

namespace reprise {

Result<JobGroups> JobGroups::Create(const ProgramSet& set) {
  JobGroups job(set);
  REPRISE_TRY(job.FindPlaces());
  REPRISE_TRY(job.FindPairs());
  REPRISE_TRY(job.CheckPairs());
  return job;
}

Status JobGroups::FindPlaces() {
  std::map<std::string, std::uint32_t> kinds;
  for (const auto& [name, groups] : set_->groups) {
    const std::size_t role = roles_.size();
    role_numbers_[name] = role;
    names_.push_back(name);
    roles_.push_back({groups, false});
    const auto alike = set_->alike.find(name);
    const std::string& kind = alike == set_->alike.end() ? name : alike->second;
    alike_.push_back(
        kinds.try_emplace(kind, static_cast<std::uint32_t>(kinds.size() + 1)).first->second);
    places_.emplace_back(ranks());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::size_t p = 0; p < groups[g].size(); ++p) {
        const std::int32_t rank = groups[g][p];
        if (rank < 0 || static_cast<std::size_t>(rank) >= ranks() ||
            places_[role][static_cast<std::size_t>(rank)].group >= 0) {
          return BadInput(
              fmt::format("role {}: rank {} is in two groups, or not in the job", name, rank));
        }
        places_[role][static_cast<std::size_t>(rank)] = {static_cast<std::int32_t>(g),
                                                         static_cast<std::int32_t>(p)};
      }
    }
  }
  return {};
}

// Which roles need an order, and the pairs of each program.
Status JobGroups::FindPairs() {
  pairs_.resize(set_->programs.size());
  streams_ = HasStreams(set_->programs);
  for (std::size_t p = 0; p < set_->programs.size(); ++p) {
    const Graph& program = set_->programs[p];
    for (Graph::Index i = 0; i < program.size(); ++i) {
      const CommSpec* const spec = program.comm(i);
      if (spec == nullptr || spec->outside || !LacksOf(*spec).empty()) {
        continue;
      }
      const auto role = role_numbers_.find(spec->group);
      if (role == role_numbers_.end()) {
        return BadInput(fmt::format("node {} ({}): there are no groups of role '{}'", program.id(i),
                                    program.name(i), spec->group));
      }
      const bool pair = IsPointToPoint(spec->kind);
      if (pair || spec->root >= 0 || !spec->in_splits.empty() || !spec->out_splits.empty()) {
        roles_[role->second].ordered = true;
      }
      if (pair) {
        pairs_[p].insert({role->second, spec->peer, spec->kind == CommKind::kSend});
      }
    }
  }
  return {};
}

Status JobGroups::CheckPairs() const {
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    const auto own = static_cast<std::int32_t>(rank);
    for (const Pair& pair : PairsOf(own)) {
      if (PeerOf(own, pair.role, pair.position) >= 0) {
        continue;
      }
      return BadInput(
          fmt::format("rank {}: its program names position {} of its group of role '{}', which has "
                      "none",
                      rank, pair.position, NameOf(pair.role)));
    }
  }
  return {};
}

std::int32_t JobGroups::PeerOf(std::int32_t rank, std::size_t role, std::int32_t position) const {
  if (set_->peers_are_ranks) {
    return position >= 0 && static_cast<std::size_t>(position) < ranks() ? position : -1;
  }
  const Place& place = PlaceOf(role, rank);
  if (place.group < 0) {
    return -1;
  }
  const auto& members = Members(role, static_cast<std::size_t>(place.group));
  return position >= 0 && static_cast<std::size_t>(position) < members.size()
             ? members[static_cast<std::size_t>(position)]
             : -1;
}

}  // namespace reprise
