// The buffers of a replay: allocated by a MemoryPlan, filled with data that kernels accept.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.h"
#include "kernels/device.h"
#include "kernels/kernel.h"
#include "replayer/memory_plan.h"

namespace reprise {

// Persistent floating-point storages start as small positive numbers (optimizer state is under a
// square root, so never negative), single ones as 1 (numbers that scale or divide), persistent
// integers as valid indices, everything else as zero.
// The values are a fixed function of incarnation and position: every run starts alike.
class DeviceMemory final : public Bindings {
 public:
  // Environment error if the device can't hold the plan; says how much was asked for.
  static Result<std::unique_ptr<DeviceMemory>> Create(const MemoryPlan& plan, Device& device);
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override;
  // One scratch buffer per (stream, slot), grown as kernels ask; old ones stay alive with the
  // launches that hold them.
  [[nodiscard]] Result<Buffer*> Scratch(std::uint32_t stream, int slot, std::int64_t bytes);
  [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  explicit DeviceMemory(Device& device) : device_(device) {}
  Status Initialise(const MemoryPlan& plan);
  // Only where a storage is over before the next one in its buffer begins.
  void CreateTenants(const MemoryPlan& plan);

  struct ScratchSlot {
    std::uint32_t stream;
    int slot;
    std::unique_ptr<Buffer> buffer;
  };
  Device& device_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unordered_map<std::int64_t, std::uint32_t> buffer_of_;
  std::unordered_map<std::int64_t, std::unique_ptr<Buffer>> tenants_;
  std::vector<ScratchSlot> scratch_;
  std::int64_t allocated_bytes_ = 0;
};

}  // namespace reprise
