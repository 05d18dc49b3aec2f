// What is compared, and what a comparison holds: values. docs/comparisons.md explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/compare/operation_difference.h"
#include "report/compare/quantity.h"
#include "report/compare/ranks.h"
#include "report/operations/job_operations.h"
#include "report/run/run_part.h"
#include "report/values/report.h"

namespace reprise {

// A run, a prediction, or a trace set as the run that it recorded.
struct ComparedRun {
  std::string path;
  Report report;
  // What is there, where report and operations are of what all sides have; else empty.
  RunPart part = {};
  // Where operations are aligned, and of a run whose ranks are compared.
  std::optional<JobOperations> operations = {};
  // Against the middle run of the first side (AlignSides); nothing where runs are not aligned.
  std::optional<OperationDifference> difference = {};
};

// What is compared: one run, or several repeats of it.
struct ComparedSide {
  std::string label;
  std::vector<ComparedRun> runs;
};

// Whether a side has a trace set.
[[nodiscard]] bool HasRecorded(const std::vector<ComparedSide>& sides);
// Whether operations were aligned.
[[nodiscard]] bool AreAligned(const std::vector<ComparedSide>& sides);

// The run whose step time is nearest to its side's median.
[[nodiscard]] const ComparedRun& MiddleRun(const ComparedSide& side);

enum class Better : std::uint8_t { kLower, kHigher, kNeither };
[[nodiscard]] std::string_view Name(Better better);

struct ComparedCell {
  std::optional<Quantity> quantity;  // nothing: not measured
  bool modelled = false;
  // To the first side's; nothing where they mean different things. Without an interval where
  // repeats are not runs.
  std::optional<Ratio> ratio;
  // Runs of each side that would narrow the interval to ±3 %, from the spread of runs, or else from
  // that of iterations; nothing where the spread is not known.
  std::optional<std::size_t> runs_needed;
  std::optional<double> difference;  // in place of a ratio: of shares and of temperatures
};

struct ComparedRow {
  std::string name;   // "time", "class.gemm", "phase.backward.energy", "collective.all_reduce"
  std::string label;  // for people
  std::string group;  // "summary", "class", "class energy", "phase", "phase energy", "collective"
  std::string unit;   // "seconds", "joules", "watts", "celsius", "hertz", "fraction", "1/s", …
  Better better = Better::kLower;
  std::vector<ComparedCell> cells;  // by side
  std::string note;                 // why there is no ratio
};

// One kind and size of transfers.
struct ComparedTransfer {
  struct Cell {
    std::int64_t count = 0;  // of one pass
    Quantity seconds;        // of one
    std::optional<double> busbw_gb_per_s;
    std::optional<Ratio> ratio;  // of the seconds
  };
  std::string name;
  std::int32_t group_size = 1;
  std::int64_t bytes = 0;
  std::vector<std::optional<Cell>> cells;  // by side
};

// What a side's step differs by from the first side's, in seconds, largest first.
struct DifferenceParts {
  // True: along the chain of operations that the step's end follows from, so the parts add up.
  // False: of the time that all ranks' operations took, whatever ran beside them.
  bool on_critical_path = false;
  double seconds = 0;
  double base_seconds = 0;  // the same of the first side, whole
  struct Part {
    std::string name;
    double seconds = 0;
  };
  std::vector<Part> parts;
  // Calls of one operation with inputs of one shape, of all ranks in one pass: those that differ
  // most the way the whole does. Nothing where none of both sides is worth a word.
  struct Calls {
    std::string name, shape;
    double seconds = 0;
    std::optional<double> ratio;
  };
  std::optional<Calls> above_all;
};

struct HeatMap {
  struct Rank {
    std::int32_t rank = 0;
    std::string host, device;
    std::vector<std::optional<double>> values;  // by metric
  };
  struct MetricName {
    std::string name, unit;
  };
  std::vector<MetricName> metrics;
  std::vector<Rank> ranks;
};

struct Setting {
  std::string name;
  std::vector<std::string> values;  // by side
};

struct Comparison {
  // A side has a trace set: repeats are recordings then.
  bool recorded = false;
  // Whether repeats are runs (or recordings); otherwise they are iterations of one run, whose
  // spread does not show how runs differ: no interval, and no claim.
  bool repeats_are_runs = false;
  std::vector<std::string> verdicts;  // of every side after the first
  std::vector<std::string> warnings;
  std::vector<Setting> settings;  // those that differ
  std::vector<ComparedRow> rows;
  std::vector<ComparedTransfer> transfers;                  // most time first
  std::vector<std::optional<DifferenceParts>> differences;  // of every side after the first
  std::vector<HeatMap> heat;                                // by side, of its middle run
  std::vector<RankComparison> ranks;                        // likewise; empty: no operations
};

// The repeats of one side.
struct SideValues {
  std::vector<double> values;
  bool modelled = false;
  std::string why_no_ratio;  // empty: there may be one
};

}  // namespace reprise
