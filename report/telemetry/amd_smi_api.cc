#include "report/telemetry/amd_smi_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace reprise {
namespace {

constexpr AmdSmiStatus kAmdSmiSuccess = 0;
constexpr AmdSmiStatus kNoPermission = 10;
constexpr AmdSmiStatus kDriverNotLoaded = 34;
constexpr std::uint64_t kInitGpus = 1U << 1;  // AMDSMI_INIT_AMD_GPUS
constexpr int kProcessorGpu = 1;              // AMDSMI_PROCESSOR_TYPE_AMD_GPU
constexpr int kAmdSmiMemoryVram = 0;          // AMDSMI_MEM_TYPE_VRAM
constexpr int kClockGfx = 0;                  // AMDSMI_CLK_TYPE_GFX
constexpr std::uint32_t kOldestRelease = 24;
constexpr std::uint32_t kNewestRelease = 26;

struct AmdSmiVersion {  // amdsmi_version_t begins so: 24 has a year there, later releases the major
                        // version
  std::uint32_t release, minor;
};
struct AmdSmiErrorCount {  // amdsmi_error_count_t
  std::uint64_t corrected, uncorrected;
};
struct PowerCap {  // amdsmi_power_cap_info_t: microwatts
  std::uint64_t cap_uw;
};
struct ClockInfo {  // amdsmi_clk_info_t: megahertz
  std::uint32_t now, min, max;
};
struct MarketName {  // amdsmi_asic_info_t begins with the market name, of 64 or 256 bytes
  std::array<char, 64> text;
};

Result<AmdSmiApi> LoadAmdSmiApi(const VendorLibrary& library) {
  AmdSmiApi api;
  RequiredSymbols need(library);
  need("amdsmi_init", api.init);
  need("amdsmi_shut_down", api.shut_down);
  need("amdsmi_get_lib_version", api.version);
  need("amdsmi_get_socket_handles", api.sockets);
  need("amdsmi_get_processor_handles", api.processors);
  need("amdsmi_get_processor_type", api.processor_type);
  need("amdsmi_get_gpu_device_bdf", api.bdf);
  need("amdsmi_get_gpu_metrics_info", api.metrics);
  REPRISE_TRY(need.Check("install ROCm 6.1 or newer"));
  library.Find("amdsmi_get_gpu_device_uuid", api.uuid);
  library.Find("amdsmi_get_gpu_asic_info", api.asic_info);
  library.Find("amdsmi_get_energy_count", api.energy);
  library.Find("amdsmi_get_power_cap_info", api.power_cap);
  library.Find("amdsmi_get_gpu_memory_usage", api.memory_usage);
  library.Find("amdsmi_get_clock_info", api.clock_info);
  library.Find("amdsmi_get_gpu_total_ecc_count", api.ecc);
  library.Find("amdsmi_get_gpu_pci_replay_counter", api.pcie_replays);
  return api;
}

AmdSmiStatus CheckVersion(const AmdSmiApi& api, std::uint32_t& release) {
  AmdMemory memory;
  const AmdSmiStatus status = api.version(memory.Cleared());
  release = memory.As<AmdSmiVersion>().release;
  return status;
}

// A structure that `call` filled, called with `arguments`.
template <typename Structure, typename Call, typename... Arguments>
std::optional<Structure> Filled(Call call, Arguments... arguments) {
  AmdMemory memory;
  if (call == nullptr || call(arguments..., memory.Cleared()) != kAmdSmiSuccess) {
    return std::nullopt;
  }
  return memory.As<Structure>();
}

template <typename Call, typename... Arguments>
std::optional<double> NumberFrom(Call call, Arguments... arguments) {
  std::uint64_t number = 0;
  if (call == nullptr || call(arguments..., &number) != kAmdSmiSuccess) {
    return std::nullopt;
  }
  return static_cast<double>(number);
}

template <typename Structure, typename Number>
std::optional<double> Scaled(const std::optional<Structure>& structure, Number Structure::*member,
                             double scale) {
  return structure ? std::optional(static_cast<double>((*structure).*member) * scale)
                   : std::nullopt;
}

}  // namespace

MeteredDevice AmdGpu::Identity() const {
  MeteredDevice identity;
  std::uint64_t bdf = 0;  // amdsmi_bdf_t: function 3 bits, device 5, bus 8, domain 48
  if (api_->bdf(gpu_, &bdf) == kAmdSmiSuccess) {
    identity.pci_bus_id = NormalizePciBusId(
        fmt::format("{:x}:{:x}:{:x}.{:x}", bdf >> 16, bdf >> 8 & 0xFF, bdf >> 3 & 0x1F, bdf & 7));
  }
  std::array<char, 64> uuid{};
  unsigned length = uuid.size();
  if (api_->uuid != nullptr && api_->uuid(gpu_, &length, uuid.data()) == kAmdSmiSuccess) {
    identity.uuid = NormalizeUuid(uuid.data());
  }
  AmdMemory memory;
  if (api_->asic_info != nullptr && api_->asic_info(gpu_, memory.Cleared()) == kAmdSmiSuccess) {
    MarketName name = memory.As<MarketName>();
    name.text.back() = '\0';
    identity.name = name.text.data();
  }
  return identity;
}

// Some releases succeed without writing anything for a GPU that has no table.
std::optional<AmdMetricsTable> AmdGpu::ReadTable(AmdMemory& memory) const {
  if (api_->metrics(gpu_, memory.Cleared()) != kAmdSmiSuccess) {
    return std::nullopt;
  }
  const auto table = memory.As<AmdMetricsTable>();
  const bool is_filled = table.format_revision != 0 && table.format_revision != 0xFF;
  return is_filled ? std::optional(table) : std::nullopt;
}

std::optional<AmdEnergy> AmdGpu::ReadEnergy() const {
  AmdEnergy energy;
  float microjoules = 0;
  std::uint64_t time_ns = 0;
  if (api_->energy == nullptr ||
      api_->energy(gpu_, &energy.count, &microjoules, &time_ns) != kAmdSmiSuccess) {
    return std::nullopt;
  }
  energy.joules_per_count = microjoules * 1e-6;
  return energy;
}

std::optional<double> AmdGpu::PowerCapWatts() const {
  return Scaled(Filled<PowerCap>(api_->power_cap, gpu_, std::uint32_t{0}), &PowerCap::cap_uw, 1e-6);
}

std::optional<double> AmdGpu::MemoryUsedBytes() const {
  return NumberFrom(api_->memory_usage, gpu_, kAmdSmiMemoryVram);
}

std::optional<double> AmdGpu::MaxClockHertz() const {
  return Scaled(Filled<ClockInfo>(api_->clock_info, gpu_, kClockGfx), &ClockInfo::max, 1e6);
}

std::optional<double> AmdGpu::EccCorrected() const {
  return Scaled(Filled<AmdSmiErrorCount>(api_->ecc, gpu_), &AmdSmiErrorCount::corrected, 1);
}

std::optional<double> AmdGpu::EccUncorrected() const {
  return Scaled(Filled<AmdSmiErrorCount>(api_->ecc, gpu_), &AmdSmiErrorCount::uncorrected, 1);
}

std::optional<double> AmdGpu::PcieReplays() const { return NumberFrom(api_->pcie_replays, gpu_); }

Result<std::unique_ptr<AmdSmiLibrary>> AmdSmiLibrary::Open(const SourceOptions& options) {
  REPRISE_ASSIGN(VendorLibrary library,
                 VendorLibrary::Open(options, "amd_smi",
                                     {"libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24",
                                      "libamd_smi.so", "/opt/rocm/lib/libamd_smi.so"}));
  REPRISE_ASSIGN(const AmdSmiApi api, LoadAmdSmiApi(library));
  std::uint32_t release = 0;
  if (CheckVersion(api, release) != kAmdSmiSuccess || release < kOldestRelease ||
      release > kNewestRelease) {
    return EnvironmentError(
        fmt::format("{}: release {} of AMD SMI, whose structures are not known here ({} to {} are)",
                    library.path(), release, kOldestRelease, kNewestRelease));
  }
  if (const AmdSmiStatus status = api.init(kInitGpus); status != kAmdSmiSuccess) {
    const char* advice = "";
    if (status == kDriverNotLoaded) {
      advice = ": load the amdgpu driver, or give the container /dev/kfd and /dev/dri";
    } else if (status == kNoPermission) {
      advice = ": add the user to the groups video and render";
    }
    return EnvironmentError(
        fmt::format("{}: amdsmi_init failed ({}){}", library.path(), status, advice));
  }
  return std::make_unique<AmdSmiLibrary>(std::move(library), api);
}

std::vector<AmdGpu> AmdSmiLibrary::Gpus() const {
  std::uint32_t count = 0;
  (void)api_.sockets(&count, nullptr);
  std::vector<AmdSocket> sockets(count);
  if (api_.sockets(&count, sockets.data()) != kAmdSmiSuccess) {
    return {};
  }
  std::vector<AmdGpu> gpus;
  for (AmdSocket socket : sockets) {
    std::uint32_t processors = 0;
    (void)api_.processors(socket, &processors, nullptr);
    std::vector<AmdProcessor> found(processors);
    if (api_.processors(socket, &processors, found.data()) != kAmdSmiSuccess) {
      continue;
    }
    const auto gpu = std::find_if(found.begin(), found.end(), [this](AmdProcessor processor) {
      int type = 0;
      return api_.processor_type(processor, &type) == kAmdSmiSuccess && type == kProcessorGpu;
    });
    if (gpu != found.end()) {
      gpus.emplace_back(api_, *gpu);
    }
  }
  return gpus;
}

}  // namespace reprise
