// NVIDIA GPUs by the driver's management library, NVML. Needs no privileges. MIG instances have no
// meters of their own: the GPU that they are parts of is read.
#include <fmt/format.h>

#include <vector>

#include "report/telemetry/nvml_api.h"
#include "report/telemetry/nvml_metrics.h"
#include "report/telemetry/running_total.h"
#include "report/telemetry/source.h"

namespace reprise {
namespace {

class NvmlSource : public Source {
 public:
  // Of an initialised library, which it shuts down.
  NvmlSource(VendorLibrary library, const nvml::Api& api)
      : Source("nvml"), library_(std::move(library)), api_(api) {}
  ~NvmlSource() override { (void)api_.shutdown(); }
  NvmlSource(const NvmlSource&) = delete;
  NvmlSource& operator=(const NvmlSource&) = delete;

  [[nodiscard]] bool MayBlock() const override { return true; }
  void Read(std::span<double> values) override;

  // Adds what the GPU supports now; why not, if that is nothing.
  std::string Add(unsigned index);

 private:
  struct Column {
    const nvml::MetricSpec* spec;
    int field = -1;  // place in Gpu::fields; -1: read by the spec's call
    RunningTotal total;
  };
  struct Gpu {
    nvml::Device handle;
    std::vector<nvml::FieldValue> fields;
    std::vector<Column> columns;
  };

  void ReadFields(Gpu& gpu) const;
  [[nodiscard]] nvml::Return ReadRaw(const Gpu& gpu, const Column& column, double* raw) const;
  void ChooseColumns(Gpu& gpu) const;
  void DropCopiedMemoryPower(Gpu& gpu) const;

  VendorLibrary library_;
  nvml::Api api_;
  std::vector<Gpu> gpus_;
};

// All fields of a GPU in one call.
void NvmlSource::ReadFields(Gpu& gpu) const {
  if (gpu.fields.empty()) {
    return;
  }
  const nvml::Return all =
      api_.field_values(gpu.handle, static_cast<int>(gpu.fields.size()), gpu.fields.data());
  for (nvml::FieldValue& field : gpu.fields) {
    field.result = all == nvml::kSuccess ? field.result : all;
  }
}

nvml::Return NvmlSource::ReadRaw(const Gpu& gpu, const Column& column, double* raw) const {
  if (column.field < 0) {
    return column.spec->call(api_, gpu.handle, raw);
  }
  const nvml::FieldValue& field = gpu.fields[static_cast<std::size_t>(column.field)];
  *raw = nvml::RawValue(field);
  return field.result;
}

// Tries all fields, then the calls of those that are missing.
void NvmlSource::ChooseColumns(Gpu& gpu) const {
  Gpu trial{.handle = gpu.handle};
  for (const nvml::MetricSpec& spec : nvml::MetricSpecs()) {
    if (spec.field != nvml::kNoField && api_.field_values != nullptr) {
      trial.fields.push_back({.field = spec.field, .scope = spec.scope});
    }
  }
  ReadFields(trial);
  std::size_t next = 0;
  for (const nvml::MetricSpec& spec : nvml::MetricSpecs()) {
    Column column{.spec = &spec, .total = RunningTotal(spec.range)};
    const bool is_field = spec.field != nvml::kNoField && api_.field_values != nullptr;
    if (is_field && !nvml::IsUnsupported(trial.fields[next++].result)) {
      column.field = static_cast<int>(gpu.fields.size());
      gpu.fields.push_back({.field = spec.field, .scope = spec.scope});
      gpu.columns.push_back(column);
      continue;
    }
    double raw = 0;
    if (spec.call != nullptr && !nvml::IsUnsupported(spec.call(api_, gpu.handle, &raw))) {
      gpu.columns.push_back(column);
    }
  }
}

// A driver that knows no scopes gives the GPU's power for the memory's.
void NvmlSource::DropCopiedMemoryPower(Gpu& gpu) const {
  double power = kNoReading;
  for (std::size_t i = 0; i < gpu.columns.size(); ++i) {
    const Column& column = gpu.columns[i];
    double raw = kNoReading;
    if (column.spec->field != nvml::kPowerInstant || ReadRaw(gpu, column, &raw) != nvml::kSuccess) {
      continue;
    }
    if (column.spec->scope == nvml::kScopeGpu) {
      power = raw;
    } else if (raw == power) {
      gpu.columns.erase(gpu.columns.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
}

std::string NvmlSource::Add(unsigned index) {
  Gpu gpu{};
  nvml::PciInfo pci{};
  std::array<char, 96> uuid{};
  std::array<char, 96> product{};
  nvml::Return result = api_.device(index, &gpu.handle);
  if (result == nvml::kSuccess) {
    result = api_.pci_info(gpu.handle, &pci);
  }
  if (result != nvml::kSuccess) {
    return fmt::format("GPU {}: {}", index, Explain(api_, result));
  }
  (void)api_.uuid(gpu.handle, uuid.data(), uuid.size());
  (void)api_.name(gpu.handle, product.data(), product.size());
  ChooseColumns(gpu);
  ReadFields(gpu);
  DropCopiedMemoryPower(gpu);
  if (gpu.columns.empty()) {
    return fmt::format("GPU {}: supports no metric", index);
  }
  const std::string bus_id = NormalizePciBusId(pci.bus_id.data());
  const std::string device = "gpu-" + (bus_id.empty() ? std::to_string(index) : bus_id);
  AddDevice({.device = device,
             .name = product.data(),
             .uuid = NormalizeUuid(uuid.data()),
             .pci_bus_id = bus_id});
  for (const Column& column : gpu.columns) {
    AddMetric({.name = column.spec->name,
               .unit = column.spec->unit,
               .device = device,
               .kind = column.spec->kind,
               .states = column.spec->states,
               .help = column.spec->help});
  }
  gpus_.push_back(std::move(gpu));
  return {};
}

void NvmlSource::Read(std::span<double> values) {
  std::size_t next = 0;
  for (Gpu& gpu : gpus_) {
    ReadFields(gpu);
    bool lost = false;  // then further calls only cost time
    for (Column& column : gpu.columns) {
      double raw = kNoReading;
      const nvml::Return result = lost ? nvml::kGpuIsLost : ReadRaw(gpu, column, &raw);
      lost = result == nvml::kGpuIsLost;
      if (result != nvml::kSuccess) {
        raw = kNoReading;
      } else if (IsTotal(column.spec->kind)) {
        raw = raw >= 0 ? static_cast<double>(column.total.Update(static_cast<std::uint64_t>(raw)))
                       : kNoReading;
      }
      values[next++] = raw * column.spec->scale;
    }
  }
}

}  // namespace

SourceKind::Opened OpenNvml(const SourceOptions& options) {
  auto library = VendorLibrary::Open(options, "nvml", {"libnvidia-ml.so.1"});
  if (!library) {
    return {nullptr, library.error().message};
  }
  const auto api = nvml::LoadApi(*library);
  if (!api) {
    return {nullptr, api.error().message};
  }
  const std::string path = library->path();
  if (const nvml::Return result = api->init(); result != nvml::kSuccess) {
    return {nullptr, fmt::format("{}: {}", path, Explain(*api, result))};
  }
  auto source = std::make_unique<NvmlSource>(std::move(*library), *api);
  unsigned count = 0;
  if (const nvml::Return result = api->device_count(&count); result != nvml::kSuccess) {
    return {nullptr, fmt::format("{}: {}", path, Explain(*api, result))};
  }
  std::string why_not = "no GPU";
  for (unsigned i = 0; i < count; ++i) {
    const std::string why = source->Add(i);
    why_not = why.empty() ? why_not : why;
  }
  return OpenedIfAny(std::move(source), fmt::format("{}: {}", path, why_not));
}

}  // namespace reprise
