// What the OpenCL backend is, for kernels/backends.def.
#include <array>

#include "kernels/opencl/icd_search.h"
#include "kernels/opencl/opencl_device.h"

namespace reprise {
namespace {

constexpr const char* kIcdSetting = "icd";

constexpr const char* kIcdHelp =
    "OpenCL driver that is not registered: its library, an .icd file, or a directory of those";
constexpr const char* kTuningHelp =
    "file of tile sizes that `reprise tune` wrote (default: the one in the cache directory); none: "
    "built-in sizes";
constexpr const char* kTf32Help =
    "compute float32 products on tensor cores, which round the inputs to 10 bits, as with "
    "torch.backends.cuda.matmul.allow_tf32";

constexpr std::array kOpenClSettings = {
    BackendSetting{.name = kIcdSetting,
                   .kind = BackendSetting::Kind::kTexts,
                   .help = {kIcdHelp, kIcdHelp, kIcdHelp, kIcdHelp}},
    BackendSetting{.name = "tuning",
                   .kind = BackendSetting::Kind::kTuning,
                   .help = {.replay = kTuningHelp, .bench = kTuningHelp}},
    BackendSetting{.name = kTf32Setting,
                   .kind = BackendSetting::Kind::kFlag,
                   .help = {.replay = kTf32Help,
                            .bench = kTf32Help,
                            .tune = "also measure float32 products on tensor cores"}},
};

class OpenClBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return kOpenClBackend; }
  [[nodiscard]] std::string_view title() const override { return "OpenCL"; }
  [[nodiscard]] std::string_view about() const override {
    return "GPUs, and CPUs, by the OpenCL drivers of this machine";
  }
  [[nodiscard]] std::span<const BackendSetting> settings() const override {
    return kOpenClSettings;
  }
  [[nodiscard]] Result<DriverSearch> Prepare(const BackendSettings& settings,
                                             ProcessEnvironment& environment) const override {
    return PrepareOpenClDrivers(settings.Texts(kIcdSetting), environment);
  }
  [[nodiscard]] Result<std::vector<DeviceInfo>> List() const override {
    return ListOpenClDevices();
  }
  [[nodiscard]] std::string WhyNone() const override { return WhyNoOpenClDevices(); }
  [[nodiscard]] Result<std::unique_ptr<Device>> Open(const DeviceOptions& options) const override {
    return OpenOpenClDevice(options);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeOpenClBackend() { return std::make_unique<OpenClBackend>(); }

}  // namespace reprise
