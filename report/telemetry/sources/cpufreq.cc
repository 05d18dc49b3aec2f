// CPU clock: cpu0/cpufreq/scaling_cur_freq 3400000 (kHz).
#include <fmt/format.h>

#include <vector>

#include "report/telemetry/pseudo_file.h"
#include "report/telemetry/source.h"

namespace reprise {
namespace {

constexpr double kHertzPerKilohertz = 1e3;
// Reading a clock may interrupt its CPU; a few, spread over the machine, are enough.
constexpr std::size_t kMaxCpus = 8;

class CpufreqSource : public Source {
 public:
  explicit CpufreqSource(std::vector<PseudoFile> files, std::size_t cpus)
      : Source("cpufreq"), files_(std::move(files)) {
    AddMetric({.name = "clock",
               .unit = "hertz",
               .device = "cpu",
               .help = fmt::format("mean clock of {} of {} CPUs", files_.size(), cpus)});
  }

  void Read(std::span<double> values) override {
    double sum = 0;
    int count = 0;
    for (PseudoFile& file : files_) {
      if (const auto khz = file.Number()) {
        sum += static_cast<double>(*khz) * kHertzPerKilohertz;
        ++count;
      }
    }
    values[0] = count > 0 ? sum / count : kNoReading;
  }

 private:
  std::vector<PseudoFile> files_;
};

}  // namespace

SourceKind::Opened OpenCpufreq(const SourceOptions& options) {
  const std::string directory = options.root + "/sys/devices/system/cpu";
  std::vector<std::string> paths;
  for (const std::string& cpu : ListPrefixed(directory, "cpu")) {
    std::string path = fmt::format("{}/{}/cpufreq/scaling_cur_freq", directory, cpu);
    if (!ReadLabel(path).empty()) {
      paths.push_back(std::move(path));
    }
  }
  std::vector<PseudoFile> files;
  const std::size_t wanted = std::min(kMaxCpus, paths.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    auto file = PseudoFile::Open(paths[i * paths.size() / wanted]);
    if (file) {
      files.push_back(std::move(*file));
    }
  }
  if (files.empty()) {
    return {nullptr, directory + ": no cpufreq (virtual machines usually hide it)"};
  }
  return {std::make_unique<CpufreqSource>(std::move(files), paths.size()), {}};
}

}  // namespace reprise
