// reprise convert: captures in, a trace set out.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/program/commands.h"
#include "cli/program/common_options.h"
#include "cli/program/number_checks.h"
#include "cli/program/show_json.h"
#include "cli/traces/counter_lines.h"
#include "cli/traces/link_summary.h"
#include "cli/traces/resumed_text.h"
#include "converters/converter.h"
#include "converters/fold_set.h"
#include "converters/other_forms.h"
#include "core/counted.h"
#include "core/nearest.h"
#include "core/output_kind.h"
#include "core/processes.h"
#include "core/shown_text.h"
#include "et_schema/json.h"
#include "et_schema/trace_set.h"
#include "predict/operator_work.h"
#include "replayer/plan/set_checks.h"

namespace reprise {

inline void to_json(Json& json, const ConvertedRank& of) {
  REPRISE_ADD_FIELDS(json, of, rank, path, host_trace, device_trace, nodes, edges, transfers,
                     recorded_operations)
  json["link"] = ToJson(of.link);
}

namespace {

struct ConvertFlags {
  ConvertRequest request;
  std::string input, output, format, repeat = "recorded";
  bool json = false, expand = false;
};

Status Interpret(ConvertFlags& flags) {
  ConvertRequest& request = flags.request;
  request.repeat = flags.repeat == "median" ? RepeatChoice::kMedian : RepeatChoice::kRecorded;
  request.costs = OperatorCosts();
  if (request.host_trace.empty() && request.device_trace.empty()) {
    if (flags.input.empty()) {
      return UsageError(
          "give a capture (a directory or a file), or --host-trace and --device-trace");
    }
    // What is not there goes to the converter as a directory: it says so.
    std::error_code error;
    const bool file = std::filesystem::is_regular_file(flags.input, error);
    (file ? request.input_file : request.input_directory) = flags.input;
    (file && IsEtFileName(flags.output) ? request.output_file : request.output_directory) =
        flags.output;
  } else {
    if (!flags.input.empty()) {
      return UsageError("give either a capture, or --host-trace and --device-trace");
    }
    request.output_file = flags.output;
  }
  return request.fold && !request.output_file.empty()
             ? UsageError("--fold writes a directory, and -o names a file of one rank")
             : Status();
}

// Folds a trace set, or expands it.
Result<int> RewriteSet(const ConvertFlags& flags) {
  const FoldRequest request{.set = flags.input,
                            .directory = flags.output,
                            .name = flags.request.name,
                            .expand = flags.expand,
                            .force = flags.request.force};
  REPRISE_ASSIGN(const FoldSummary summary, FoldSet(request));
  if (flags.json) {
    ShowJson(Json{{"ranks", summary.ranks},
                  {"classes", summary.classes},
                  {"bytes_before", summary.bytes_before},
                  {"bytes_after", summary.bytes_after}},
             1);
  } else {
    fmt::print("{}: {}{}, {} bytes, were {}\n", ShownText(flags.output),
               Counted(summary.ranks, "rank"),
               flags.expand ? "" : " in " + Counted(summary.classes, "class"), summary.bytes_after,
               summary.bytes_before);
  }
  return 0;
}

// glibc raises this threshold with the largest block freed, and then keeps what was read and parsed
// until the end: a tenth of a conversion's peak.
void GiveMemoryBack() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

Result<const ConverterKind*> ChooseConverter(const ConvertFlags& flags) {
  if (!flags.format.empty()) {
    const ConverterKind* kind = FindConverter(flags.format);
    if (kind == nullptr) {
      std::vector<std::string> names;
      for (const ConverterKind& known : BuiltinConverters()) {
        names.emplace_back(known.name);
      }
      return UsageError(fmt::format("no format is called {}{} (`reprise list formats` shows them)",
                                    flags.format, DidYouMean(flags.format, names)));
    }
    return kind;
  }
  if (flags.input.empty()) {
    return FindConverter("pytorch");
  }
  const ConverterKind* kind = SniffConverter(flags.input);
  std::error_code error;
  if (kind == nullptr && std::filesystem::is_regular_file(flags.input, error)) {
    REPRISE_TRY(CheckForm(flags.input));
    return BadInput(fmt::format(
        "{}: not recognised as any format (`reprise list formats`); --format NAME says what is "
        "wrong with it",
        flags.input));
  }
  // Let the first format say what it would have expected.
  return kind != nullptr ? kind : &BuiltinConverters().front();
}

// Only directories of PyTorch's captures hold several, or names without a rank.
Status CheckChoice(const ConvertFlags& flags, const ConverterKind& kind) {
  const ConvertRequest& request = flags.request;
  const bool chosen = !request.capture.empty() || !request.rank_pattern.empty();
  if ((!request.graph_captures.empty() || !request.like.empty()) && kind.name != "pytorch") {
    return UsageError("--graph-capture and --like are for captures of PyTorch");
  }
  const bool by_pattern = request.capture.empty() && kind.name == "flight_recorder";
  return chosen && (request.input_directory.empty() || (kind.name != "pytorch" && !by_pattern))
             ? UsageError(fmt::format("{} is for a directory with captures of PyTorch",
                                      request.capture.empty() ? "--rank-pattern" : "--capture"))
             : Status();
}

// What was written, as `reprise validate` checks it.
Result<SetFindings> CheckWritten(const ConvertRequest& request) {
  if (!request.output_file.empty()) {
    SetFindings findings;
    REPRISE_TRY(CheckFiles({request.output_file}, findings));
    return findings;
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.output_directory));
  return CheckSet(set, request.processes == nullptr ? OneProcess() : *request.processes);
}

Json ToJson(const ConvertReport& report, const SetFindings& findings) {
  Json json = {{"ranks", report.ranks},
               {"groups", report.groups},
               {"transfers_by_group_certainty",
                {{"recorded", report.recorded_groups},
                 {"inferred", report.inferred_groups},
                 {"unknown", report.unknown_groups}}},
               {"diagnostics", report.diagnostics.Snapshot()},
               {"notes", report.notes},
               {"ok", findings.errors.empty()},
               {"errors", findings.errors},
               {"warnings", findings.warnings}};
  if (report.resumed) {
    json["resumed"] = *report.resumed;
  }
  return json;
}

void PrintConvertedRanks(const ConvertReport& report) {
  for (const ConvertedRank& rank : report.ranks) {
    fmt::print("{}: {} operations -> {} nodes, {} edges, {} transfers\n", ShownText(rank.path),
               rank.recorded_operations, rank.nodes, rank.edges, rank.transfers);
    for (const std::string& file : {rank.host_trace, rank.device_trace}) {
      if (!file.empty()) {
        fmt::print("  from {}\n", ShownText(file));
      }
    }
    if (!rank.link.method.empty()) {
      fmt::print("  {}\n", Summary(rank.link));
    }
  }
  for (const auto& [group, count] : report.groups) {
    fmt::print("group {}: {} transfers\n", ShownText(group), count);
  }
}

void PrintCounts(const std::string& output, const ConvertReport& report) {
  ConvertedRank all{};
  std::vector<const LinkReport*> links;
  for (const ConvertedRank& rank : report.ranks) {
    all.recorded_operations += rank.recorded_operations;
    all.nodes += rank.nodes;
    all.edges += rank.edges;
    all.transfers += rank.transfers;
    links.push_back(&rank.link);
  }
  fmt::print("{}: {}, {} operations -> {} nodes, {} edges, {} transfers in {}\n", output,
             Counted(report.ranks.size(), "rank"), all.recorded_operations, all.nodes, all.edges,
             all.transfers, Counted(report.groups.size(), "group"));
  if (const std::string linked = Summary(links); !linked.empty()) {
    fmt::print("{}\n", linked);
  }
}

void PrintErrors(const std::string& output, const std::vector<std::string>& errors) {
  constexpr std::size_t kMax = 5;
  for (std::size_t i = 0; i < std::min(errors.size(), kMax); ++i) {
    fmt::print("error: {}\n", ShownText(errors[i]));
  }
  if (!errors.empty()) {
    fmt::print(
        "{}: written, but replay refuses it as it is: {}; `reprise validate {} -v` lists all.\n"
        "  `reprise replay --comms timed` takes transfers' recorded times in place of sending; "
        "else capture again, all ranks of one run\n",
        ShownText(output), Counted(errors.size(), "error"), ShownText(output));
  }
}

void Print(const std::string& output, const ConvertReport& report, bool verbose) {
  verbose ? PrintConvertedRanks(report) : PrintCounts(output, report);
  if (report.resumed) {
    fmt::print("{}\n", ResumedText(*report.resumed));
  }
  if (report.inferred_groups + report.unknown_groups > 0) {
    fmt::print("process groups of transfers: {} recorded, {} inferred, {} unknown{}\n",
               report.recorded_groups, report.inferred_groups, report.unknown_groups,
               report.unknown_groups > 0 ? " (replay will refuse these)" : "");
  }
  for (const std::string& line : report.notes) {
    fmt::print("{}\n", ShownText(line));
  }
  for (const std::string& line : CounterLines(report.diagnostics.Snapshot(), verbose)) {
    fmt::print("note: {}\n", ShownText(line));
  }
}

}  // namespace

CommandBody RegisterConvert(CLI::App& app, const CommandContext& context) {
  app.description("Convert captured traces to a trace set");
  auto flags = std::make_shared<ConvertFlags>();
  ConvertRequest& request = flags->request;
  app.add_option("CAPTURE", flags->input,
                 "directory with the captures of all ranks, or one file; `reprise list formats` "
                 "lists the formats");
  app.add_option("-o,--output", flags->output, "directory to create; for one rank also an .et file")
      ->required();
  app.add_option("--name", request.name, "name of the trace set (default: name of the input)");
  app.add_option("--host-trace", request.host_trace, "for one rank: its host trace");
  app.add_option("--device-trace", request.device_trace, "for one rank: its Kineto trace");
  app.add_option("--rank", request.rank,
                 "for one rank: its number (default: the number in the files)")
      ->check(NotNegative());
  app.add_option("--capture", request.capture,
                 "which of several captures in the directory; without it, they are listed");
  app.add_option("--rank-pattern", request.rank_pattern,
                 "where the rank is in names of files: a regular expression with one group, "
                 "'worker([0-9]+)_'");
  app.add_option("--repeat", flags->repeat,
                 "which step to take where the Kineto file holds several: the one that the host "
                 "trace recorded (else the best match), or the one of median duration")
      ->check(CLI::IsMember({"recorded", "median"}));
  app.add_option("--graph-capture", request.graph_captures,
                 "Kineto trace of the phase in which device graphs were recorded: gives their "
                 "kernels operators and shapes; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--like", request.like,
                 "Kineto trace of the same program without device graphs: equal kernels in equal "
                 "order give operators, marked as inferred; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--format", flags->format, "format of the input (default: detected)");
  app.add_option("--ranks", request.world_size, "for text workloads: number of ranks to write")
      ->check(Positive());
  app.add_option("--passes", request.passes,
                 "for text workloads: number of iterations (default: 1)")
      ->check(Positive());
  app.add_flag(
      "--mem-nodes", request.mem_nodes,
      "write copies from host to device as Chakra's MEM_LOAD nodes, copies to the host and "
      "fills as MEM_STORE; default: COMP, which all simulators take");
  app.add_flag("--fold", request.fold,
               "ranks that are alike share one file, and a file of times has what differs; of a "
               "trace set without changes");
  app.add_flag("--expand", flags->expand, "one file a rank again, of a set that --fold wrote")
      ->excludes("--fold");
  app.add_flag("--force", request.force, "replace an output that exists");
  AddResumeFlag(app, request.resume);
  app.add_flag("--strict", request.strict, "fail where the conversion would lose data");
  app.add_flag("--json", flags->json, "print the result as JSON");
  return [&app, &context, flags]() -> Result<int> {
    GiveMemoryBack();
    if (flags->expand || (flags->request.fold && IsOwnSet(flags->input))) {
      if (flags->request.resume) {
        return UsageError("--resume is for captures; a set is folded or expanded at once");
      }
      return context.processes->first() ? RewriteSet(*flags) : Result<int>(0);
    }
    REPRISE_TRY(Interpret(*flags));
    REPRISE_ASSIGN(const ConverterKind* kind, ChooseConverter(*flags));
    REPRISE_TRY(CheckChoice(*flags, *kind));
    const bool shared = kind->shares_ranks && !flags->request.input_directory.empty();
    if (flags->request.resume && !shared) {
      return UsageError("--resume is for a directory with captures of PyTorch");
    }
    if (!shared && !context.processes->first()) {
      return 0;
    }
    flags->request.processes = shared ? context.processes : nullptr;
    REPRISE_ASSIGN(const ConvertReport report, kind->convert(flags->request));
    // Memory goes back at once when the process ends, which is now.
    [[maybe_unused]] static const auto* const kept = new std::shared_ptr(report.workspace);
    REPRISE_ASSIGN(const SetFindings findings, CheckWritten(flags->request));
    if (flags->json) {
      ShowJson(nlohmann::json(ToJson(report, findings)), 1);
    } else {
      Print(flags->output, report, IsVerbose(app));
      PrintErrors(flags->output, findings.errors);
    }
    return findings.errors.empty() ? 0 : static_cast<int>(ErrorKind::kCheckFailed);
  };
}

}  // namespace reprise
