#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "report/compare/rows.h"

namespace reprise {
namespace {

// Real coverage that differs by no more is the same work.
constexpr double kCoverageTolerance = 0.01;

// Whether an option decides which part of the trace was played, and how fast.
bool ChoosesPart(const std::string& option) {
  static constexpr std::array kOptions = {"one_trace", "ranks", "group_sizes",
                                          "steps",     "range", "streams"};
  return option.starts_with("time_scale") || option.starts_with("stretch") ||
         std::find(kOptions.begin(), kOptions.end(), option) != kOptions.end();
}

// Whether it decides what runs as the real operation, and what as its recorded time.
bool ChoosesMode(const std::string& option) {
  return option == "mode" || option == "ops" || option == "comms" || option.starts_with("ops.") ||
         option.starts_with("comms.") || option == "host_gap_factor";
}

std::string OptionOf(const RunManifest& manifest, const std::string& name) {
  const auto found = manifest.options.find(name);
  return found == manifest.options.end() ? "not given" : found->second;
}

class SettingsExamination {
 public:
  SettingsExamination(const ComparedRun& base, const std::string& label)
      : base_(base), label_(label) {}

  void Examine(const ComparedRun& run, const std::string& label) {
    const RunManifest& a = base_.report.manifest;
    const RunManifest& b = run.report.manifest;
    if (run.report.iteration_step_ns.empty() && !run.report.energy_joules) {
      Add("iterations", fmt::format("{} ({}) finished no iteration on every rank and measured no "
                                    "energy: nothing to compare",
                                    label, run.path));
    }
    if (IsMonitored(run.report) != IsMonitored(base_.report)) {
      Add("mode", fmt::format("one of {} and {} watched a program (reprise monitor), the other "
                              "replayed a trace",
                              label_, label));
      return;
    }
    if (a.trace_hash != b.trace_hash) {
      Add("trace", fmt::format("{} played the trace '{}', {} '{}': their contents differ", label_,
                               a.trace_name, label, b.trace_name));
    }
    if (IsMonitored(run.report) && OptionOf(a, "monitored") != OptionOf(b, "monitored")) {
      Add("trace", fmt::format("{} and {} watched different programs: '{}' and '{}'", label_, label,
                               OptionOf(a, "monitored"), OptionOf(b, "monitored")));
    }
    if (a.world_size != b.world_size) {
      Add("part", fmt::format("{} ran {} ranks, {} {}", label_, a.world_size, label, b.world_size));
    }
    ExamineOptions(a, b, label);
    const double real = base_.report.coverage.real - run.report.coverage.real;
    if (std::abs(real) > kCoverageTolerance) {
      Add("coverage", fmt::format("{:.1f} % of {}'s recorded time ran as the real operation, {:.1f}"
                                  " % of {}'s",
                                  100 * base_.report.coverage.real, label_,
                                  100 * run.report.coverage.real, label));
    }
  }

  std::vector<Incomparable> Take() { return std::move(found_); }

 private:
  void ExamineOptions(const RunManifest& a, const RunManifest& b, const std::string& label) {
    std::map<std::string, int> names;
    for (const RunManifest* manifest : {&a, &b}) {
      for (const auto& [name, value] : manifest->options) {
        names[name];
      }
    }
    for (const auto& [name, unused] : names) {
      const char* key = ChoosesMode(name) ? "mode" : ChoosesPart(name) ? "part" : nullptr;
      if (key != nullptr && OptionOf(a, name) != OptionOf(b, name)) {
        Add(key, fmt::format("option {} of {} is {}, of {} {}", name, label_, OptionOf(a, name),
                             label, OptionOf(b, name)));
      }
    }
  }

  void Add(const char* key, std::string why) {
    const bool known = std::any_of(found_.begin(), found_.end(),
                                   [&why](const Incomparable& of) { return of.why == why; });
    if (!known) {
      found_.push_back({key, std::move(why)});
    }
  }

  const ComparedRun& base_;
  const std::string& label_;
  std::vector<Incomparable> found_;
};

}  // namespace

std::vector<Incomparable> FindIncomparable(const std::vector<ComparedSide>& sides) {
  SettingsExamination examination(sides.front().runs.front(), sides.front().label);
  for (const ComparedSide& side : sides) {
    for (const ComparedRun& run : side.runs) {
      examination.Examine(run, side.runs.size() == 1 ? side.label : side.label + ", " + run.path);
    }
  }
  return examination.Take();
}

}  // namespace reprise
