// The backends by name.
#include "kernels/device.h"
#include "kernels/host/host_device.h"
#include "kernels/opencl/opencl_device.h"

namespace reprise {
namespace {

Error UnknownBackend(const std::string& backend) {
  return {ErrorKind::kUsage, "unknown device backend '" + backend + "' (opencl or host)"};
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
    return OpenOpenClDevice(options);
  }
  if (options.backend == "host") {
    if (options.index != 0) {
      return UsageError("the host backend has one device, index 0");
    }
    return OpenHostDevice();
  }
  return tl::unexpected(UnknownBackend(options.backend));
}

}  // namespace reprise
