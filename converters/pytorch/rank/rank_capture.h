// One rank's capture after reading: what the stages of a conversion pass on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/rank/device_links.h"
#include "converters/pytorch/rank/meta.h"
#include "converters/pytorch/rank/operation_list.h"
#include "converters/pytorch/rank/roles.h"
#include "converters/pytorch/rank/transfer_records.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

// The files of one rank; meta is optional.
struct RankFiles {
  std::int32_t rank = -1;  // -1: as the files say
  std::string host, kineto, meta;
};

struct RankCapture {
  std::int32_t rank = 0;
  std::int32_t world_size = -1;  // -1: the capture does not say
  std::string label;             // "rank 3", for messages
  HostTrace host;
  KinetoTrace kineto;
  OperationList list;
  std::vector<Classified> roles;
  DeviceLinks links;
  std::vector<GroupRecord> groups;  // of this rank, in order of creation, ranks filled in
  std::vector<TransferRecord> transfers;
  std::int64_t base_ns = 0;                   // start of the first step, since the epoch
  std::vector<Step> steps;                    // relative to base_ns
  std::vector<Range> ranges;                  // relative to base_ns
  std::vector<std::int32_t> step_operations;  // their operations; empty: no ProfilerStep
  CaptureMeta meta;
  Diagnostics diagnostics;

  [[nodiscard]] const Operation& Op(std::int32_t i) const { return list.Op(i); }
  [[nodiscard]] const OpInfo& InfoOf(std::int32_t operation) const {
    return roles[static_cast<std::size_t>(operation)].info;
  }
  [[nodiscard]] Role RoleOf(std::int32_t operation) const {
    return roles[static_cast<std::size_t>(operation)].role;
  }
  [[nodiscard]] const TransferRecord& Transfer(std::int32_t i) const {
    return transfers[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const DeviceEvent& Event(std::int32_t i) const {
    return kineto.device.events[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const EventLink& EventLinkOf(std::int32_t i) const {
    return links.events[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const RuntimeCall& Call(std::int32_t i) const {
    return kineto.device.calls[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const HostNode* HostOf(std::int32_t i) const { return list.HostOf(host, i); }
};

// Reads, links, classifies, finds incarnations and transfers. Needs no other rank.
[[nodiscard]] Result<RankCapture> ReadRank(const RankFiles& files,
                                           RepeatChoice choice = RepeatChoice::kRecorded);

}  // namespace reprise::pytorch
