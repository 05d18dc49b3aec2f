// The source that most of /sys needs: each metric is one file's number times a factor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/pseudo_file.h"
#include "telemetry/source.h"

namespace reprise {

class ScaledFilesSource : public Source {
 public:
  explicit ScaledFilesSource(std::string_view name) : name_(name) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] const std::vector<Metric>& metrics() const override { return metrics_; }
  void Read(std::span<double> values) override;

  // A file that cannot be opened, or holds no number now, is left out: many sensors exist only on
  // paper.
  void Add(const std::string& path, double factor, Metric metric);

 private:
  std::string name_;
  std::vector<std::pair<PseudoFile, double>> files_;
  std::vector<Metric> metrics_;
};

}  // namespace reprise
