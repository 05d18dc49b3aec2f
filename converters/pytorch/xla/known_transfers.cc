#include "converters/pytorch/xla/known_transfers.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise::pytorch {

DeviceRanks::DeviceRanks(const std::vector<XlaDevice>& devices, std::int64_t first_rank,
                         std::int64_t ranks)
    : first_(first_rank), count_(ranks) {
  for (const XlaDevice& device : devices) {
    ranks_.emplace(device.ordinal, first_rank + std::ssize(ranks_));
  }
}

std::optional<std::int64_t> DeviceRanks::RankOf(std::int64_t device) const {
  const std::int64_t ordinal = device - first_;
  if (ranks_.empty() || ordinal < 0 || ordinal > ranks_.rbegin()->first) {
    return device < count_ ? std::optional(device) : std::nullopt;
  }
  const auto found = ranks_.find(ordinal);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

void KnownTransfers::SetMembers(const std::vector<std::int64_t>& devices, RankTransfer& transfer,
                                KnownTransfer& out) const {
  transfer.members = std::ssize(devices);
  for (const std::int64_t device : devices) {
    const std::int64_t rank = RankOf(device);
    if (rank < 0) {
      transfer.ranks.clear();
      out.has_others = true;
      return;
    }
    transfer.ranks.push_back(rank);
  }
  std::ranges::sort(transfer.ranks);
}

const KnownTransfer& KnownTransfers::Of(const OperationFacts& facts) {
  const auto [known, fresh] = known_.try_emplace(
      fmt::format("{} {} {}", facts.program, facts.Operation(), facts.long_name));
  if (fresh) {
    known->second = Look(facts);
  }
  return known->second;
}

void KnownTransfers::AddPermute(const HloCollective& collective, const HloPeers& peers,
                                const RankTransfer& transfer, KnownTransfer& out) const {
  if (collective.pairs.empty()) {  // its peers are not known
    out.parts.push_back(transfer);
  }
  for (const auto& [kind, peer] :
       {std::pair(HloTransfer::kSend, peers.target), std::pair(HloTransfer::kRecv, peers.source)}) {
    if (peer >= 0) {
      RankTransfer& part = out.parts.emplace_back(transfer);
      part.kind = kind;
      part.peer = RankOf(peer);
    }
  }
}

KnownTransfer KnownTransfers::Look(const OperationFacts& facts) const {
  KnownTransfer out;
  const std::optional<HloCollective> collective = TransferOf(profile_, facts);
  if (!collective) {
    return out;
  }
  const HloModule* const module = profile_.Module(facts.program);
  const HloAssignment assignment = module == nullptr ? HloAssignment() : module->assignment;
  out.assumes_order = assignment.devices.empty();
  RankTransfer transfer{
      .kind = collective->kind, .bytes = {}, .dtype = DTypeOf(*collective), .ranks = {}};
  switch (collective->kind) {
    case HloTransfer::kPermute:
    case HloTransfer::kSend:
    case HloTransfer::kRecv: {
      const HloPeers peers = PeersOf(*collective, assignment, own_);
      transfer.bytes = BytesOf(*collective, 0);
      SetMembers(DevicesOf(*collective, assignment, own_), transfer, out);
      if (collective->kind == HloTransfer::kPermute) {
        AddPermute(*collective, peers, transfer, out);
        return out;
      }
      transfer.peer = RankOf(collective->kind == HloTransfer::kSend ? peers.target : peers.source);
      break;
    }
    default: {
      const auto group = GroupOf(*collective, assignment, own_);
      if (group) {
        SetMembers(*group, transfer, out);
      }
      transfer.bytes = BytesOf(*collective, transfer.members);
      break;
    }
  }
  out.parts.push_back(std::move(transfer));
  return out;
}

}  // namespace reprise::pytorch
