#include "converters/pytorch/edges/transfer_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "converters/comm_sizes.h"
#include "core/timing/transfer.h"

namespace reprise::pytorch {
namespace {

struct Member {
  RankCapture* rank = nullptr;
  TransferRecord* transfer = nullptr;
  [[nodiscard]] const CommSpec& spec() const { return transfer->arguments.spec; }
};
using Match = std::vector<Member>;

// Transfers with one key and index are one; unknown groups match nothing.
std::map<std::pair<SequenceKey, std::int64_t>, Match> Collect(std::span<RankCapture> ranks) {
  std::map<std::pair<SequenceKey, std::int64_t>, Match> matches;
  for (RankCapture& rank : ranks) {
    for (TransferRecord& transfer : rank.transfers) {
      const CommSpec& spec = transfer.arguments.spec;
      const bool paired = !IsPointToPoint(spec.kind) || spec.peer >= 0;
      if (spec.certainty != GroupCertainty::kUnknown && !spec.group.empty() && paired) {
        matches[{SequenceOf(spec, rank.rank), spec.index}].push_back({&rank, &transfer});
      }
    }
  }
  return matches;
}

// What differs between two members, with the values; empty: they agree.
std::string DifferenceOf(const Member& a, const Member& b) {
  const CommSpec& x = a.spec();
  const CommSpec& y = b.spec();
  const auto text = [&](std::string_view what, const auto& of_a, const auto& of_b) {
    return fmt::format("{} {} on {}, {} on {}", what, of_a, a.rank->label, of_b, b.rank->label);
  };
  const bool pair = IsPointToPoint(x.kind) && IsPointToPoint(y.kind) && x.kind != y.kind;
  if (!pair && (x.kind != y.kind || IsPointToPoint(x.kind))) {
    return text("kind", Name(x.kind), Name(y.kind));
  }
  if (LacksKindOrSize(x) || LacksKindOrSize(y)) {
    return {};  // on all
  }
  if (x.dtype != y.dtype) {
    return text("type", Name(x.dtype), Name(y.dtype));
  }
  if (!pair && x.root != y.root) {
    return text("root", x.root, y.root);
  }
  const std::int64_t of_x = std::max(x.in_bytes, x.out_bytes);
  const std::int64_t of_y = std::max(y.in_bytes, y.out_bytes);
  const bool same = pair || x.kind == CommKind::kAllReduce || x.kind == CommKind::kBroadcast;
  return same && of_x != of_y ? text("bytes", of_x, of_y) : std::string();
}

// The transfer as a member that lacks its kind or size takes part in it, where that follows from
// what another member records; false: it does not.
bool FillFrom(const Member& known, const Member& member) {
  const CommSpec& from = known.spec();
  CommSpec& spec = member.transfer->arguments.spec;
  const bool pair = IsPointToPoint(from.kind);
  const bool kind = spec.kind == CommKind::kUnknown ? !pair
                    : pair                          ? IsPointToPoint(spec.kind)
                                                    : spec.kind == from.kind;
  const bool uneven = !from.in_splits.empty() || !from.out_splits.empty();
  if (!kind || uneven || IsGathering(from.kind) != (from.kind == CommKind::kAllGather) ||
      from.kind == CommKind::kScatter || from.kind == CommKind::kReduce) {
    return false;
  }
  const std::int64_t bytes = std::max(from.in_bytes, from.out_bytes);
  spec.kind = pair ? spec.kind : from.kind;
  spec.dtype = from.dtype;
  spec.in_bytes = from.in_bytes;
  spec.out_bytes = from.out_bytes;
  spec.bytes_known = true;
  if (pair) {
    spec.in_bytes = spec.kind == CommKind::kSend ? bytes : 0;
    spec.out_bytes = spec.kind == CommKind::kSend ? 0 : bytes;
  } else if (from.kind == CommKind::kBroadcast) {
    spec.root = from.root;
    spec.in_bytes = spec.out_bytes = bytes;
    SettleRoot(spec.root == member.rank->rank, member.transfer->arguments);
  }
  return true;
}

// Where one member lacks what others record and what does not follow from it, none can carry the
// transfer out.
void FillMembers(const Match& match, Diagnostics& diagnostics) {
  const auto known = std::find_if(match.begin(), match.end(), [](const Member& member) {
    return !LacksKindOrSize(member.spec());
  });
  if (known == match.end()) {
    return;
  }
  for (const Member& member : match) {
    if (!LacksKindOrSize(member.spec())) {
      continue;
    }
    const std::string name = member.rank->NameOf(*member.transfer);
    if (FillFrom(*known, member)) {
      diagnostics.Count("transfer_facts_from_members", name);
      continue;
    }
    diagnostics.Count("transfer_mismatch", fmt::format("{}: no {}, unlike {}", name,
                                                       LacksOf(member.spec()), known->rank->label));
    for (const Member& other : match) {
      CommSpec& spec = other.transfer->arguments.spec;
      spec.in_bytes = spec.out_bytes = 0;
      spec.bytes_known = false;
    }
    return;
  }
}

// What is missing of each transfer now that group and members are known.
void CountLacking(RankCapture& rank) {
  for (const TransferRecord& transfer : rank.transfers) {
    const std::string_view lacks = LacksOf(transfer.arguments.spec);
    const std::string name = lacks.empty() ? std::string() : rank.NameOf(transfer);
    if (lacks == "kind") {
      rank.diagnostics.Count("transfer_kind_unknown", name);
    } else if (lacks == "size") {
      rank.diagnostics.Count("transfer_size_unknown", name);
    } else if (lacks == "root") {
      rank.diagnostics.Count("transfer_root_unknown", name);
    } else if (lacks == "peer") {
      rank.diagnostics.Count("transfer_peer_unknown", name);
    }
  }
}

std::size_t MembersExpected(const SequenceKey& key,
                            const std::map<std::string, ProcessGroup>& groups) {
  const auto group = groups.find(key.group);
  return key.IsPointToPoint() ? 2 : group == groups.end() ? 0 : group->second.ranks.size();
}

bool IsRoot(const Member& member) {
  return member.spec().kind == CommKind::kSend || member.spec().root == member.rank->rank;
}

// "No member ends before what it needs arrived."
void AddConstraints(const Match& match, std::vector<ClockConstraint>& out) {
  for (const Member& a : match) {
    const ArrivalNeed need = LeastNeed(a.spec().kind, IsRoot(a));
    for (const Member& b : match) {
      if (a.rank == b.rank || need == ArrivalNeed::kOwn ||
          (need == ArrivalNeed::kRoot && !IsRoot(b))) {
        continue;
      }
      out.push_back({.rank_a = a.rank->rank,
                     .end_ns_a = a.transfer->end_ns,
                     .rank_b = b.rank->rank,
                     .start_ns_b = b.transfer->start_ns});
    }
  }
}

std::int64_t CallEnd(const Member& member) {
  const TransferRecord& transfer = *member.transfer;
  return transfer.call < 0 ? transfer.start_ns : member.rank->Op(transfer.call).end_ns;
}

// A send or receive that nobody waited for had ended by the time its wait came by: when both sides
// are known to have got that far, its own call and its partner's.
void SettleEnd(const Member& mine, const Member* partner, const ClockFit& clocks) {
  TransferRecord& transfer = *mine.transfer;
  if (transfer.wait_ns < 0 || transfer.wait_blocked) {
    return;
  }
  std::int64_t end = std::max(transfer.start_ns, CallEnd(mine));
  if (partner != nullptr) {
    const std::int64_t theirs =
        partner->transfer->wait_blocked ? partner->transfer->wait_ns : CallEnd(*partner);
    // Their clock to mine, by way of rank 0's; exact enough where drift is parts per million.
    const std::int64_t on_rank0 = clocks.ToRank0(partner->rank->rank, theirs);
    end = std::max(end, on_rank0 - (clocks.ToRank0(mine.rank->rank, on_rank0) - on_rank0));
  }
  transfer.end_ns = std::min(end, transfer.wait_ns);
}

void SetTransferTimes(const Match& match, const ClockFit& clocks, Diagnostics& diagnostics) {
  std::vector<TransferMember> members;
  for (const Member& member : match) {
    members.push_back({.start_ns = clocks.ToRank0(member.rank->rank, member.transfer->start_ns),
                       .end_ns = clocks.ToRank0(member.rank->rank, member.transfer->end_ns),
                       .kind = member.spec().kind,
                       .root = IsRoot(member)});
  }
  const std::vector<TransferPart> parts = SplitTransfer(members);
  for (std::size_t i = 0; i < match.size(); ++i) {
    if (parts[i].transfer_ns < 0) {
      diagnostics.Count(
          "clock_error",
          fmt::format("{}: {} {} of group {} ended {} ns before it could", match[i].rank->label,
                      Name(match[i].spec().kind), match[i].spec().index, match[i].spec().group,
                      -parts[i].transfer_ns));
    }
    match[i].transfer->transfer_ns = std::max<std::int64_t>(0, parts[i].transfer_ns);
  }
}

// Where members contribute different amounts, all get to know the largest.
void ShareLargest(const Match& match) {
  std::vector<CommSpec*> members;
  for (const Member& member : match) {
    members.push_back(&member.transfer->arguments.spec);
  }
  if (!IsPointToPoint(members.front()->kind) && members.front()->bytes_known) {
    ShareLargestBytes(members);
  }
}

// One number per host name; ranks whose capture has none may each have a clock of their own.
std::vector<std::int32_t> HostOfRank(std::span<const RankCapture> ranks, std::int32_t highest) {
  std::vector<std::int32_t> host_of_rank(static_cast<std::size_t>(highest) + 1);
  std::iota(host_of_rank.begin(), host_of_rank.end(), highest + 1);
  std::map<std::string, std::int32_t> hosts;
  for (const RankCapture& rank : ranks) {
    if (!rank.kineto.host_name.empty()) {
      const auto number = static_cast<std::int32_t>(hosts.size());
      host_of_rank[static_cast<std::size_t>(rank.rank)] =
          hosts.try_emplace(rank.kineto.host_name, number).first->second;
    }
  }
  return host_of_rank;
}

}  // namespace

void FindBlockedWaits(RankCapture& rank) {
  std::map<std::int32_t, std::vector<std::pair<std::int64_t, std::int64_t>>> busy;  // by thread
  const auto& ops = rank.list.operations;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Role role = rank.roles[i].role;
    if (role == Role::kNode || role == Role::kCommCall) {
      busy[ops[i].thread].emplace_back(ops[i].start_ns, ops[i].end_ns);
    }
  }
  for (TransferRecord& transfer : rank.transfers) {
    if (transfer.wait_ns < 0) {
      continue;
    }
    const auto& nodes = busy[transfer.thread];  // nodes of a thread never overlap
    const auto after =
        std::upper_bound(nodes.begin(), nodes.end(), std::make_pair(transfer.wait_ns, INT64_MAX));
    transfer.wait_blocked =
        after == nodes.begin() || std::prev(after)->second + kQuietNs <= transfer.wait_ns;
  }
}

Result<ClockFit> MatchTransfers(std::span<RankCapture> ranks,
                                const std::map<std::string, ProcessGroup>& groups,
                                Diagnostics& diagnostics) {
  std::int32_t highest = 0;
  for (const RankCapture& rank : ranks) {
    highest = std::max(highest, rank.rank);
  }
  auto matches = Collect(ranks);
  std::vector<ClockConstraint> constraints;
  for (auto it = matches.begin(); it != matches.end();) {
    const auto& key = it->first;
    const Match& match = it->second;
    FillMembers(match, diagnostics);
    const bool complete = match.size() == MembersExpected(key.first, groups);
    std::string difference;
    for (std::size_t i = 1; i < match.size() && difference.empty(); ++i) {
      difference = DifferenceOf(match.front(), match[i]);
    }
    const bool agree = difference.empty();
    if (!agree || (!complete && ranks.size() > 1)) {
      diagnostics.Count("transfer_mismatch",
                        fmt::format("{}: {} {} of group {}: {}", match.front().rank->label,
                                    Name(match.front().spec().kind), key.second, key.first.group,
                                    agree ? fmt::format("on {} of {} members", match.size(),
                                                        MembersExpected(key.first, groups))
                                          : difference));
    }
    if (complete && agree && match.size() > 1 && match.front().spec().kind != CommKind::kUnknown) {
      AddConstraints(match, constraints);
      ++it;
    } else {
      it = matches.erase(it);
    }
  }
  ClockFitOptions options;
  options.host_of_rank = HostOfRank(ranks, highest);
  REPRISE_ASSIGN(ClockFit clocks, FitClocks(highest + 1, constraints, options));
  for (auto& [key, match] : matches) {
    if (match.size() == 2 && IsPointToPoint(match.front().spec().kind)) {
      SettleEnd(match[0], &match[1], clocks);
      SettleEnd(match[1], &match[0], clocks);
    }
    ShareLargest(match);
    SetTransferTimes(match, clocks, diagnostics);
  }
  for (RankCapture& rank : ranks) {
    CountLacking(rank);
    for (TransferRecord& transfer : rank.transfers) {
      if (transfer.transfer_ns < 0) {
        SettleEnd({&rank, &transfer}, nullptr, clocks);
      }
    }
  }
  return clocks;
}

}  // namespace reprise::pytorch
