// AMD GPUs by AMD SMI. Needs no root: the groups "video" and "render". The declarations are ours,
// after amdsmi.h of releases 24 to 26 (ROCm 6.1 to 7); what differs between these is not used.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "telemetry/amd_source.h"
#include "telemetry/vendor_library.h"

namespace reprise {
namespace {

using AmdSmiStatus = unsigned;  // amdsmi_status_t
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
struct Name {  // amdsmi_asic_info_t begins with the market name, of 64 or 256 bytes
  std::array<char, 64> text;
};

using Socket = void*;
using Processor = void*;

// Pointers to structures are void* here: they grow, so all are read through AmdMemory. Null: the
// release has no such function (only those after the blank line may be).
struct AmdSmiApi {
  AmdSmiStatus (*init)(std::uint64_t flags) = nullptr;
  AmdSmiStatus (*shut_down)() = nullptr;
  AmdSmiStatus (*version)(void*) = nullptr;
  AmdSmiStatus (*sockets)(std::uint32_t* count, Socket*) = nullptr;
  AmdSmiStatus (*processors)(Socket, std::uint32_t* count, Processor*) = nullptr;
  AmdSmiStatus (*processor_type)(Processor, int*) = nullptr;
  AmdSmiStatus (*bdf)(Processor, std::uint64_t*) = nullptr;
  AmdSmiStatus (*metrics)(Processor, void*) = nullptr;

  AmdSmiStatus (*uuid)(Processor, unsigned* length, char*) = nullptr;
  AmdSmiStatus (*asic_info)(Processor, void*) = nullptr;
  AmdSmiStatus (*energy)(Processor, std::uint64_t*, float* microjoules,
                         std::uint64_t* ns) = nullptr;
  AmdSmiStatus (*power_cap)(Processor, std::uint32_t sensor, void*) = nullptr;
  AmdSmiStatus (*memory_usage)(Processor, int type, std::uint64_t* bytes) = nullptr;
  AmdSmiStatus (*clock_info)(Processor, int type, void*) = nullptr;
  AmdSmiStatus (*ecc)(Processor, void*) = nullptr;
  AmdSmiStatus (*pcie_replays)(Processor, std::uint64_t*) = nullptr;
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

// Loaded and initialised.
class AmdSmiLibrary {
 public:
  static Result<std::shared_ptr<AmdSmiLibrary>> Open(const SourceOptions& options);
  AmdSmiLibrary(VendorLibrary library, const AmdSmiApi& api)
      : library_(std::move(library)), api_(api) {}
  ~AmdSmiLibrary() { (void)api_.shut_down(); }
  AmdSmiLibrary(const AmdSmiLibrary&) = delete;
  AmdSmiLibrary& operator=(const AmdSmiLibrary&) = delete;
  [[nodiscard]] const AmdSmiApi& api() const { return api_; }
  [[nodiscard]] const std::string& path() const { return library_.path(); }
  // One GPU a socket: where it is partitioned, the partitions share its meters.
  [[nodiscard]] std::vector<Processor> Gpus() const;

 private:
  VendorLibrary library_;
  AmdSmiApi api_;
};

AmdSmiStatus CheckVersion(const AmdSmiApi& api, std::uint32_t& release) {
  AmdMemory memory;
  const AmdSmiStatus status = api.version(memory.Cleared());
  release = memory.As<AmdSmiVersion>().release;
  return status;
}

Result<std::shared_ptr<AmdSmiLibrary>> AmdSmiLibrary::Open(const SourceOptions& options) {
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
  return std::make_shared<AmdSmiLibrary>(std::move(library), api);
}

std::vector<Processor> AmdSmiLibrary::Gpus() const {
  std::uint32_t count = 0;
  (void)api_.sockets(&count, nullptr);
  std::vector<Socket> sockets(count);
  if (api_.sockets(&count, sockets.data()) != kAmdSmiSuccess) {
    return {};
  }
  std::vector<Processor> gpus;
  for (Socket socket : sockets) {
    std::uint32_t processors = 0;
    (void)api_.processors(socket, &processors, nullptr);
    std::vector<Processor> found(processors);
    if (api_.processors(socket, &processors, found.data()) != kAmdSmiSuccess) {
      continue;
    }
    const auto gpu = std::find_if(found.begin(), found.end(), [this](Processor processor) {
      int type = 0;
      return api_.processor_type(processor, &type) == kAmdSmiSuccess && type == kProcessorGpu;
    });
    if (gpu != found.end()) {
      gpus.push_back(*gpu);
    }
  }
  return gpus;
}

class AmdSmiGpu : public AmdGpu {
 public:
  AmdSmiGpu(const AmdSmiApi& api, Processor gpu) : api_(api), gpu_(gpu) {}

  bool ReadTable(AmdMemory& memory) override {
    return api_.metrics(gpu_, memory.Cleared()) == kAmdSmiSuccess;
  }
  std::optional<AmdEnergy> ReadEnergy() override {
    AmdEnergy energy;
    float microjoules = 0;
    std::uint64_t time_ns = 0;
    if (api_.energy == nullptr ||
        api_.energy(gpu_, &energy.count, &microjoules, &time_ns) != kAmdSmiSuccess) {
      return std::nullopt;
    }
    energy.joules_per_count = microjoules * 1e-6;
    return energy;
  }
  std::optional<double> Read(AmdReading what) override;

 private:
  // A structure that `call` filled, called after the handle with `arguments`.
  template <typename Structure, typename Call, typename... Arguments>
  std::optional<Structure> Filled(Call call, Arguments... arguments) const {
    AmdMemory memory;
    if (call == nullptr || call(gpu_, arguments..., memory.Cleared()) != kAmdSmiSuccess) {
      return std::nullopt;
    }
    return memory.As<Structure>();
  }
  template <typename Call, typename... Arguments>
  std::optional<double> Number(Call call, Arguments... arguments) const {
    std::uint64_t number = 0;
    if (call == nullptr || call(gpu_, arguments..., &number) != kAmdSmiSuccess) {
      return std::nullopt;
    }
    return static_cast<double>(number);
  }

  const AmdSmiApi& api_;
  Processor gpu_;
};

std::optional<double> AmdSmiGpu::Read(AmdReading what) {
  switch (what) {
    case AmdReading::kPowerCapWatts:
      if (const auto cap = Filled<PowerCap>(api_.power_cap, std::uint32_t{0})) {
        return static_cast<double>(cap->cap_uw) * 1e-6;
      }
      return std::nullopt;
    case AmdReading::kMemoryUsedBytes:
      return Number(api_.memory_usage, kAmdSmiMemoryVram);
    case AmdReading::kMaxClockHertz:
      if (const auto clock = Filled<ClockInfo>(api_.clock_info, kClockGfx)) {
        return static_cast<double>(clock->max) * 1e6;
      }
      return std::nullopt;
    case AmdReading::kEccCorrected:
    case AmdReading::kEccUncorrected:
      if (const auto errors = Filled<AmdSmiErrorCount>(api_.ecc)) {
        return static_cast<double>(what == AmdReading::kEccCorrected ? errors->corrected
                                                                     : errors->uncorrected);
      }
      return std::nullopt;
    case AmdReading::kPcieReplays:
      return Number(api_.pcie_replays);
  }
  return std::nullopt;
}

MeteredDevice Identify(const AmdSmiApi& api, Processor gpu) {
  MeteredDevice identity;
  std::uint64_t bdf = 0;  // amdsmi_bdf_t: function 3 bits, device 5, bus 8, domain 48
  if (api.bdf(gpu, &bdf) == kAmdSmiSuccess) {
    identity.pci_bus_id = NormalizePciBusId(
        fmt::format("{:x}:{:x}:{:x}.{:x}", bdf >> 16, bdf >> 8 & 0xFF, bdf >> 3 & 0x1F, bdf & 7));
  }
  std::array<char, 64> uuid{};
  unsigned length = uuid.size();
  if (api.uuid != nullptr && api.uuid(gpu, &length, uuid.data()) == kAmdSmiSuccess) {
    identity.uuid = NormalizeUuid(uuid.data());
  }
  AmdMemory memory;
  if (api.asic_info != nullptr && api.asic_info(gpu, memory.Cleared()) == kAmdSmiSuccess) {
    Name name = memory.As<Name>();
    name.text.back() = '\0';
    identity.name = name.text.data();
  }
  return identity;
}

}  // namespace

SourceKind::Opened OpenAmdSmi(const SourceOptions& options) {
  auto library = AmdSmiLibrary::Open(options);
  if (!library) {
    return {nullptr, library.error().message};
  }
  const AmdSmiApi& api = (*library)->api();
  auto source = std::make_unique<AmdSource>("amd_smi", *library);
  for (Processor gpu : (*library)->Gpus()) {
    source->Add(std::make_unique<AmdSmiGpu>(api, gpu), Identify(api, gpu));
  }
  return OpenedIfAny(std::move(source), (*library)->path() + ": no GPU that gives any metric");
}

}  // namespace reprise
