// reprise calibrate: a machine's efficiencies, fitted to captures and tables of kernels.
#include "predict/calibration/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/predict/calibrate_power.h"
#include "cli/predict/calibrate_tables.h"
#include "cli/program/commands.h"
#include "cli/program/show_json.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "et_schema/output_file.h"
#include "predict/capture_times.h"
#include "predict/machine/catalogue.h"
#include "predict/machine/machine_file.h"

namespace reprise {
namespace {

struct CalibrateFlags {
  std::vector<std::string> inputs, columns;
  std::string output, machine, numbers_of, name;
  bool force = false, json = false;
};

Result<MachineModel> BaseMachine(const CalibrateFlags& flags, const std::set<std::string>& devices,
                                 bool streams) {
  const std::string shown = fmt::format("{}", fmt::join(devices, ", "));
  std::string name = flags.machine;
  if (name.empty()) {
    if (devices.size() > 1) {
      return BadInput(
          fmt::format("the captures are of different devices ({}); one machine is fitted to "
                      "captures of one device: calibrate each by itself",
                      ShownText(shown)));
    }
    const std::vector<std::string> known = MachinesOfDevice(*devices.begin());
    if (devices.begin()->empty() || known.empty()) {
      return BadInput(fmt::format(
          "the captures are of {}, which no built-in machine has; describe that machine "
          "(docs/machine_format.md, `reprise machine measure` for this one) and name the file with "
          "--machine",
          devices.begin()->empty() ? "a device that they do not name"
                                   : "'" + ShownText(shown) + "'"));
    }
    name = known.front();
  }
  REPRISE_ASSIGN(MachineModel base, LoadMachine(name));
  if ((base.device.kind == DeviceKind::kGpu) != streams) {
    return BadInput(fmt::format(
        "the captures are of {}, and {} is a {} machine; name one of their "
        "kind with --machine",
        streams ? "a GPU" : "a CPU (host threads only)", base.name, Name(base.device.kind)));
  }
  for (const std::string& device : devices) {
    if (!IsRecordedAs(base.device, device)) {
      fmt::print(stderr, "note: a capture {}, and {} has {}\n",
                 device.empty() ? "does not name its device"
                                : fmt::format("is of '{}'", ShownText(device)),
                 base.name, base.device.name);
    }
  }
  return base;
}

// The same recording, whatever its path, name or form: no two steps take the same time in every
// operation.
bool AreSameTimes(const CaptureTimes& a, const CaptureTimes& b) {
  const auto same = [](const FitPoint& x, const FitPoint& y) {
    return x.work.op_class == y.work.op_class && x.work.dtype == y.work.dtype &&
           x.work.flops == y.work.flops && x.work.bytes == y.work.bytes && x.ns == y.ns &&
           x.calls == y.calls;
  };
  return a.operations_ns == b.operations_ns && a.kernel_ns == b.kernel_ns &&
         std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(), same);
}

// Null where nothing was recorded.
double SignedError(double predicted_ns, double recorded_ns) {
  return recorded_ns > 0 ? predicted_ns / recorded_ns - 1 : std::nan("");
}

// Mean over captures of |error|, for a class or in all.
struct MeanErrors {
  double fitted = 0, constant = 0, peaks = 0, recorded_ns = 0;
  int captures = 0;

  void Add(const PredictedSums& sums) {
    if (sums.recorded_ns <= 0) {
      return;
    }
    fitted += std::abs(SignedError(sums.fitted_ns, sums.recorded_ns));
    constant += std::abs(SignedError(sums.constant_ns, sums.recorded_ns));
    peaks += std::abs(SignedError(sums.peaks_ns, sums.recorded_ns));
    recorded_ns += sums.recorded_ns;
    ++captures;
  }
  void Finish() {
    for (double* const sum : {&fitted, &constant, &peaks}) {
      *sum /= std::max(captures, 1);
    }
  }
};

struct CalibrationErrors {
  std::vector<std::pair<OpClass, MeanErrors>> by_class;
  MeanErrors total;
};

CalibrationErrors ErrorsOf(std::span<const SumsByClass> left_out) {
  CalibrationErrors errors;
  for (std::size_t i = 0; i < kOpClassCount; ++i) {
    MeanErrors of_class;
    for (const SumsByClass& sums : left_out) {
      of_class.Add(sums[i]);
    }
    if (of_class.captures > 0) {
      of_class.Finish();
      errors.by_class.emplace_back(static_cast<OpClass>(i), of_class);
    }
  }
  for (const SumsByClass& sums : left_out) {
    errors.total.Add(TotalOf(sums));
  }
  errors.total.Finish();
  return errors;
}

void to_json(Json& json, const MeanErrors& errors) {
  REPRISE_ADD_FIELDS(json, errors, captures, recorded_ns)
  json["error"] = errors.fitted;
  json["error_constant"] = errors.constant;
  json["error_peaks"] = errors.peaks;
}

double UnknownPart(std::span<const CaptureTimes> captures) {
  double all = 0;
  double known = 0;
  for (const CaptureTimes& capture : captures) {
    all += capture.operations_ns;
    known += capture.points_ns();
  }
  return all > 0 ? 1 - known / all : 0;
}

Json CalibrationJson(const MachineModel& machine, std::span<const CaptureTimes> captures,
                     std::span<const SumsByClass> left_out, const CalibrationErrors& errors) {
  Json json = {{"machine", machine.name},
               {"calibrated_on", machine.calibration->on},
               {"points", std::llround(machine.calibration->points->value)},
               {"unknown_share", UnknownPart(captures)},
               {"left_out", Json::array()}};
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    const PredictedSums total = TotalOf(left_out[i]);
    json["left_out"].push_back({{"capture", captures[i].name},
                                {"recorded_ns", total.recorded_ns},
                                {"predicted_ns", total.fitted_ns},
                                {"constant_ns", total.constant_ns},
                                {"peaks_ns", total.peaks_ns}});
  }
  json["total"] = left_out.empty() ? Json(nullptr) : Json(errors.total);
  json["classes"] = Json::object();
  for (const auto& [op_class, of_class] : errors.by_class) {
    json["classes"][std::string(Name(op_class))] = of_class;
  }
  return json;
}

void PrintErrorRow(std::string_view name, double share, const MeanErrors& errors) {
  fmt::print("{:<14}{:>9.1f} %{:>9.1f} %{:>14.1f} %{:>12.1f} %\n", name, 100 * share,
             100 * errors.fitted, 100 * errors.constant, 100 * errors.peaks);
}

void PrintCalibration(const MachineModel& machine, std::span<const CaptureTimes> captures,
                      std::span<const SumsByClass> left_out, const CalibrationErrors& errors) {
  fmt::print("{}: {} of {}: {}\n", ShownText(machine.name),
             Counted(machine.calibration->points->value, "point"),
             Counted(captures.size(), "capture"), ShownText(machine.calibration->on));
  fmt::print("{:.1f} % of the operations' time has no known operation, and was not fitted\n",
             100 * UnknownPart(captures));
  fmt::print(
      "launch latency {:.1f} us, least kernel time {:.1f} us, host's time for a launch {:.1f} "
      "us\n",
      machine.device.launch_latency_ns.value * 1e-3, machine.device.kernel_least_ns.value * 1e-3,
      machine.host.launch_ns.value * 1e-3);
  if (left_out.empty()) {
    fmt::print(
        "one capture: nothing can be left out, so that the error is unknown; give two or "
        "more\n");
    return;
  }
  fmt::print("\nerror of a capture's time, predicted from the others; mean of the captures\n");
  fmt::print("{:<14}{:>11}{:>11}{:>16}{:>14}\n", "class", "of time", "error", "one constant",
             "peaks alone");
  for (const auto& [op_class, of_class] : errors.by_class) {
    PrintErrorRow(Name(op_class), of_class.recorded_ns / errors.total.recorded_ns, of_class);
  }
  PrintErrorRow("all", 1, errors.total);
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    const PredictedSums total = TotalOf(left_out[i]);
    fmt::print("{}: {:+.1f} %, one constant {:+.1f} %, peaks alone {:+.1f} %\n",
               ShownText(captures[i].name), 100 * SignedError(total.fitted_ns, total.recorded_ns),
               100 * SignedError(total.constant_ns, total.recorded_ns),
               100 * SignedError(total.peaks_ns, total.recorded_ns));
  }
}

// What the captures say, and what they are of.
struct ReadCaptures {
  std::vector<CaptureTimes> captures;
  std::set<std::string> devices;
  bool streams = false;
  KernelTable transfers;  // of captures that have nothing else; all of them
};

void AddTransfers(KernelTable from, KernelTable& to) {
  to.name += (to.name.empty() ? "" : ", ") + from.name;
  to.of_class = from.of_class;
  to.rows.insert(to.rows.end(), from.rows.begin(), from.rows.end());
}

// Fits are of the innermost link.
void LeaveOutLargerGroups(const MachineModel& machine, KernelTable& table) {
  const std::int64_t most = machine.links.empty() ? 0 : machine.links.front().spans();
  const std::size_t left_out = std::erase_if(table.rows, [most](const KernelRow& row) {
    return most > 0 && row.collective->members > most;
  });
  if (left_out > 0) {
    fmt::print(stderr, "note: {}: {} of more than the {} devices that {} joins are left out\n",
               ShownText(table.name), Counted(left_out, "transfer"), most,
               machine.links.front().name);
  }
}

Result<ReadCaptures> ReadAllCaptures(const std::vector<std::string>& paths,
                                     const std::string& scratch) {
  ReadCaptures read;
  auto& [captures, devices, streams, transfers] = read;
  for (const std::string& path : paths) {
    REPRISE_ASSIGN(ReadCapture capture, ReadCaptureTimes(path, scratch));
    if (!capture.transfers.rows.empty()) {
      AddTransfers(std::move(capture.transfers), transfers);
      continue;
    }
    if (!captures.empty() && capture.streams != streams) {
      return BadInput(
          fmt::format("{} is of {}, the captures before it are not; calibrate each by "
                      "itself",
                      ShownText(path), capture.streams ? "a GPU" : "a CPU"));
    }
    // Copies say how many bytes without any shapes.
    const auto& points = capture.times.points;
    if (std::ranges::all_of(points, [](const FitPoint& point) {
          return point.work.op_class == OpClass::kMemcpy;
        })) {
      return BadInput(fmt::format(
          "{}: no operation has both a time and known FLOPs or bytes, so that there is nothing to "
          "fit; capture with shapes (record_shapes=True)",
          ShownText(path)));
    }
    for (std::size_t i = 0; i < captures.size(); ++i) {
      if (AreSameTimes(captures[i], capture.times)) {
        return UsageError(fmt::format(
            "{} and {} hold the same recording: the error of a capture is predicted from the "
            "others, and it must not be among them; give each once",
            ShownText(paths[i]), ShownText(path)));
      }
    }
    streams = capture.streams;
    devices.merge(capture.devices);
    captures.push_back(std::move(capture.times));
  }
  return read;
}

Result<int> Calibrate(const CalibrateFlags& flags) {
  if (!flags.output.ends_with(".json")) {
    return UsageError(
        fmt::format("-o {}: a machine file's name ends in .json", ShownText(flags.output)));
  }
  std::vector<std::string> captures;
  std::vector<std::string> tables;
  for (const std::string& input : flags.inputs) {
    (IsKernelTable(input) ? tables : captures).push_back(input);
  }
  if (captures.empty() && flags.machine.empty()) {
    return UsageError("a table of kernels does not name its device: give the machine by --machine");
  }
  if (tables.empty() && !flags.columns.empty()) {
    return UsageError("--columns is for tables of kernels (.csv), and none is given");
  }
  if (tables.empty() && !flags.numbers_of.empty()) {
    return UsageError("--numbers-of is for tables of kernels (.csv), and none is given");
  }
  REPRISE_ASSIGN(OutputFile output, OutputFile::Create(flags.output, flags.force));
  REPRISE_ASSIGN(ReadCaptures read, ReadAllCaptures(captures, flags.output));
  const bool transfers = !read.transfers.rows.empty();
  if (read.captures.empty() && flags.machine.empty()) {
    return UsageError(
        "captures of transfers alone do not name their device: give the machine by --machine");
  }
  MachineModel base;
  if (read.captures.empty()) {
    REPRISE_ASSIGN(base, LoadMachine(flags.machine));
  } else {
    REPRISE_ASSIGN(base, BaseMachine(flags, read.devices, read.streams));
  }
  std::optional<MachineModel> other;
  if (!flags.numbers_of.empty()) {
    REPRISE_ASSIGN(other, LoadMachine(flags.numbers_of));
  }
  REPRISE_ASSIGN(std::vector<KernelTable> read_tables, ReadTables(tables, flags.columns));
  if (transfers) {
    LeaveOutLargerGroups(base, read.transfers);
    read_tables.push_back(std::move(read.transfers));
  }
  REPRISE_ASSIGN(const std::vector<FittedTable> fitted_tables,
                 FitTables(base, std::move(read_tables), other ? &*other : nullptr));
  MachineModel machine = base;
  std::vector<SumsByClass> left_out;
  if (!read.captures.empty()) {
    REPRISE_ASSIGN(machine, FitMachine(base, read.captures));
    REPRISE_ASSIGN(left_out, LeaveOneOut(base, read.captures));
    machine = Calibrated(std::move(machine), read.captures, left_out);
  }
  TakeTables(fitted_tables, machine);
  std::vector<KernelTable> with_watts;
  with_watts.reserve(fitted_tables.size());
  for (const FittedTable& fitted : fitted_tables) {
    with_watts.push_back(fitted.table);
  }
  REPRISE_ASSIGN(const std::optional<PowerFit> power, FitPower(machine.device, with_watts));
  if (power) {
    machine.device = power->device;
  }
  machine.name = flags.name.empty() ? base.name + "-calibrated" : flags.name;
  output.stream() << ToJson(machine).dump(2) << '\n';
  REPRISE_TRY(output.Commit());
  if (flags.json) {
    Json json = read.captures.empty()
                    ? Json{{"machine", machine.name}}
                    : CalibrationJson(machine, read.captures, left_out, ErrorsOf(left_out));
    json["tables"] = TablesJson(fitted_tables);
    json["watts"] = PowerJson(power);
    ShowJson(json, 2);
    return 0;
  }
  if (!read.captures.empty()) {
    PrintCalibration(machine, read.captures, left_out, ErrorsOf(left_out));
  }
  if (!fitted_tables.empty()) {
    PrintTables(fitted_tables);
    PrintPower(power);
  }
  return 0;
}

}  // namespace

CommandBody RegisterCalibrate(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<CalibrateFlags>();
  app.description(
      "Fit a machine's efficiencies to captures with shapes (docs/simulation.md), or to tables of "
      "measured kernels (docs/kernel_tables.md)");
  app.add_option(
         "CAPTURE", flags->inputs,
         "trace sets, or captures that `reprise convert` reads, of one device, of which two "
         "or more show the error; or tables of kernels, .csv or .csv.gz, one for a class")
      ->required();
  app.add_option("--columns", flags->columns,
                 "file that says which column of a table is what, tried before the built-in ones; "
                 "more than one may be given");
  app.add_option("-o,--output", flags->output, "machine file to write, NAME.json")->required();
  app.add_option("--machine", flags->machine,
                 "name or file of the machine that the captures are of (default: by the device's "
                 "name in the captures)");
  app.add_option("--numbers-of", flags->numbers_of,
                 "name or file of another machine, whose efficiencies predict the tables, too, at "
                 "the peaks of --machine: the error on a device that its fit has not seen");
  app.add_option("--name", flags->name, "of the new machine (default: the old one's, -calibrated)");
  app.add_flag("--force", flags->force, "replace an existing file");
  app.add_flag("--json", flags->json, "print the errors as JSON");
  return [flags] { return Calibrate(*flags); };
}

}  // namespace reprise
