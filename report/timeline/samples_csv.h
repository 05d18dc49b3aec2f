// A run's samples as files of `time,value` lines, for spreadsheets and scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "report/run/run.h"

namespace reprise {

// One file: a metric of a device of a host.
struct SampleSeries {
  std::string file;  // "<host>.<device>.<metric>.<unit>.csv": letters, digits and ._- only, unique
  std::string host;
  const Metric* metric = nullptr;
  std::vector<Sample> samples;  // by time, without unreadable ones
};

struct ExportedSamples {
  std::vector<SampleSeries> series;  // those without samples are left out
  std::int64_t zero_ns = 0;          // the run's first sample: time 0 in all files
  // Of zero_ns in Unix time; nothing where the run does not say. Hosts whose clocks are not related
  // each count from zero_ns on their own clock (RankData::clock_uncertainty_ns).
  std::optional<double> zero_unix_s;
};

// Borrows from `run`.
[[nodiscard]] ExportedSamples TabulateSamples(const RunData& run);
// "time,value": seconds since zero, and the value in the metric's unit; totals as they are.
void WriteSeriesCsv(const ExportedSamples& table, const SampleSeries& series, std::ostream& out);
// One line a file: what is in it.
void WriteIndexCsv(const ExportedSamples& table, std::ostream& out);

}  // namespace reprise
