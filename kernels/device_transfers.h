// Transfers among the devices of several ranks by a library of these devices: no byte passes
// through the memory of a host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/comm.h"
#include "core/result.h"
#include "kernels/device.h"

namespace reprise {

// Bytes of a device's buffer, at least one.
struct DevicePiece {
  Buffer* buffer = nullptr;
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
};

// A transfer as one member of a group takes part in it. Members are positions in the group.
struct DeviceTransfer {
  CommKind kind = CommKind::kAllReduce;
  DType dtype = DType::kUnknown;
  ReduceOp op = ReduceOp::kSum;
  int root = -1;
  int peer = -1;
  // What this member reads and writes, in order; empty: it has no such side.
  std::vector<DevicePiece> in, out;
  // Of kinds with blocks (HasBlocks), bytes for each member and from each, on a side that has them.
  std::vector<std::int64_t> in_blocks, out_blocks;
};

// One member of a group. One thread at a time may use it. On destruction nothing is under way, and
// all members destroy theirs.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  // Whether all that was asked for so far is with the device: that this member joined, and each
  // transfer. Before that nothing else may be asked for. Never blocks. Environment error once the
  // library has failed on any member, or on this one after Abort; transfers may then never end.
  [[nodiscard]] virtual Result<bool> IsReady() = 0;
  // Enqueues a transfer that DeviceTransfers::Takes, on a stream of the group's device. All members
  // enqueue the group's transfers in the same order. An event that is recorded on the stream once
  // the group IsReady() completes when this member's part is done.
  [[nodiscard]] virtual Status Enqueue(const DeviceTransfer& transfer, Stream& stream) = 0;
  // Ends what is under way, unfinished. The group is then of no use, and needs no other member.
  virtual void Abort() = 0;
};

// A device's library of transfers. It must not outlive the device. Thread-safe.
class DeviceTransfers {
 public:
  virtual ~DeviceTransfers() = default;
  // Name and version, which are the same on all ranks of a run: "NCCL 2.28.3".
  [[nodiscard]] virtual const std::string& description() const = 0;
  // Whether groups of `size` enqueue this transfer of member `rank`.
  [[nodiscard]] virtual bool Takes(const DeviceTransfer& transfer, int rank, int size) const = 0;
  // Bytes that identify a new group. One member calls it and gives them to the others.
  [[nodiscard]] virtual Result<std::string> NewIdentity() = 0;
  // This device becomes member `rank` of the group, when all `size` members have called it: the
  // group is then ready. Does not wait for them.
  [[nodiscard]] virtual Result<std::unique_ptr<DeviceGroup>> Join(const std::string& identity,
                                                                  int rank, int size) = 0;
};

}  // namespace reprise
