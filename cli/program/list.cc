// reprise list: the registries, so that what is built in and what the documentation says are one.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/program/commands.h"
#include "cli/program/replay_parts.h"
#include "cli/program/sampling_flags.h"
#include "cli/program/show_json.h"
#include "collectives/algorithms/algorithm.h"
#include "converters/converter.h"
#include "core/comm.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "predict/machine/catalogue.h"
#include "predict/machine/machine_file.h"
#include "predict/machine/stack.h"
#include "predict/sweep/sweep.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/schedule.h"
#include "report/telemetry/sampler.h"

namespace reprise {
namespace {

// One entry of a registry: the keys of the JSON are the columns of the table.
Json Collectives() {
  Json rows = Json::array();
  for (const CommKind kind : kCommKinds) {
    rows.push_back({{"name", Name(kind)},
                    {"point_to_point", IsPointToPoint(kind)},
                    {"busbw_factor_of_4_ranks", BusFactor(kind, 4)}});
  }
  return rows;
}

Json Formats() {
  Json rows = Json::array();
  for (const ConverterKind& kind : BuiltinConverters()) {
    REPRISE_ADD_FIELDS(rows.emplace_back(), kind, name, help)
  }
  return rows;
}

Json Algorithms() {
  Json rows = Json::array();
  for (const auto& algorithm : BuiltinAlgorithms()) {
    Json kinds = Json::array();
    for (const CommKind kind : kCommKinds) {
      if (algorithm->Supports(kind)) {
        kinds.push_back(Name(kind));
      }
    }
    rows.push_back(
        {{"name", algorithm->name()}, {"help", algorithm->about()}, {"collectives", kinds}});
  }
  return rows;
}

Json Models() {
  Json rows = Json::array();
  for (const Preset& preset : BuiltinPresets()) {
    Result<Workload> workload = ReadWorkload(std::string(preset.name));
    if (!workload) {
      continue;  // tests/workload reads every preset
    }
    CompleteWorkload(*workload);
    rows.push_back({{"name", preset.name},
                    {"family", workload->model.family},
                    {"parameters", CountParameters(*workload)},
                    {"layers", workload->model.layers},
                    {"ranks", workload->layout.ranks()},
                    {"source", preset.source}});
  }
  return rows;
}

Json Sweeps() {
  Json rows = Json::array();
  for (const BuiltinSweep& sweep : BuiltinSweeps()) {
    REPRISE_ADD_FIELDS(rows.emplace_back(), sweep, name, jobs, machine, about, source)
  }
  return rows;
}

template <typename Entries>
Json NamesWithHelp(const Entries& entries) {
  Json rows = Json::array();
  for (const auto& entry : entries) {
    rows.push_back({{"name", entry.name}, {"help", entry.help}});
  }
  return rows;
}
Json Schedules() { return NamesWithHelp(BuiltinSchedules()); }
Json Parallelisms() { return NamesWithHelp(BuiltinParallelisms()); }

// Of built-in files; tests/machine reads every one.
template <typename Load>
Json NamesWithAbout(const std::vector<std::string>& names, const Load& load) {
  Json rows = Json::array();
  for (const std::string& name : names) {
    const auto read = load(name);
    rows.push_back({{"name", name}, {"help", read ? read->about : read.error().message}});
  }
  return rows;
}
Json Stacks() { return NamesWithAbout(StackNames(), LoadStack); }
Json Machines() {
  return NamesWithAbout(MachineNames(), [](const std::string& name) { return LoadMachine(name); });
}

// Every number, with unit, source and reference.
Json WholeMachines() {
  Json rows = Json::array();
  for (const std::string& name : MachineNames()) {
    if (const Result<MachineModel> machine = LoadMachine(name)) {
      rows.push_back(ToJson(*machine));
    }
  }
  return rows;
}

// Of each machine with numbers that were fitted to tables: how well they meet these.
Json MachineErrors() {
  Json rows = Json::array();
  for (const std::string& name : MachineNames()) {
    const Result<MachineModel> machine = LoadMachine(name);
    for (const FitErrors& fit : machine ? machine->fits : std::vector<FitErrors>{}) {
      Json& row = rows.emplace_back(Json{{"name", name}, {"class", fit.of_class}});
      REPRISE_ADD_FIELDS(row, fit, type, rows, fitted, error, constant, table)
    }
  }
  return rows;
}

void PrintMachineErrors(const Json& rows) {
  fmt::print(
      "median error of measured times: of the rows that were fitted, of values left out of the "
      "fit,\nand of one constant for all, likewise left out\n");
  fmt::print("{:<12}{:<12}{:<15}{:>7}{:>9}{:>10}{:>10}  {}\n", "machine", "class", "type", "rows",
             "fitted", "left out", "constant", "table");
  const auto percent = [](const Json& part) {
    return part.is_null() ? std::string("-") : fmt::format("{:.1f} %", 100 * part.get<double>());
  };
  for (const Json& row : rows) {
    fmt::print("{:<12}{:<12}{:<15}{:>7}{:>9}{:>10}{:>10}  {}\n", row["name"].get<std::string>(),
               row["class"].get<std::string>(), row["type"].get<std::string>(),
               row["rows"].get<std::int64_t>(), percent(row["fitted"]), percent(row["error"]),
               percent(row["constant"]), ShownText(row["table"].get<std::string>()));
  }
}

// One row for a metric of many devices.
Json MetricsOf(const Sampler& sampler, std::string_view source) {
  Json rows = Json::array();
  for (const Metric& metric : sampler.metrics()) {
    if (metric.source != source) {
      continue;
    }
    Json* same = nullptr;
    for (Json& row : rows) {
      if (row["name"] == metric.name && row["unit"] == metric.unit && row["help"] == metric.help) {
        same = &row;
      }
    }
    if (same == nullptr) {
      same = &rows.emplace_back();
      REPRISE_ADD_FIELDS(*same, metric, name, unit, kind)
      (*same)["devices"] = Json::array();
      REPRISE_ADD_FIELDS(*same, metric, modelled, states, help)
    }
    (*same)["devices"].push_back(metric.device);
  }
  return rows;
}

Json DevicesOf(const Sampler& sampler, std::string_view source) {
  Json rows = Json::array();
  for (const MeteredDevice& device : sampler.devices()) {
    if (device.source == source) {
      REPRISE_ADD_FIELDS(rows.emplace_back(), device, device, name, uuid, pci_bus_id)
    }
  }
  return rows;
}

// "cpu-0 … cpu-15 (16)" where they are many.
std::string DevicesText(const Json& devices) {
  if (devices.size() > 2) {
    return fmt::format("{} … {} ({})", devices.front().get<std::string>(),
                       devices.back().get<std::string>(), devices.size());
  }
  std::string text;
  for (const Json& device : devices) {
    text += (text.empty() ? "" : " ") + device.get<std::string>();
  }
  return text;
}

Json ListSources(const SourceOptions& options) {
  const auto sampler = Sampler::Open({.sources = options});
  Json rows = Json::array();
  for (const SourceKind& kind : BuiltinSources()) {
    std::string here = "available";
    for (const auto& [name, why] : sampler->unavailable()) {
      here = name == kind.name ? why : here;
    }
    rows.push_back({{"name", kind.name},
                    {"help", kind.help},
                    {"here", here},
                    {"devices", DevicesOf(*sampler, kind.name)},
                    {"metrics", MetricsOf(*sampler, kind.name)}});
  }
  return rows;
}

void PrintSources(const Json& rows) {
  for (const Json& row : rows) {
    fmt::print("{:<12} {}\n{:<12} {}\n", ShownText(row["name"].get<std::string>()),
               ShownText(row["help"].get<std::string>()), "",
               ShownText(row["here"].get<std::string>()));
    for (const Json& device : row["devices"]) {
      fmt::print("    {}  {}  {}\n", ShownText(device["device"].get<std::string>()),
                 ShownText(device["name"].get<std::string>()),
                 ShownText(device["uuid"].get<std::string>()));
    }
    for (const Json& metric : row["metrics"]) {
      const auto states = ShownText(metric["states"].get<std::string>());
      fmt::print(
          "    {:<22} {:<9} {:<8} {:<16} {}{}\n", ShownText(metric["name"].get<std::string>()),
          ShownText(metric["unit"].get<std::string>()),
          ShownText(metric["kind"].get<std::string>()), DevicesText(metric["devices"]),
          ShownText(metric["help"].get<std::string>()), states.empty() ? "" : " (" + states + ")");
    }
  }
}

struct Registry {
  std::string_view name;
  std::string_view help;
  Json (*rows)();                 // none: ListSources, which takes options
  Json (*json_rows)() = nullptr;  // what --json prints in place of `rows`
};
constexpr Registry kRegistries[] = {
    {"kernels", "the kernels and the operators that they run", ListKernels},
    {"backends", "the kinds of devices that kernels run on, for --device", ListBackends},
    {"collectives", "the transfers between ranks", Collectives},
    {"algorithms", "the algorithms of collectives, for --algo", Algorithms},
    {"formats", "the capture formats that convert reads", Formats},
    {"models", "the models that generate knows by name", Models},
    {"schedules", "the orders of a pipeline's passes", Schedules},
    {"parallelisms", "the ways in which generate divides a job among ranks", Parallelisms},
    {"machines", "the machines that simulate and predict know; --json: all their numbers", Machines,
     WholeMachines},
    {"stacks", "the software stacks of jobs, for --stack", Stacks},
    {"sweeps", "the sweeps that sweep knows by name", Sweeps},
    {"sources", "the telemetry sources, and those of this machine", nullptr},
};

std::string Text(const Json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_object()) {
    return Text(value["name"]);
  }
  if (value.is_array()) {
    std::string text;
    for (const Json& item : value) {
      text += (text.empty() ? "" : " ") + Text(item);
    }
    return text;
  }
  return value.dump();
}

// One table row an entry; every list as code, separated by spaces.
void PrintMarkdown(const Json& rows) {
  std::string title = "|";
  std::string rule = "|";
  for (const auto& [key, value] : rows.front().items()) {
    title += " " + key + " |";
    rule += "---|";
  }
  fmt::print("{}\n{}\n", title, rule);
  for (const Json& row : rows) {
    std::string line = "|";
    for (const auto& [key, value] : row.items()) {
      std::string cell = value.is_array() ? "" : Text(value);
      for (const Json& item : value.is_array() ? value : Json::array()) {
        cell += (cell.empty() ? "`" : " `") + Text(item) + "`";
      }
      line += " " + cell + " |";
    }
    fmt::print("{}\n", ShownText(line));
  }
}

void PrintTable(const Json& rows) {
  for (const Json& row : rows) {
    std::string line = fmt::format("{:<16}", Text(row["name"]));
    for (const auto& [key, value] : row.items()) {
      if (key == "name") {
        continue;
      }
      // Prose needs no title, numbers do.
      line += "  " + (value.is_string() || value.is_array() ? "" : key + "=") + Text(value);
    }
    fmt::print("{}\n", ShownText(line));
  }
}

}  // namespace

CommandBody RegisterList(CLI::App& app, const CommandContext& context) {
  app.description(
      "List the built-in kernels, collectives, algorithms, formats, models, schedules, machines, "
      "stacks, sweeps or sources");
  struct Flags {
    std::string what;
    bool json = false;
    bool markdown = false;
    bool errors = false;
    SamplingFlags sources;
  };
  auto flags = std::make_shared<Flags>();
  std::vector<std::string> names;
  std::string help = "which registry:";
  for (const Registry& registry : kRegistries) {
    names.emplace_back(registry.name);
    help += fmt::format("\n{}: {}", registry.name, registry.help);
  }
  app.add_option("WHAT", flags->what, help)->required()->check(CLI::IsMember(names));
  CLI::Option* json = app.add_flag("--json", flags->json, "machine-readable output");
  app.add_flag("--markdown", flags->markdown, "print a Markdown table")->excludes(json);
  app.add_flag("--errors", flags->errors,
               "of machines: how well their numbers meet the tables of measurements that they were "
               "fitted to, by class and type");
  AddSourceFlags(app, flags->sources);
  return [flags, argv = context.argv]() -> Result<int> {
    REPRISE_ASSIGN(const SamplerOptions options, InterpretSampling(flags->sources));
    if (flags->errors) {
      if (flags->what != "machines") {
        return UsageError(fmt::format(
            "--errors is of machines, as in `reprise list machines --errors`, and not of {}",
            flags->what));
      }
      const Json rows = MachineErrors();
      if (flags->json) {
        ShowJson(Json{{"errors", rows}}, 2);
      } else if (flags->markdown) {
        PrintMarkdown(rows);
      } else {
        PrintMachineErrors(rows);
      }
      return 0;
    }
    for (const Registry& registry : kRegistries) {
      if (registry.name != flags->what) {
        continue;
      }
      const bool sources = registry.rows == nullptr;
      const Json rows = sources ? ListSources(options.sources)
                        : flags->json && registry.json_rows != nullptr ? registry.json_rows()
                                                                       : registry.rows();
      if (rows.empty() && !sources) {
        return PartsOfReplay().run_elsewhere(fmt::format("list {}", registry.name), argv);
      }
      if (flags->json) {
        ShowJson(Json{{registry.name, rows}}, 2);
      } else if (flags->markdown) {
        PrintMarkdown(rows);
      } else if (sources) {
        PrintSources(rows);
      } else {
        PrintTable(rows);
      }
    }
    return 0;
  };
}

}  // namespace reprise
