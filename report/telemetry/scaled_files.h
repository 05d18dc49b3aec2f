// The source that most of /sys needs: each metric is one file's number times a factor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/telemetry/pseudo_file.h"
#include "report/telemetry/source.h"

namespace reprise {

class ScaledFilesSource : public Source {
 public:
  using Source::Source;

  void Read(std::span<double> values) override;

  // A file that cannot be opened, or holds no number now, is left out: many sensors exist only on
  // paper. Whether it was added.
  bool Add(const std::string& path, double factor, Metric metric);
  // Says which physical device the metrics of device.device belong to.
  void Identify(MeteredDevice device);

 private:
  std::vector<std::pair<PseudoFile, double>> files_;
};

}  // namespace reprise
