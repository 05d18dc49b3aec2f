// AMD GPUs: what their table of measurements and the calls of a library become.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/amd_metrics_table.h"
#include "telemetry/amd_throttling.h"
#include "telemetry/running_total.h"
#include "telemetry/source.h"

namespace reprise {

// What is asked for by a call of its own.
enum class AmdReading : std::uint8_t {
  kPowerCapWatts,
  kMemoryUsedBytes,
  kMaxClockHertz,
  kEccCorrected,
  kEccUncorrected,
  kPcieReplays,
};

// The energy counter: its count and what one count is worth.
struct AmdEnergy {
  std::uint64_t count = 0;
  double joules_per_count = 0;
};

// One GPU of one library.
class AmdGpu {
 public:
  virtual ~AmdGpu() = default;
  // Nothing from any of them where the GPU has no such thing, or the call failed.
  [[nodiscard]] virtual bool ReadTable(AmdMemory& memory) = 0;
  [[nodiscard]] virtual std::optional<AmdEnergy> ReadEnergy() = 0;
  [[nodiscard]] virtual std::optional<double> Read(AmdReading what) = 0;
};

class AmdSource : public Source {
 public:
  // `library`: kept until the GPUs are gone; its destructor shuts it down.
  AmdSource(std::string_view name, std::shared_ptr<void> library);
  ~AmdSource() override;

  [[nodiscard]] bool MayBlock() const override { return true; }
  void Read(std::span<double> values) override;

  // Adds the metrics that the GPU has a value of now. `identity`: name, uuid, pci_bus_id.
  void Add(std::unique_ptr<AmdGpu> gpu, MeteredDevice identity);

 private:
  struct Meter;
  std::shared_ptr<void> library_;
  std::vector<std::unique_ptr<Meter>> meters_;
};

}  // namespace reprise
