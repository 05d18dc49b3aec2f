// What the CUDA backend is, for kernels/backends.def.
#include <array>

#include "kernels/backend.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/torch/torch_provider.h"

namespace reprise {
namespace {

constexpr std::array kCudaSettings = {kTorchOption};

class CudaBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return kCudaBackend; }
  [[nodiscard]] std::string_view title() const override { return "CUDA"; }
  [[nodiscard]] std::string_view about() const override {
    return "NVIDIA's GPUs, by PyTorch's operators";
  }
  [[nodiscard]] std::span<const BackendSetting> settings() const override { return kCudaSettings; }
  [[nodiscard]] Result<std::vector<DeviceInfo>> List() const override { return ListCudaDevices(); }
  [[nodiscard]] std::string WhyNone() const override { return WhyNoCudaDevices(); }
  [[nodiscard]] std::string WhyNotChosen(const BackendSettings& settings) const override {
    if (!settings.Has(kTorchSetting)) {
      return "no PyTorch was found, whose operators it runs";
    }
    const Status usable = CheckTorchForCuda(settings.Text(kTorchSetting), 0);
    return usable ? "" : usable.error().message;
  }
  [[nodiscard]] Result<std::unique_ptr<Device>> Open(const DeviceOptions& options) const override {
    return OpenCudaDevice(options);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeCudaBackend() { return std::make_unique<CudaBackend>(); }

}  // namespace reprise
