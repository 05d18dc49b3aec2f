// What the host backend is, for kernels/backends.def.
#include <array>

#include "kernels/backend.h"
#include "kernels/host/host_device.h"
#include "kernels/torch/torch_provider.h"

namespace reprise {
namespace {

constexpr const char* kBlasHelp =
    "on the host backend: BLAS library for float32 products in place of oneDNN, e.g. that of the "
    "original: libtorch_cpu.so, libmkl_rt.so.2, libopenblas.so.0";

constexpr std::array kHostSettings = {
    kTorchOption,
    BackendSetting{.name = kBlasSetting,
                   .help = {.replay = kBlasHelp, .bench = kBlasHelp},
                   .is_error_elsewhere = true},
};

class HostBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return kHostBackend; }
  [[nodiscard]] std::string_view title() const override { return "host"; }
  [[nodiscard]] std::string_view about() const override {
    return "the CPU of this machine, without a driver";
  }
  [[nodiscard]] std::span<const BackendSetting> settings() const override { return kHostSettings; }
  [[nodiscard]] bool is_always_there() const override { return true; }
  [[nodiscard]] bool stretches_streams() const override { return true; }
  [[nodiscard]] Result<std::vector<DeviceInfo>> List() const override {
    return std::vector<DeviceInfo>{DescribeHost()};
  }
  [[nodiscard]] Result<std::unique_ptr<Device>> Open(const DeviceOptions& options) const override {
    if (options.index != 0) {
      return UsageError("the host backend has one device, index 0");
    }
    return OpenHostDevice(options.settings);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeHostBackend() { return std::make_unique<HostBackend>(); }

}  // namespace reprise
