#include "predict/rescale/repeated_set.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "et_schema/io.h"
#include "replayer/plan/set_checks.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

}  // namespace

Status WriteRepeatedFile(const TraceSet& set, const TraceSet::DistinctRank& one,
                         RepeatedNodes& nodes, const std::string& what,
                         const std::function<void(Node&)>& costs, const std::string& directory,
                         RepeatSummary& summary) {
  TraceMetadata header = nodes.Header();
  header.source += "; rescaled: " + what;
  REPRISE_ASSIGN(
      const auto writer,
      EtWriter::Create((fs::path(directory) / fs::path(one.file).filename()).string(), header));
  const Status written = nodes.ForEach([&](Node& node, bool resized) -> Status {
    if (resized && costs && node.kind == OpKind::kWork &&
        (node.num_ops >= 0 || node.tensor_bytes >= 0)) {
      node.num_ops = node.tensor_bytes = -1;
      costs(node);
    }
    if (set.classes && node.comm) {
      REPRISE_TRY(set.classes->Unresolve(one.rank, *node.comm));
    }
    ++summary.nodes_written;
    summary.copies += node.rescaled == Rescaled::kRepeat ? 1 : 0;
    return writer->Write(node);
  });
  if (!written) {
    return Fail(written.error().kind, fmt::format("{}: {}", one.file, written.error().message));
  }
  return writer->Close();
}

Status WriteSameGroups(const TraceSet& set, const std::string& directory) {
  if (set.classes) {
    return set.classes->Write(directory);
  }
  return set.groups.empty() ? Status() : WriteGroups(directory, set.groups);
}

Status CheckRepeatedSet(const TraceSet& set, const std::string& with,
                        const std::string& directory) {
  REPRISE_ASSIGN(const TraceSet result, TraceSet::OpenPresent(directory));
  REPRISE_ASSIGN(const SetFindings findings, CheckSet(result));
  if (findings.errors.empty()) {
    return {};
  }
  std::string why = findings.errors.front();
  if (const std::size_t at = why.find(directory); at != std::string::npos) {
    why.replace(at, directory.size(), set.directory);
  }
  return BadInput(fmt::format(
      "with {} the set would not replay: {} (whether it had this before: `reprise validate {}`)",
      with, why, set.directory));
}

}  // namespace reprise
