#include "report/telemetry/scaled_files.h"

#include <algorithm>

namespace reprise {

void ScaledFilesSource::Read(std::span<double> values) {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto number = files_[i].first.Number();
    values[i] = number ? static_cast<double>(*number) * files_[i].second : kNoReading;
  }
}

bool ScaledFilesSource::Add(const std::string& path, double factor, Metric metric) {
  auto file = PseudoFile::Open(path);
  if (!file || !file->Number()) {
    return false;
  }
  files_.emplace_back(std::move(*file), factor);
  AddMetric(std::move(metric));
  return true;
}

void ScaledFilesSource::Identify(MeteredDevice device) {
  const bool known =
      std::any_of(devices().begin(), devices().end(),
                  [&](const MeteredDevice& other) { return other.device == device.device; });
  if (!known) {
    AddDevice(std::move(device));
  }
}

}  // namespace reprise
