#include "predict/simulator/class_matches.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace reprise {

std::int32_t ClassMatches::ClassesIn(const std::vector<std::int32_t>& members) const {
  std::set<std::uint32_t> classes;
  for (const std::int32_t member : members) {
    classes.insert(classes_.refined().class_of[static_cast<std::size_t>(member)]);
  }
  return static_cast<std::int32_t>(classes.size());
}

const TransferTime& ClassMatches::TimeOf(CommKind kind, double bytes, std::uint32_t shape) {
  const auto [at, added] = times_.try_emplace({kind, bytes, shape});
  if (added) {
    at->second = network_.TimeOf(kind, bytes, classes_.shape(shape));
  }
  return at->second;
}

Result<ClassMatches::Member> ClassMatches::Add(std::int32_t rank, const Graph& program,
                                               Graph::Index i) {
  const CommSpec& spec = *program.comm(i);
  Member member;
  if (spec.outside || !LacksOf(spec).empty()) {
    return member;  // its other side is not simulated, or nothing says what it takes
  }
  const std::size_t role = job_.RoleNumber(spec.group);
  const JobGroups::Place& place = job_.PlaceOf(role, rank);
  if (place.group < 0) {
    return BadInput(
        fmt::format("rank {}: node {} ({}) is a transfer in a group of role '{}', which "
                    "the rank is not in",
                    rank, program.id(i), program.name(i), spec.group));
  }
  const auto group = static_cast<std::size_t>(place.group);
  const std::vector<std::int32_t>& ranks = job_.Members(role, group);
  const bool pair = IsPointToPoint(spec.kind);
  std::int32_t from = -1;
  std::int32_t to = -1;
  std::uint32_t shape = classes_.ShapeOfGroup(role, group);
  if (pair) {
    const bool sends = spec.kind == CommKind::kSend;
    const std::int32_t own = job_.set().peers_are_ranks ? rank : place.position;
    from = sends ? own : spec.peer;
    to = sends ? spec.peer : own;
    const std::int32_t peer = job_.PeerOf(rank, role, spec.peer);
    shape = classes_.ShapeOfPair(sends ? rank : peer, sends ? peer : rank);
  }
  const int members = pair ? 2 : static_cast<int>(ranks.size());
  const auto bytes = static_cast<double>(AlgorithmBytes(spec, members));
  const TransferTime& time = TimeOf(spec.kind, bytes, shape);
  member.transfer_ns = time.ns;
  if (members < 2) {
    return member;
  }
  const MatchName name{role, classes_.refined().kind_of_group[role][group], from, to, spec.index};
  const auto [at, added] = matches_.try_emplace(name);
  Matched& matched = at->second;
  if (added) {
    matched = {static_cast<std::int32_t>(matches_.size() - 1),
               pair ? 2 : ClassesIn(ranks),
               0,
               spec.kind,
               bytes,
               bytes,
               rank,
               program.id(i)};
  }
  if (flows_ != nullptr && (added || bytes > matched.most_bytes)) {
    AddFlow(name, spec, bytes, time);
    matched.most_bytes = bytes;
  }
  ++matched.found;
  member.match = matched.number;
  const bool uneven = spec.kind == CommKind::kAllToAll;
  const bool agrees = pair ? added || spec.kind != matched.kind : spec.kind == matched.kind;
  if (!agrees || (!uneven && bytes != matched.bytes)) {
    return BadInput(
        fmt::format("transfer {} of role '{}' differs: rank {}, node {} is {} of {} bytes; rank "
                    "{}, node {} is "
                    "{} of {} bytes",
                    spec.index, spec.group, matched.rank, matched.node_id, Name(matched.kind),
                    matched.bytes, rank, program.id(i), Name(spec.kind), bytes));
  }
  return member;
}

void ClassMatches::AddFlow(const MatchName& name, const CommSpec& spec, double bytes,
                           const TransferTime& time) {
  ClassFlows::Transfer transfer{.role = std::get<0>(name),
                                .kind_of_group = std::get<1>(name),
                                .kind = spec.kind,
                                .bytes = bytes,
                                .from = std::get<2>(name),
                                .to = std::get<3>(name)};
  if (!IsPointToPoint(spec.kind)) {
    transfer.from = transfer.to = job_.set().peers_are_ranks && spec.root >= 0
                                      ? job_.PlaceOf(transfer.role, spec.root).position
                                      : spec.root;
  } else {
    transfer.kind = CommKind::kSend;  // whichever end comes first
  }
  flow_of_.resize(matches_.size());
  flow_of_[static_cast<std::size_t>(matches_.at(name).number)] = flows_->FlowOf(transfer, time);
}

// Every member must have come.
Status ClassMatches::CheckComplete() const {
  for (const auto& [name, matched] : matches_) {
    if (matched.found != matched.expected) {
      return BadInput(
          fmt::format("rank {}, node {}: no partner has the {}. transfer ({}) of that group; a "
                      "job would wait "
                      "for ever",
                      matched.rank, matched.node_id, std::get<4>(name), Name(matched.kind)));
    }
  }
  return {};
}

}  // namespace reprise
