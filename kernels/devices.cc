// The backends by name.
#include <algorithm>

#include "core/nearest.h"
#include "kernels/device.h"
#include "kernels/host/host_device.h"
#include "kernels/opencl/opencl_device.h"

namespace reprise {
namespace {

Error UnknownBackend(const std::string& backend) {
  return {ErrorKind::kUsage, "unknown device backend '" + backend + "' (opencl or host)" +
                                 DidYouMean(backend, {"opencl", "host"})};
}

}  // namespace

Result<std::vector<DeviceInfo>> ListDevices(const std::string& backend) {
  if (backend == "opencl") {
    return ListOpenClDevices();
  }
  if (backend == "host") {
    return std::vector<DeviceInfo>{DescribeHost()};
  }
  return tl::unexpected(UnknownBackend(backend));
}

std::string WhyNoDevices(const std::string& backend) {
  return backend == "opencl" ? WhyNoOpenClDevices() : "";
}

Result<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options) {
  if (options.backend == "opencl") {
    if (!options.blas.empty() || !options.torch.empty()) {
      return UsageError((options.blas.empty() ? "--torch" : "--blas") +
                        std::string(" is for the host backend"));
    }
    return OpenOpenClDevice(options);
  }
  if (options.backend == "host") {
    if (options.index != 0) {
      return UsageError("the host backend has one device, index 0");
    }
    return OpenHostDevice(options.blas, options.torch);
  }
  return tl::unexpected(UnknownBackend(options.backend));
}

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

}  // namespace reprise
