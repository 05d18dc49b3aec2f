#include "replayer/plan/set_checks.h"

#include <fmt/format.h>

#include <algorithm>
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

// Every transfer's group exists and has this rank in it; guessed and unknown groups are counted.
void CheckMembership(const TraceSet& set, const Graph& graph, SetFindings& findings) {
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

void CompareRanks(const TraceSet& set, SetFindings& findings) {
  std::vector<std::vector<PlannedTransfer>> plans(static_cast<std::size_t>(set.world_size));
  for (const Graph& graph : findings.graphs) {
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

}  // namespace

Status CheckFiles(const std::vector<std::string>& files, SetFindings& findings) {
  std::vector<ValidationReport> reports(files.size());
  ForEachInParallel(files.size(), [&](std::size_t i) { reports[i] = ValidateFile(files[i]); });
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    ValidationReport& report = reports[i];
    if (!report.errors.empty()) {
      REPRISE_TRY(ReadThrough(files[i]));
    }
    findings.nodes += report.nodes;
    findings.edges += report.edges;
    append(findings.errors, report.errors);
    append(findings.warnings, report.warnings);
    if (report.graph) {
      findings.graphs.push_back(std::move(*report.graph));
    }
  }
  return {};
}

void CheckTransfers(const TraceSet& set, SetFindings& findings) {
  if (set.classes != nullptr) {
    CheckFoldedTransfers(*set.classes, findings.graphs, findings.errors);
  } else {
    CompareRanks(set, findings);
  }
}

Result<SetFindings> CheckSet(const TraceSet& set) {
  std::vector<std::string> files;
  for (const TraceSet::DistinctRank& one : set.DistinctRanks()) {
    files.push_back(one.path);
  }
  SetFindings findings;
  REPRISE_TRY(CheckFiles(files, findings));
  if (findings.errors.empty()) {
    CheckTransfers(set, findings);
  }
  return findings;
}

}  // namespace reprise
