// reprise validate: is a trace well formed, do its ranks agree, and does its timing reproduce the
// recording?
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/program/commands.h"
#include "cli/program/common_options.h"
#include "cli/program/show_json.h"
#include "cli/traces/timing_text.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "et_schema/astra_sim_checks.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/set_checks.h"
#include "replayer/plan/timing_check.h"

namespace reprise {

inline void to_json(Json& json, const TimingRow& row) {
  json["scope"] = row.rank ? "rank" : "set";
  REPRISE_ADD_FIELDS(json, row, rank, recorded_ns, dry_run_ns, error, violated_edges, clock_errors,
                     unexplained_ns, wakeup_ns, clock_uncertainty_ns, worst_start_ns, details)
  json["ok"] = row.Ok();
}

namespace {

namespace fs = std::filesystem;

struct ValidateFlags {
  std::vector<std::string> paths;
  bool timing = false;
  bool json = false;
  std::string reader;  // empty, or "astra-sim"
};

// What is to be validated: files, and the set that they make up, if they do.
struct Subject {
  std::string path;
  std::vector<std::string> files;  // of a folded set one rank of each class
  std::optional<TraceSet> set;
  bool verified = false;  // against the set's checksums, which exist
  std::string damage;     // what they say is wrong
  [[nodiscard]] bool folded() const { return set && set->classes != nullptr; }
};

struct SubjectFindings : SetFindings {
  std::vector<TimingRow> timing;
  [[nodiscard]] bool Ok() const {
    return errors.empty() && std::ranges::all_of(timing, &TimingRow::Ok);
  }
};

// A directory is a set. Files are rank by rank, each on its own. A set without some of its ranks
// can't be replayed; the timing of those that are there can be checked. One rank of many is what a
// profiler on one rank leaves.
Result<Subject> Resolve(const std::string& path, bool some_ranks, const Processes& processes) {
  Subject subject;
  subject.path = path;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!fs::exists(path, error)) {
      return BadInput(fmt::format("{}: no such file or directory", path));
    }
    subject.files = {path};
    return subject;
  }
  REPRISE_ASSIGN(subject.set, TraceSet::OpenPresent(path));
  const TraceSet& set = *subject.set;
  if (!set.missing.empty() && set.RankCount() > 1 && !some_ranks) {
    return BadInput(fmt::format("{}: {}", path, set.MissingRanks()));
  }
  // Content that someone changed is a finding like others, of the process that prints it.
  if (processes.first()) {
    const Result<bool> verified = set.Verify();
    subject.verified = verified.value_or(false);
    subject.damage = verified ? "" : verified.error().message;
  }
  for (const TraceSet::DistinctRank& rank : set.DistinctRanks()) {
    subject.files.push_back(rank.path);
  }
  return subject;
}

Status CheckTimes(const Subject& subject, SubjectFindings& findings) {
  const std::vector<Graph>& graphs = findings.graphs;
  std::vector<const Graph*> all;
  for (const Graph& graph : graphs) {
    const Graph* const one[] = {&graph};
    REPRISE_ASSIGN(TimingRow row, CheckTiming(TimingOfRank(graph), one, false));
    findings.timing.push_back(std::move(row));
    all.push_back(&graph);
  }
  if (subject.set) {
    const TimingTrace trace = TimingOfSet(all);
    if (trace.unmatched_transfers > 0 && graphs.size() > 1) {
      findings.warnings.push_back(
          fmt::format("{}: {} transfers have no counterpart on another rank: timed alone",
                      subject.path, trace.unmatched_transfers));
    }
    REPRISE_ASSIGN(TimingRow row, CheckTiming(trace, all, true));
    findings.timing.push_back(std::move(row));
  }
  return {};
}

// A generated set has an order and no times: there is nothing to reproduce.
Status CheckTimed(const std::string& path, const TraceMetadata& metadata) {
  for (const auto& [name, count] : metadata.diagnostics) {
    if (name == "generated_without_times") {
      return BadInput(fmt::format(
          "{}: --timing compares with recorded times, and a generated set has none", path));
    }
  }
  return {};
}

Status CheckReader(const Subject& subject, SubjectFindings& findings) {
  if (!subject.set) {
    return UsageError(fmt::format("{}: --for checks directories of trace sets", subject.path));
  }
  REPRISE_ASSIGN(const ReaderFindings found, CheckForAstraSim(*subject.set));
  for (const std::string& error : found.errors) {
    findings.errors.push_back(fmt::format("{}: ASTRA-sim: {}", subject.path, error));
  }
  for (const std::string& warning : found.warnings) {
    findings.warnings.push_back(fmt::format("{}: ASTRA-sim: {}", subject.path, warning));
  }
  return {};
}

// Processes share the files of a set. Single files, and what needs the graphs of all ranks, are
// left to the first.
Result<SubjectFindings> Check(const Subject& subject, const ValidateFlags& flags,
                              Processes& processes) {
  SubjectFindings findings;
  const bool shared = subject.set && !subject.folded() && !flags.timing && flags.reader.empty();
  if (!shared && !processes.first()) {
    return findings;
  }
  Processes& those = shared ? processes : OneProcess();
  if (!subject.damage.empty()) {
    findings.errors.push_back(subject.damage);
  }
  REPRISE_TRY(CheckFiles(subject.files, findings, those));
  if (!flags.reader.empty()) {
    REPRISE_TRY(CheckReader(subject, findings));
  }
  const std::size_t damages = subject.damage.empty() ? 0 : 1;
  if (findings.errors.size() > damages || (!flags.timing && !subject.set)) {
    return findings;  // a damaged file makes no graph
  }
  if (subject.set) {
    REPRISE_TRY(CheckTransfers(*subject.set, findings, those));
  }
  if (flags.timing) {
    for (const Graph& graph : findings.graphs) {
      REPRISE_TRY(CheckTimed(subject.path, graph.metadata()));
    }
    REPRISE_TRY(CheckTimes(subject, findings));
  }
  return findings;
}

void PrintJson(const std::vector<std::pair<Subject, SubjectFindings>>& results,
               const ValidateFlags& flags) {
  Json json;
  json["ok"] = std::ranges::all_of(results, [](const auto& result) { return result.second.Ok(); });
  json["errors"] = Json::array();
  json["warnings"] = Json::array();
  if (flags.timing) {
    json["timing"] = Json::array();
  }
  json["paths"] = Json::array();
  for (const auto& [subject, findings] : results) {
    json["paths"].push_back({{"path", subject.path},
                             {"files", subject.files.size()},
                             {"nodes", findings.nodes},
                             {"edges", findings.edges},
                             {"verified", subject.verified},
                             {"ok", findings.Ok()}});
    for (const std::string& error : findings.errors) json["errors"].push_back(error);
    for (const std::string& warning : findings.warnings) json["warnings"].push_back(warning);
    for (const TimingRow& row : findings.timing) {
      json["timing"].push_back(row);
      json["timing"].back()["path"] = subject.path;
    }
  }
  ShowJson(json, 2);
}

void PrintMessages(const char* what, const std::vector<std::string>& messages, bool verbose) {
  constexpr std::size_t kMax = 5;
  const std::size_t shown = verbose ? messages.size() : std::min(messages.size(), kMax);
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::print("  {}: {}\n", what, ShownText(messages[i]));
  }
  if (shown < messages.size()) {
    fmt::print("  {} more {}s; -v lists them\n", messages.size() - shown, what);
  }
}

void PrintText(const Subject& subject, const SubjectFindings& findings, bool verbose) {
  fmt::print("{}: {}{}, {} nodes, {} edges\n", ShownText(subject.path),
             Counted(subject.files.size(), "file"),
             subject.folded() ? fmt::format(" for {} ranks", subject.set->world_size) : "",
             findings.nodes, findings.edges);
  PrintMessages("error", findings.errors, verbose);
  PrintMessages("warning", findings.warnings, verbose);
  if (subject.set && !subject.verified && subject.damage.empty()) {
    fmt::print("  note: no checksums.xxh128 in the set: whether a file was changed is not known\n");
  }
  if (!findings.timing.empty()) {
    verbose ? PrintTimingTable(findings.timing) : PrintTimingSummary(findings.timing);
  }
  fmt::print("  {}\n", findings.Ok() ? "ok" : "FAILED");
}

Result<int> RunValidate(const ValidateFlags& flags, bool verbose, Processes& processes) {
  std::vector<std::pair<Subject, SubjectFindings>> results;
  bool ok = true;
  for (const std::string& path : flags.paths) {
    REPRISE_ASSIGN(Subject subject, Resolve(path, flags.timing, processes));
    REPRISE_ASSIGN(SubjectFindings findings, Check(subject, flags, processes));
    ok = ok && findings.Ok();
    results.emplace_back(std::move(subject), std::move(findings));
  }
  if (flags.json) {
    PrintJson(results, flags);
  } else {
    for (const auto& [subject, findings] : results) {
      PrintText(subject, findings, verbose);
    }
  }
  return ok ? 0 : static_cast<int>(ErrorKind::kCheckFailed);
}

}  // namespace

CommandBody RegisterValidate(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<ValidateFlags>();
  app.description(
      "Check trace files and sets: well formed, ranks agree, timing reproduces the recording");
  app.add_option("SET", flags->paths, "trace set directories or .et files")->required();
  app.add_flag("--timing", flags->timing,
               "simulate each rank and the set from edges, durations and delays, and compare with "
               "the recording");
  app.add_option("--for", flags->reader,
                 "check what another program would not accept, too: astra-sim")
      ->check(CLI::IsMember({"astra-sim"}));
  app.add_flag("--json", flags->json, "machine-readable result on stdout");
  return
      [&app, &context, flags] { return RunValidate(*flags, IsVerbose(app), *context.processes); };
}

}  // namespace reprise
