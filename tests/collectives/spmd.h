// Test bodies that every rank runs, whatever the transport: threads or processes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/algorithms/algorithm_choices.h"
#include "collectives/communicator.h"

namespace reprise::testing {

// Where `in` lies relative to `out`.
enum class Placement {
  kApart,
  kSame,  // both begin at the same address
  kSlot,  // the own block's place in the larger buffer
};

struct Case {
  CommKind kind = CommKind::kAllReduce;
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::int64_t elements = 37;  // of a block, or of the whole message
  bool uneven = false;
  Placement placement = Placement::kApart;
  int root = 0;  // position in the group
  [[nodiscard]] std::string Show() const;
};

// This rank's spec of a case; a send goes to the next member, a recv comes from the previous.
[[nodiscard]] CommSpec SpecOf(const Case& c, const GroupPlace& place);
// Tests until done, at most 60 s.
[[nodiscard]] Status Await(Transfer& transfer);
// Fills, runs, checks data and the bytes around it. Send and recv run as a ring.
[[nodiscard]] Status RunCase(GroupComm& group, const GroupPlace& place, const Case& c);
// What exists of kinds x dtypes x ops x evenness x placement x roots; `thorough` adds dtypes of
// moved data.
[[nodiscard]] std::vector<Case> AllCases(int group_size, bool thorough);

// The bodies. Each is collective over all ranks of the communicator.
[[nodiscard]] Status ConformanceBody(Communicator& communicator, bool thorough);
[[nodiscard]] Status OverlappingGroupsBody(Communicator& communicator);
[[nodiscard]] Status OverlappingGroupsWith(Communicator& communicator,
                                           const AlgorithmChoices& choices);
// With an algorithm as --algo names it: the kinds that it knows, groups that overlap, and more
// collectives outstanding at once than there are tags.
[[nodiscard]] Status AlgorithmBody(Communicator& communicator, const std::string& algorithm);
[[nodiscard]] Status OrderedMessagesBody(Communicator& communicator);
[[nodiscard]] Status BarrierBody(Communicator& communicator);
[[nodiscard]] Status CoordinationBody(Communicator& communicator);
[[nodiscard]] Status BadSpecsBody(Communicator& communicator);
[[nodiscard]] Status NotesBody(Communicator& communicator);
[[nodiscard]] Status PlansBody(Communicator& communicator);

// Runs a body on a thread for each; the first failure, with its place.
[[nodiscard]] Status OnEach(const std::vector<std::unique_ptr<Communicator>>& communicators,
                            const std::function<Status(Communicator&)>& body);
// The same on `size` ranks of the local transport.
[[nodiscard]] Status OnThreads(int size, const std::function<Status(Communicator&)>& body);

}  // namespace reprise::testing
