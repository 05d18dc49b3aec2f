// Device memory for measuring one call: its storages several times over, filled with data that
// kernels can live with, so that a run finds in a cache only what it would find there in a step.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

class BenchMemory {
 public:
  // As many copies as exceed the caches together (at least one, at most kMaxCopies). Floating
  // values are in [1/32, 1): finite through every operator, roots and quotients included; integers
  // are valid indices (IndexBounds). Usage error if not even one copy fits the device.
  [[nodiscard]] static Result<std::unique_ptr<BenchMemory>> Create(Device& device,
                                                                   const OpCall& call);
  static constexpr int kMaxCopies = 16;

  [[nodiscard]] int copies() const { return static_cast<int>(copies_.size()); }
  [[nodiscard]] const Bindings& copy(int i) const { return copies_[static_cast<std::size_t>(i)]; }
  // For LowerContext; shared by all copies, which run in order.
  [[nodiscard]] Result<Buffer*> Scratch(int slot, std::int64_t bytes);

 private:
  class Copy : public Bindings {
   public:
    [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override;
    std::map<std::int64_t, std::unique_ptr<Buffer>> buffers;
  };
  struct Storage {
    DType dtype = DType::kUnknown;
    std::int64_t bytes = 0;
    std::int64_t bound = 0;  // of indices; 0: none
  };

  explicit BenchMemory(Device& device) : device_(device) {}
  [[nodiscard]] static std::map<std::int64_t, Storage> StoragesOf(const OpCall& call);
  Status FillFirst(const std::map<std::int64_t, Storage>& storages);
  Status AddCopyOfFirst();
  // Runs copies of one device buffer to another (or the same) and waits.
  Status Run(const std::vector<DeviceCopy>& copies);

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::vector<Copy> copies_;
  std::vector<std::unique_ptr<Buffer>> scratch_;  // all that were made: launches may hold old ones
  std::map<int, Buffer*> slots_;
};

}  // namespace reprise
