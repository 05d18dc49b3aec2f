#include "cli/program/sampling_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "core/text.h"

namespace reprise {
namespace {

// Reading disturbs what is read, and no meter that we know changes faster.
constexpr double kMinPeriodMs = 5;

Status CheckSource(std::string_view flag, const std::string& name) {
  std::vector<std::string_view> names;
  for (const SourceKind& kind : BuiltinSources()) {
    if (kind.name == name) {
      return {};
    }
    names.push_back(kind.name);
  }
  return UsageError(fmt::format("{}: there is no source '{}'; there are: {}", flag, name,
                                fmt::join(names, ", ")));
}

Result<std::int64_t> ParsePeriodNs(const std::string& text) {
  const auto period_ms = ParseNumber<double>(text);
  if (!period_ms || !(*period_ms >= kMinPeriodMs) || *period_ms > 1e9) {
    return UsageError(fmt::format(
        "--sample-period: '{}' is no period: milliseconds from {} on, or off", text, kMinPeriodMs));
  }
  return static_cast<std::int64_t>(*period_ms * 1e6);
}

// "20,nvml=50": of all sources, then of single ones.
Status ParsePeriods(const std::string& text, SamplerOptions& options) {
  if (text == "off" || text == "0") {
    options.period_ns = 0;
    return {};
  }
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    REPRISE_ASSIGN(const std::int64_t period_ns,
                   ParsePeriodNs(equals == std::string::npos ? part : part.substr(equals + 1)));
    if (equals == std::string::npos) {
      options.period_ns = period_ns;
      continue;
    }
    const std::string source = part.substr(0, equals);
    REPRISE_TRY(CheckSource("--sample-period", source));
    options.source_periods_ns[source] = period_ns;
  }
  return {};
}

}  // namespace

void AddSourceFlags(CLI::App& app, SamplingFlags& flags) {
  app.add_option("--telemetry-library", flags.libraries, "SOURCE=FILE: path of a vendor library")
      ->take_all();
  app.add_option(
      "--telemetry-root", flags.root,
      "directory that holds proc and sys, e.g. where a container mounts those of its host");
}

void AddSamplingFlags(CLI::App& app, SamplingFlags& flags) {
  app.add_option("--sample-period", flags.periods,
                 "milliseconds between telemetry readings, at least 5; MS,SOURCE=MS,… sets single "
                 "sources; off: no telemetry");
  AddSourceFlags(app, flags);
}

Result<SamplerOptions> InterpretSampling(const SamplingFlags& flags) {
  SamplerOptions options;
  REPRISE_TRY(ParsePeriods(flags.periods, options));
  for (const std::string& text : flags.libraries) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      return UsageError(fmt::format(
          "--telemetry-library: '{}' is not SOURCE=FILE (nvml=/opt/…/libnvidia-ml.so.1)", text));
    }
    REPRISE_TRY(CheckSource("--telemetry-library", text.substr(0, equals)));
    options.sources.libraries[text.substr(0, equals)] = text.substr(equals + 1);
  }
  options.sources.root = flags.root;
  return options;
}

}  // namespace reprise
