#include "replayer/plan/set_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "collectives/matching/matching.h"
#include "core/parallel.h"
#include "core/text.h"
#include "et_schema/io.h"
#include "replayer/plan/folded_transfers.h"

namespace reprise {
namespace {

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

// What the comparison of ranks takes of one.
struct RankTransfers {
  std::int32_t rank = -1;
  std::vector<PlannedTransfer> transfers;  // in order of nodes
};

RankTransfers TransfersOf(const Graph& graph) {
  RankTransfers out{.rank = graph.metadata().rank};
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (const CommSpec* spec = graph.comm(i); spec != nullptr) {
      out.transfers.push_back({graph.id(i), *spec});
      out.transfers.back().spec.outside = !LacksOf(*spec).empty();  // it is never carried out
    }
  }
  return out;
}

// Every transfer's group exists and has this rank in it; guessed and unknown groups are counted.
void CheckMembership(const TraceSet& set, const RankTransfers& of, SetFindings& findings) {
  const std::int32_t rank = of.rank;
  std::map<std::string, std::uint64_t> missing, foreign;
  std::uint64_t unknown = 0;
  for (const PlannedTransfer& transfer : of.transfers) {
    const CommSpec& spec = transfer.spec;
    unknown += spec.certainty == GroupCertainty::kUnknown ? 1 : 0;
    if (spec.certainty == GroupCertainty::kUnknown && spec.group.empty()) {
      continue;
    }
    const auto group = set.groups.find(spec.group);
    if (group == set.groups.end()) {
      ++missing[spec.group];
    } else if (const auto& ranks = group->second.ranks;
               std::ranges::find(ranks, rank) == ranks.end()) {
      ++foreign[spec.group];
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

void CompareRanks(const TraceSet& set, std::vector<RankTransfers>& ranks, SetFindings& findings) {
  std::vector<std::vector<PlannedTransfer>> plans(static_cast<std::size_t>(set.world_size));
  for (RankTransfers& of : ranks) {
    CheckMembership(set, of, findings);
    if (of.rank < 0 || of.rank >= set.world_size) {
      findings.errors.push_back(
          fmt::format("a trace says rank {}, in a set of {} ranks", of.rank, set.world_size));
      return;
    }
    std::vector<PlannedTransfer>& plan = plans[static_cast<std::size_t>(of.rank)];
    std::ranges::move(of.transfers, std::back_inserter(plan));
    std::ranges::stable_sort(plan, {},
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

}  // namespace

Status CheckFiles(const std::vector<std::string>& files, SetFindings& findings,
                  Processes& processes) {
  struct FileFindings {
    std::uint64_t nodes = 0, edges = 0;
    std::vector<std::string> errors, warnings;
  };
  const ItemRange own = OwnShare(processes, files.size());
  std::vector<FileFindings> found(files.size());
  std::vector<ValidationReport> reports(own.size());
  ForEachInParallel(own.size(),
                    [&](std::size_t i) { reports[i] = ValidateFile(files[own.begin + i]); });
  Status readable;
  for (std::size_t i = 0; i < own.size(); ++i) {
    ValidationReport& report = reports[i];
    if (!report.errors.empty() && readable) {
      readable = ReadThrough(files[own.begin + i]);
    }
    found[own.begin + i] = {.nodes = report.nodes,
                            .edges = report.edges,
                            .errors = std::move(report.errors),
                            .warnings = std::move(report.warnings)};
    if (report.graph) {
      findings.graphs.push_back(std::move(*report.graph));
    }
  }
  REPRISE_TRY(CompleteShares(processes, readable, found));
  for (FileFindings& file : found) {
    findings.nodes += file.nodes;
    findings.edges += file.edges;
    std::ranges::move(file.errors, std::back_inserter(findings.errors));
    std::ranges::move(file.warnings, std::back_inserter(findings.warnings));
  }
  return {};
}

Status CheckTransfers(const TraceSet& set, SetFindings& findings, Processes& processes) {
  if (set.classes != nullptr) {
    CheckFoldedTransfers(*set.classes, findings.graphs, findings.errors);
    return {};
  }
  std::vector<RankTransfers> ranks(processes.count() == 1 ? findings.graphs.size()
                                                          : set.files.size());
  const ItemRange own = OwnShare(processes, ranks.size());
  if (own.size() != findings.graphs.size()) {
    return BadInput(fmt::format("{}: was changed while it was read", set.directory));
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    ranks[own.begin + i] = TransfersOf(findings.graphs[i]);
  }
  REPRISE_TRY(CompleteShares(processes, {}, ranks));
  if (processes.first()) {
    CompareRanks(set, ranks, findings);
  }
  return {};
}

Result<SetFindings> CheckSet(const TraceSet& set, Processes& processes) {
  std::vector<std::string> files;
  for (const TraceSet::DistinctRank& one : set.DistinctRanks()) {
    files.push_back(one.path);
  }
  SetFindings findings;
  REPRISE_TRY(CheckFiles(files, findings, processes));
  if (findings.errors.empty()) {
    REPRISE_TRY(CheckTransfers(set, findings, processes));
  }
  return findings;
}

}  // namespace reprise
