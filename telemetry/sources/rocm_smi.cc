// AMD GPUs by ROCm SMI, AMD SMI's predecessor, where the latter is missing. Needs no root. The
// declarations are ours, after rocm_smi.h of ROCm 5.0 to 6.3.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "telemetry/amd_source.h"
#include "telemetry/vendor_library.h"

namespace reprise {
namespace {

using RsmiStatus = unsigned;  // rsmi_status_t
constexpr RsmiStatus kRsmiSuccess = 0;
constexpr int kRsmiMemoryVram = 0;             // RSMI_MEM_TYPE_VRAM
constexpr std::uint64_t kRsmiBlockMemory = 1;  // RSMI_GPU_BLOCK_UMC
// Of the library: 5 to 7, and 1, which distributions give it.
constexpr std::array<std::uint32_t, 4> kKnownRsmiVersions = {1, 5, 6, 7};

struct RsmiVersion {  // rsmi_version_t begins so
  std::uint32_t major;
};
struct RsmiErrorCount {  // rsmi_error_count_t
  std::uint64_t corrected, uncorrected;
};

// Null: the release has no such function (only those after the blank line may be).
struct RsmiApi {
  RsmiStatus (*init)(std::uint64_t flags) = nullptr;
  RsmiStatus (*shut_down)() = nullptr;
  RsmiStatus (*version)(void*) = nullptr;
  RsmiStatus (*count)(std::uint32_t*) = nullptr;
  RsmiStatus (*pci_id)(std::uint32_t gpu, std::uint64_t*) = nullptr;
  RsmiStatus (*metrics)(std::uint32_t gpu, void*) = nullptr;

  RsmiStatus (*name)(std::uint32_t gpu, char*, std::size_t length) = nullptr;
  RsmiStatus (*energy)(std::uint32_t gpu, std::uint64_t*, float* microjoules,
                       std::uint64_t* ns) = nullptr;
  RsmiStatus (*power_cap)(std::uint32_t gpu, std::uint32_t sensor, std::uint64_t* uw) = nullptr;
  RsmiStatus (*memory_usage)(std::uint32_t gpu, int type, std::uint64_t* bytes) = nullptr;
  RsmiStatus (*ecc)(std::uint32_t gpu, std::uint64_t block, void*) = nullptr;
  RsmiStatus (*pcie_replays)(std::uint32_t gpu, std::uint64_t*) = nullptr;
};

Result<RsmiApi> LoadRsmiApi(const VendorLibrary& library) {
  RsmiApi api;
  RequiredSymbols need(library);
  need("rsmi_init", api.init);
  need("rsmi_shut_down", api.shut_down);
  need("rsmi_version_get", api.version);
  need("rsmi_num_monitor_devices", api.count);
  need("rsmi_dev_pci_id_get", api.pci_id);
  need("rsmi_dev_gpu_metrics_info_get", api.metrics);
  REPRISE_TRY(need.Check("install ROCm 5 or newer"));
  library.Find("rsmi_dev_name_get", api.name);
  library.Find("rsmi_dev_energy_count_get", api.energy);
  library.Find("rsmi_dev_power_cap_get", api.power_cap);
  library.Find("rsmi_dev_memory_usage_get", api.memory_usage);
  library.Find("rsmi_dev_ecc_count_get", api.ecc);
  library.Find("rsmi_dev_pci_replay_counter_get", api.pcie_replays);
  return api;
}

// Loaded and initialised.
class RocmSmiLibrary {
 public:
  static Result<std::shared_ptr<RocmSmiLibrary>> Open(const SourceOptions& options);
  RocmSmiLibrary(VendorLibrary library, const RsmiApi& api)
      : library_(std::move(library)), api_(api) {}
  ~RocmSmiLibrary() { (void)api_.shut_down(); }
  RocmSmiLibrary(const RocmSmiLibrary&) = delete;
  RocmSmiLibrary& operator=(const RocmSmiLibrary&) = delete;
  [[nodiscard]] const RsmiApi& api() const { return api_; }
  [[nodiscard]] const std::string& path() const { return library_.path(); }

 private:
  VendorLibrary library_;
  RsmiApi api_;
};

Result<std::shared_ptr<RocmSmiLibrary>> RocmSmiLibrary::Open(const SourceOptions& options) {
  REPRISE_ASSIGN(
      VendorLibrary library,
      VendorLibrary::Open(options, "rocm_smi",
                          {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                           "librocm_smi64.so.1", "/opt/rocm/lib/librocm_smi64.so"}));
  REPRISE_ASSIGN(const RsmiApi api, LoadRsmiApi(library));
  AmdMemory memory;
  const RsmiStatus version_status = api.version(memory.Cleared());
  const std::uint32_t version = memory.As<RsmiVersion>().major;
  if (version_status != kRsmiSuccess ||
      std::find(kKnownRsmiVersions.begin(), kKnownRsmiVersions.end(), version) ==
          kKnownRsmiVersions.end()) {
    return EnvironmentError(
        fmt::format("{}: version {} of ROCm SMI, whose structures are not known here (1 and 5 to "
                    "7 are)",
                    library.path(), version));
  }
  if (const RsmiStatus status = api.init(0); status != kRsmiSuccess) {
    return EnvironmentError(
        fmt::format("{}: rsmi_init failed ({}): is the amdgpu driver loaded, and the user in the "
                    "groups video and render?",
                    library.path(), status));
  }
  return std::make_shared<RocmSmiLibrary>(std::move(library), api);
}

class RocmSmiGpu : public AmdGpu {
 public:
  RocmSmiGpu(const RsmiApi& api, std::uint32_t gpu) : api_(api), gpu_(gpu) {}

  bool ReadTable(AmdMemory& memory) override {
    return api_.metrics(gpu_, memory.Cleared()) == kRsmiSuccess;
  }
  std::optional<AmdEnergy> ReadEnergy() override {
    AmdEnergy energy;
    float microjoules = 0;
    std::uint64_t time_ns = 0;
    if (api_.energy == nullptr ||
        api_.energy(gpu_, &energy.count, &microjoules, &time_ns) != kRsmiSuccess) {
      return std::nullopt;
    }
    energy.joules_per_count = microjoules * 1e-6;
    return energy;
  }
  std::optional<double> Read(AmdReading what) override;

 private:
  template <typename Call, typename... Arguments>
  std::optional<double> Number(Call call, double scale, Arguments... arguments) const {
    std::uint64_t number = 0;
    if (call == nullptr || call(gpu_, arguments..., &number) != kRsmiSuccess) {
      return std::nullopt;
    }
    return static_cast<double>(number) * scale;
  }

  const RsmiApi& api_;
  std::uint32_t gpu_;
};

std::optional<double> RocmSmiGpu::Read(AmdReading what) {
  switch (what) {
    case AmdReading::kPowerCapWatts:
      return Number(api_.power_cap, 1e-6, std::uint32_t{0});
    case AmdReading::kMemoryUsedBytes:
      return Number(api_.memory_usage, 1, kRsmiMemoryVram);
    case AmdReading::kMaxClockHertz:
      return std::nullopt;  // only in a structure whose layout changed between releases
    case AmdReading::kEccCorrected:
    case AmdReading::kEccUncorrected: {
      AmdMemory memory;
      if (api_.ecc == nullptr ||
          api_.ecc(gpu_, kRsmiBlockMemory, memory.Cleared()) != kRsmiSuccess) {
        return std::nullopt;
      }
      const auto errors = memory.As<RsmiErrorCount>();
      return static_cast<double>(what == AmdReading::kEccCorrected ? errors.corrected
                                                                   : errors.uncorrected);
    }
    case AmdReading::kPcieReplays:
      return Number(api_.pcie_replays, 1);
  }
  return std::nullopt;
}

MeteredDevice Identify(const RsmiApi& api, std::uint32_t gpu) {
  MeteredDevice identity;
  std::uint64_t id = 0;  // domain from bit 32, partition 28, bus 8, device 3, function 0
  if (api.pci_id(gpu, &id) == kRsmiSuccess) {
    identity.pci_bus_id = NormalizePciBusId(
        fmt::format("{:x}:{:x}:{:x}.{:x}", id >> 32, id >> 8 & 0xFF, id >> 3 & 0x1F, id & 7));
  }
  std::array<char, 128> name{};
  if (api.name != nullptr && api.name(gpu, name.data(), name.size() - 1) == kRsmiSuccess) {
    identity.name = name.data();
  }
  return identity;
}

}  // namespace

SourceKind::Opened OpenRocmSmi(const SourceOptions& options) {
  if (std::any_of(options.present.begin(), options.present.end(),
                  [](const Metric& metric) { return metric.source == "amd_smi"; })) {
    return {nullptr, "not needed: amd_smi reads the same GPUs"};
  }
  auto library = RocmSmiLibrary::Open(options);
  if (!library) {
    return {nullptr, library.error().message};
  }
  const RsmiApi& api = (*library)->api();
  auto source = std::make_unique<AmdSource>("rocm_smi", *library);
  std::uint32_t count = 0;
  (void)api.count(&count);
  std::set<std::string> boards;  // partitions of a GPU share its meters, and all but the function
  for (std::uint32_t gpu = 0; gpu < count; ++gpu) {
    MeteredDevice identity = Identify(api, gpu);
    const std::string board = identity.pci_bus_id.substr(0, identity.pci_bus_id.find('.'));
    if (board.empty() || boards.insert(board).second) {
      source->Add(std::make_unique<RocmSmiGpu>(api, gpu), std::move(identity));
    }
  }
  if (source->metrics().empty()) {
    return {nullptr, (*library)->path() + ": no GPU that gives any metric"};
  }
  return {std::move(source), {}};
}

}  // namespace reprise
