#include "kernels/device.h"

#include <algorithm>
#include <vector>

#include "kernels/baseline.h"

namespace reprise {
namespace {

class OrdinaryMemory final : public HostMemory {
 public:
  explicit OrdinaryMemory(std::int64_t bytes) : memory_(static_cast<std::size_t>(bytes)) {}
  [[nodiscard]] std::span<std::byte> bytes() override { return memory_; }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace

Result<std::unique_ptr<HostMemory>> Device::AllocateHost(std::int64_t bytes) {
  return std::make_unique<OrdinaryMemory>(std::max<std::int64_t>(bytes, 0));
}

Result<std::shared_ptr<DeviceTransfers>> Device::OpenTransfers() {
  return std::shared_ptr<DeviceTransfers>();
}

Baselines Device::OpenBaselines(const BackendSettings& /*settings*/) const { return {}; }

}  // namespace reprise
