// The buffers of a replay: allocated by a MemoryPlan, filled with data that kernels accept.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.h"
#include "kernels/device.h"
#include "kernels/kernel.h"
#include "replayer/memory/memory_plan.h"

namespace reprise {

// Persistent storages start with the values of initial_values.h, all others with zeros. Every run
// starts alike, and so does every iteration before which Restore() is called.
class DeviceMemory final : public Bindings {
 public:
  // Environment error if the device can't hold the plan: with the plan's size, the buffer that was
  // not granted, and the first node that uses it. `graph` is the plan's.
  static Result<std::unique_ptr<DeviceMemory>> Create(const MemoryPlan& plan, const Graph& graph,
                                                      Device& device);
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override;
  // One scratch buffer per (stream, slot), grown as kernels require; launches keep the old ones
  // that they use.
  [[nodiscard]] Result<Buffer*> Scratch(std::uint32_t stream, int slot, std::int64_t bytes);
  // Called before each iteration: undoes the last iteration's changes of persistent storages, so
  // that no value grows or shrinks with the number of iterations. Above 1 GiB it does so only every
  // second, third, … time, so that it never takes seconds. Nothing may run on the device.
  Status Restore(std::int32_t iteration);
  [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  explicit DeviceMemory(Device& device) : device_(device) {}
  template <typename Choose>
  Status FillInputs(const Choose& chosen);  // of inputs_ those that are chosen
  // Only where a storage is over before the next one in its buffer begins.
  void CreateAliases(const MemoryPlan& plan);

  struct ScratchSlot {
    std::uint32_t stream;
    int slot;
    std::unique_ptr<Buffer> buffer;
  };
  static constexpr std::int64_t kMaxRestoredBytes = std::int64_t{1} << 30;
  Device& device_;
  std::vector<StorageLife> inputs_;  // persistent ones
  std::int64_t changing_bytes_ = 0;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unordered_map<std::int64_t, std::uint32_t> buffer_of_;
  std::unordered_map<std::int64_t, std::unique_ptr<Buffer>> aliases_;
  std::vector<ScratchSlot> scratch_;
  std::int64_t allocated_bytes_ = 0;
};

}  // namespace reprise
