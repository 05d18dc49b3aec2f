// Small exchanges within all process groups of a rank at once, before anything runs: ranks agree
// although no rank has all data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.h"

namespace reprise {

// A process group as one of its members sees it.
struct GroupMember {
  std::string id;
  GroupPlace place;
  GroupComm* comm = nullptr;
};

// Every method is collective over the members of each group that takes part: all of them have
// words in a round, or none has. All groups of a rank are under way at once, so that a chain of
// overlapping groups takes no longer than one of them. Blocking; ends with an abort's reason, or
// with an error when a member does not come (Communicator::Await). Not thread-safe.
class GroupRounds {
 public:
  using Words = std::vector<std::int64_t>;     // of one group; empty: no part in this round
  using Parcels = std::map<int, std::string>;  // by position in the group

  // Groups in the same order on all their members (by id).
  GroupRounds(Communicator& communicator, std::vector<GroupMember> groups)
      : communicator_(communicator), groups_(std::move(groups)) {}

  [[nodiscard]] const std::vector<GroupMember>& groups() const { return groups_; }
  [[nodiscard]] Communicator& communicator() const { return communicator_; }

  // Of the first group alone: its first member's text, to all of them.
  [[nodiscard]] Result<std::string> Broadcast(const std::string& text);
  // words[k] of group k become the members' maximum (sum, xor), element by element. Lengths are
  // equal on all members.
  [[nodiscard]] Status AllReduce(ReduceOp op, std::vector<Words>& words);
  // Every member's words, one member after the other. Lengths are equal on all members.
  [[nodiscard]] Result<std::vector<Words>> AllGather(const std::vector<Words>& words);
  // words[k] holds equally many words for each member; returned are theirs for this rank.
  [[nodiscard]] Result<std::vector<Words>> AllToAll(const std::vector<Words>& words);
  // Texts (none empty) to single other members; returned is what came, by sender. Where
  // `takes_part[k]` (the same on all members of the group). One word goes to every member: for what
  // is rare.
  [[nodiscard]] Result<std::vector<Parcels>> Deliver(const std::vector<Parcels>& parcels,
                                                     const std::vector<bool>& takes_part);

 private:
  struct Round;
  Status StartWords(Round& round, CommKind kind, ReduceOp op, const std::vector<Words>& words,
                    std::size_t factor);
  Status StartParcels(Round& round, const std::vector<Parcels>& parcels,
                      const std::vector<Words>& coming) const;
  // Waits for what was started.
  Status Finish(std::unique_ptr<Round>& round, Status started);
  [[nodiscard]] std::int32_t RankOf(std::size_t k, int member) const;

  Communicator& communicator_;
  std::vector<GroupMember> groups_;
};

}  // namespace reprise
