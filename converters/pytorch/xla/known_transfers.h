// What operations of XLA transfer, as the rank of one device takes part in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "converters/pytorch/xla/operation_facts.h"

namespace reprise::pytorch {

// The ranks of a file's devices: those with work, by number.
class DeviceRanks {
 public:
  // `ranks`: of all profiles that are there.
  DeviceRanks(const std::vector<XlaDevice>& devices, std::int64_t first_rank, std::int64_t ranks);
  // Devices of other hosts are ranks by their numbers. Nothing: a device of this host without work,
  // or one whose profile is not there.
  [[nodiscard]] std::optional<std::int64_t> RankOf(std::int64_t device) const;
  // As XLA numbers those of all hosts.
  [[nodiscard]] std::int64_t GlobalOf(std::int64_t ordinal) const { return first_ + ordinal; }

 private:
  std::map<std::int64_t, std::int64_t> ranks_;  // by the file's number
  std::int64_t first_ = 0, count_ = 0;
};

struct RankTransfer {
  HloTransfer kind{};
  HloBytes bytes;
  DType dtype = DType::kUnknown;
  std::vector<std::int64_t> ranks;  // of the group; empty: not known, or not all are there
  std::int64_t members = 0;         // how many; 0: not known
  std::int64_t peer = -1;           // a rank; -1: none, or not known
};

struct KnownTransfer {
  std::vector<RankTransfer> parts;  // none: it is work; two: what sends and receives at once
  bool assumes_order = false;       // which device is which member, the profile does not say
  bool has_others = false;          // members are devices without a profile here
};

class KnownTransfers {
 public:
  KnownTransfers(const XlaProfile& profile, const XlaDevice& device, DeviceRanks ranks)
      : profile_(profile), own_(ranks.GlobalOf(device.ordinal)), ranks_(std::move(ranks)) {}

  // Each operation of a program is looked at once.
  [[nodiscard]] const KnownTransfer& Of(const OperationFacts& facts);

 private:
  [[nodiscard]] KnownTransfer Look(const OperationFacts& facts) const;
  void AddPermute(const HloCollective& collective, const HloPeers& peers,
                  const RankTransfer& transfer, KnownTransfer& out) const;
  void SetMembers(const std::vector<std::int64_t>& devices, RankTransfer& transfer,
                  KnownTransfer& out) const;
  [[nodiscard]] std::int64_t RankOf(std::int64_t device) const {
    return device < 0 ? -1 : ranks_.RankOf(device).value_or(-1);
  }

  const XlaProfile& profile_;
  std::int64_t own_;
  DeviceRanks ranks_;
  std::unordered_map<std::string, KnownTransfer> known_;
};

}  // namespace reprise::pytorch
