// reprise validate: is a trace well formed, do its ranks agree, and does its timing reproduce the
// recording?
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/folded_transfers.h"
#include "cli/timing_text.h"
#include "collectives/matching/matching.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "et_schema/astra_sim_checks.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "replayer/timeline/timing_check.h"

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
  [[nodiscard]] const RankClasses* classes() const { return set ? set->classes.get() : nullptr; }
};

struct Findings {
  std::uint64_t nodes = 0, edges = 0;
  std::vector<std::string> errors, warnings;
  std::vector<TimingRow> timing;
  [[nodiscard]] bool Ok() const {
    return errors.empty() && std::ranges::all_of(timing, &TimingRow::Ok);
  }
};

// A directory is a set. Files are rank by rank, each on its own. A set without some of its ranks
// can't be replayed; the timing of those that are there can be checked. One rank of many is what a
// profiler on one rank leaves.
Result<Subject> Resolve(const std::string& path, bool some_ranks) {
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
  if (!set.missing.empty() && set.files.size() > 1 && !some_ranks) {
    return BadInput(fmt::format("{}: {}", path, set.MissingRanks()));
  }
  // Content that someone changed is a finding like others.
  if (const Result<bool> verified = set.Verify()) {
    subject.verified = *verified;
  } else {
    subject.damage = verified.error().message;
  }
  for (const TraceSet::DistinctRank& rank : set.DistinctRanks()) {
    subject.files.push_back(rank.path);
  }
  return subject;
}

// Success if every node of the file can be read: what is wrong then is its content. Else the file
// is damaged or no trace at all, which is another exit code.
Status ReadThrough(const std::string& path) {
  REPRISE_ASSIGN(const std::unique_ptr<EtReader> reader, EtReader::Open(path));
  Node node;
  for (bool more = true; more;) {
    REPRISE_ASSIGN(more, reader->Next(node));
  }
  return {};
}

Status CheckFile(const std::string& path, Findings& findings) {
  const ValidationReport report = ValidateFile(path);
  if (!report.errors.empty()) {
    REPRISE_TRY(ReadThrough(path));
  }
  findings.nodes += report.nodes;
  findings.edges += report.edges;
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(findings.errors, report.errors);
  append(findings.warnings, report.warnings);
  return {};
}

// Every transfer's group exists and has this rank in it; guessed and unknown groups are counted.
void CheckMembership(const TraceSet& set, const Graph& graph, Findings& findings) {
  const std::int32_t rank = graph.metadata().rank;
  std::map<std::string, std::uint64_t> missing, foreign;
  std::uint64_t unknown = 0;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const CommSpec* spec = graph.comm(i);
    if (spec == nullptr) {
      continue;
    }
    unknown += spec->certainty == GroupCertainty::kUnknown ? 1 : 0;
    if (spec->certainty == GroupCertainty::kUnknown && spec->group.empty()) {
      continue;
    }
    const auto group = set.groups.find(spec->group);
    if (group == set.groups.end()) {
      ++missing[spec->group];
    } else if (const auto& ranks = group->second.ranks;
               std::ranges::find(ranks, rank) == ranks.end()) {
      ++foreign[spec->group];
    }
  }
  for (const auto& [group, count] : missing) {
    findings.errors.push_back(fmt::format(
        "rank {}: {} transfers name process group '{}', which the set lacks", rank, count, group));
  }
  for (const auto& [group, count] : foreign) {
    findings.errors.push_back(
        fmt::format("rank {}: {} transfers in process group '{}', of which it is no member", rank,
                    count, group));
  }
  if (unknown > 0) {
    findings.warnings.push_back(fmt::format(
        "rank {}: the process group of {} transfers is unknown, or a guess (several fit)", rank,
        unknown));
  }
}

// MatchTransfers reports all mismatches in one message, one a line under a heading.
void AppendLines(std::string_view message, std::vector<std::string>& lines) {
  const std::size_t heading = message.find('\n');
  const auto details = SplitText(message.substr(heading + 1), '\n');
  lines.insert(lines.end(), details.begin(), details.end());
}

void CheckTransfers(const TraceSet& set, const std::vector<Graph>& graphs, Findings& findings) {
  std::vector<std::vector<PlannedTransfer>> plans(static_cast<std::size_t>(set.world_size));
  for (const Graph& graph : graphs) {
    CheckMembership(set, graph, findings);
    const std::int32_t rank = graph.metadata().rank;
    if (rank < 0 || rank >= set.world_size) {
      findings.errors.push_back(
          fmt::format("a trace says rank {}, in a set of {} ranks", rank, set.world_size));
      return;
    }
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (const CommSpec* spec = graph.comm(i); spec != nullptr) {
        plans[rank].push_back({graph.id(i), *spec});
        plans[rank].back().spec.outside = !LacksOf(*spec).empty();  // it is never carried out
      }
    }
    std::ranges::stable_sort(plans[rank], {},
                             [](const PlannedTransfer& transfer) { return transfer.spec.index; });
  }
  if (const std::string missing = set.MissingRanks(); !missing.empty()) {
    findings.warnings.push_back(
        fmt::format("{}: {}: transfers are not compared between ranks", set.directory, missing));
    return;
  }
  const auto ranks_of_group = [&set](const std::string& id) {
    const auto group = set.groups.find(id);
    return group == set.groups.end() ? std::vector<std::int32_t>{} : group->second.ranks;
  };
  CompleteSplits(plans, ranks_of_group);
  if (const Status matched = MatchTransfers(plans, ranks_of_group); !matched) {
    AppendLines(matched.error().message, findings.errors);
  }
}

Status CheckTimes(const Subject& subject, const std::vector<Graph>& graphs, Findings& findings) {
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

Status CheckReader(const Subject& subject, Findings& findings) {
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

Result<Findings> Check(const Subject& subject, const ValidateFlags& flags) {
  Findings findings;
  if (!subject.damage.empty()) {
    findings.errors.push_back(subject.damage);
  }
  for (const std::string& file : subject.files) {
    REPRISE_TRY(CheckFile(file, findings));
  }
  if (!flags.reader.empty()) {
    REPRISE_TRY(CheckReader(subject, findings));
  }
  const std::size_t damages = subject.damage.empty() ? 0 : 1;
  if (findings.errors.size() > damages || (!flags.timing && !subject.set)) {
    return findings;  // a damaged file makes no graph
  }
  std::vector<Graph> graphs;
  for (const std::string& file : subject.files) {
    REPRISE_ASSIGN(Graph graph, Graph::Load(file));
    graphs.push_back(std::move(graph));
  }
  if (subject.classes() != nullptr) {
    CheckFoldedTransfers(*subject.classes(), graphs, findings.errors);
  } else if (subject.set) {
    CheckTransfers(*subject.set, graphs, findings);
  }
  if (flags.timing) {
    for (const Graph& graph : graphs) {
      REPRISE_TRY(CheckTimed(subject.path, graph.metadata()));
    }
    REPRISE_TRY(CheckTimes(subject, graphs, findings));
  }
  return findings;
}

void PrintJson(const std::vector<std::pair<Subject, Findings>>& results,
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
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
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

void PrintText(const Subject& subject, const Findings& findings, bool verbose) {
  fmt::print("{}: {}{}, {} nodes, {} edges\n", subject.path, Counted(subject.files.size(), "file"),
             subject.classes() ? fmt::format(" for {} ranks", subject.set->world_size) : "",
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

Result<int> RunValidate(const ValidateFlags& flags, bool verbose) {
  std::vector<std::pair<Subject, Findings>> results;
  bool ok = true;
  for (const std::string& path : flags.paths) {
    REPRISE_ASSIGN(Subject subject, Resolve(path, flags.timing));
    REPRISE_ASSIGN(Findings findings, Check(subject, flags));
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

CommandBody RegisterValidate(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<ValidateFlags>();
  app.description(
      "Check trace files and sets: well formed, ranks agree, timing reproduces the recording");
  app.add_option("PATH", flags->paths, "trace set directories or .et files")->required();
  app.add_flag("--timing", flags->timing,
               "simulate each rank and the set from edges, durations and delays, and compare with "
               "the recording");
  app.add_option("--for", flags->reader,
                 "check what another program would not accept, too: astra-sim")
      ->check(CLI::IsMember({"astra-sim"}));
  app.add_flag("--json", flags->json, "machine-readable result on stdout");
  return [&app, flags] { return RunValidate(*flags, IsVerbose(app)); };
}

}  // namespace reprise
