// Transfers by the library of the ranks' devices: which of them, and one under way.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/comm.h"
#include "et_schema/graph.h"
#include "kernels/device.h"
#include "kernels/device_transfers.h"
#include "replayer/engine/device_side_transfer.h"

namespace reprise {

// A group of its own for each sequence, and a stream: sequences do not wait for each other, and
// ranks need not start them in the same order.
struct DeviceLink {
  std::unique_ptr<Stream> stream;
  std::unique_ptr<DeviceGroup> group;
};

// Of one rank; all members of a transfer's group have it here, or none has.
struct DeviceLinks {
  std::shared_ptr<DeviceTransfers> library;  // null: there are no links
  std::map<Graph::Index, DeviceTransfer> transfers;
  std::map<SequenceKey, DeviceLink> of_sequence;

  // Ends what is under way, on this rank.
  void Abort() {
    for (auto& [key, link] : of_sequence) {
      if (link.group != nullptr) {
        link.group->Abort();
      }
    }
  }
};

class LinkedTransfer final : public DeviceSideTransfer {
 public:
  // Both outlive the transfer. `text` names it in messages.
  LinkedTransfer(const DeviceTransfer& transfer, DeviceLink& link, std::string text)
      : transfer_(transfer), link_(link), text_(std::move(text)) {}
  // Done once the result is on the device.
  Result<bool> Test() override;
  [[nodiscard]] bool AllStarted() const override { return end_ != nullptr; }

 private:
  Result<bool> Advance();

  const DeviceTransfer& transfer_;
  DeviceLink& link_;
  const std::string text_;
  bool enqueued_ = false;
  EventPtr end_;
};

}  // namespace reprise
