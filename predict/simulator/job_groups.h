// Who is with whom in a job: places of ranks in the groups of each role, and pairs. Part of
// predict/simulator/class_simulation.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/result.h"
#include "predict/simulator/class_simulation.h"
#include "predict/simulator/refine.h"

namespace reprise {

class JobGroups {
 public:
  // Where a rank is in the groups of one role; −1: in none.
  struct Place {
    std::int32_t group = -1;
    std::int32_t position = -1;
  };
  // A pair of a program: with whom, by role and position (or rank, where peers are ranks).
  struct Pair {
    std::size_t role = 0;
    std::int32_t position = -1;
    bool sends = false;
    auto operator<=>(const Pair&) const = default;
  };

  // The set must outlive it. Bad input: a rank in two groups of a role, a transfer of an unknown
  // role, a peer that is not there.
  static Result<JobGroups> Create(const ProgramSet& set);
  // Another set with the same ranks, groups and pairs; it must outlive this, too.
  void SetPrograms(const ProgramSet& set) { set_ = &set; }

  [[nodiscard]] const ProgramSet& set() const { return *set_; }
  [[nodiscard]] std::size_t ranks() const { return set_->program_of.size(); }
  [[nodiscard]] const std::vector<RoleGroups>& roles() const { return roles_; }
  [[nodiscard]] const std::vector<std::int32_t>& Members(std::size_t role,
                                                         std::size_t group) const {
    return roles_[role].groups[group];
  }
  [[nodiscard]] std::size_t RoleNumber(const std::string& name) const {
    return role_numbers_.at(name);
  }
  [[nodiscard]] const std::string& NameOf(std::size_t role) const { return names_[role]; }
  // Equal numbers, from 1 on: their groups transfer at the same time.
  [[nodiscard]] std::uint32_t AlikeNumber(std::size_t role) const { return alike_[role]; }
  [[nodiscard]] const Place& PlaceOf(std::size_t role, std::int32_t rank) const {
    return places_[role][static_cast<std::size_t>(rank)];
  }
  // Of the rank's program.
  [[nodiscard]] const std::set<Pair>& PairsOf(std::int32_t rank) const {
    return pairs_[set_->program_of[static_cast<std::size_t>(rank)]];
  }
  // The other rank of a pair; −1: its group has no such position.
  [[nodiscard]] std::int32_t PeerOf(std::int32_t rank, std::size_t role,
                                    std::int32_t position) const;
  // Some program has device streams.
  [[nodiscard]] bool streams() const { return streams_; }

 private:
  explicit JobGroups(const ProgramSet& set) : set_(&set) {}
  Status FindPlaces();
  Status FindPairs();
  [[nodiscard]] Status CheckPairs() const;

  const ProgramSet* set_;
  std::map<std::string, std::size_t> role_numbers_;
  std::vector<RoleGroups> roles_;
  std::vector<std::string> names_;          // by role
  std::vector<std::uint32_t> alike_;        // by role
  std::vector<std::vector<Place>> places_;  // by role and rank
  std::vector<std::set<Pair>> pairs_;       // by program
  bool streams_ = false;
};

}  // namespace reprise
