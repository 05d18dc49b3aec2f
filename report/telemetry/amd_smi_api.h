// AMD SMI, loaded at run time. The declarations are ours, after amdsmi.h of releases 24 to 26 (ROCm
// 6.1 to 7); what differs between these is not used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/metrics.h"
#include "core/result.h"
#include "report/telemetry/amd_metrics_table.h"
#include "report/telemetry/source.h"
#include "report/telemetry/vendor_library.h"

namespace reprise {

using AmdSmiStatus = unsigned;  // amdsmi_status_t
using AmdSocket = void*;
using AmdProcessor = void*;

// Pointers to structures are void* here: they grow, so all are read through AmdMemory. Null: the
// release has no such function (only those after the blank line may be).
struct AmdSmiApi {
  AmdSmiStatus (*init)(std::uint64_t flags) = nullptr;
  AmdSmiStatus (*shut_down)() = nullptr;
  AmdSmiStatus (*version)(void*) = nullptr;
  AmdSmiStatus (*sockets)(std::uint32_t* count, AmdSocket*) = nullptr;
  AmdSmiStatus (*processors)(AmdSocket, std::uint32_t* count, AmdProcessor*) = nullptr;
  AmdSmiStatus (*processor_type)(AmdProcessor, int*) = nullptr;
  AmdSmiStatus (*bdf)(AmdProcessor, std::uint64_t*) = nullptr;
  AmdSmiStatus (*metrics)(AmdProcessor, void*) = nullptr;

  AmdSmiStatus (*uuid)(AmdProcessor, unsigned* length, char*) = nullptr;
  AmdSmiStatus (*asic_info)(AmdProcessor, void*) = nullptr;
  AmdSmiStatus (*energy)(AmdProcessor, std::uint64_t*, float* microjoules,
                         std::uint64_t* ns) = nullptr;
  AmdSmiStatus (*power_cap)(AmdProcessor, std::uint32_t sensor, void*) = nullptr;
  AmdSmiStatus (*memory_usage)(AmdProcessor, int type, std::uint64_t* bytes) = nullptr;
  AmdSmiStatus (*clock_info)(AmdProcessor, int type, void*) = nullptr;
  AmdSmiStatus (*ecc)(AmdProcessor, void*) = nullptr;
  AmdSmiStatus (*pcie_replays)(AmdProcessor, std::uint64_t*) = nullptr;
};

// The energy counter: its count and what one count is worth.
struct AmdEnergy {
  std::uint64_t count = 0;
  double joules_per_count = 0;
};

// One GPU. Nothing from any of these where the GPU has no such thing, or the call failed.
class AmdGpu {
 public:
  AmdGpu(const AmdSmiApi& api, AmdProcessor gpu) : api_(&api), gpu_(gpu) {}

  [[nodiscard]] MeteredDevice Identity() const;  // name, uuid, pci_bus_id
  [[nodiscard]] std::optional<AmdMetricsTable> ReadTable(AmdMemory& memory) const;
  [[nodiscard]] std::optional<AmdEnergy> ReadEnergy() const;
  [[nodiscard]] std::optional<double> PowerCapWatts() const;
  [[nodiscard]] std::optional<double> MemoryUsedBytes() const;
  [[nodiscard]] std::optional<double> MaxClockHertz() const;
  [[nodiscard]] std::optional<double> EccCorrected() const;
  [[nodiscard]] std::optional<double> EccUncorrected() const;
  [[nodiscard]] std::optional<double> PcieReplays() const;

 private:
  const AmdSmiApi* api_;
  AmdProcessor gpu_;
};

// Loaded and initialised; its destructor shuts it down.
class AmdSmiLibrary {
 public:
  static Result<std::unique_ptr<AmdSmiLibrary>> Open(const SourceOptions& options);
  AmdSmiLibrary(VendorLibrary library, const AmdSmiApi& api)
      : library_(std::move(library)), api_(api) {}
  ~AmdSmiLibrary() { (void)api_.shut_down(); }
  AmdSmiLibrary(const AmdSmiLibrary&) = delete;
  AmdSmiLibrary& operator=(const AmdSmiLibrary&) = delete;

  [[nodiscard]] const std::string& path() const { return library_.path(); }
  // One a socket: where it is partitioned, the partitions share its meters. The library must
  // outlive them.
  [[nodiscard]] std::vector<AmdGpu> Gpus() const;

 private:
  VendorLibrary library_;
  AmdSmiApi api_;
};

}  // namespace reprise
