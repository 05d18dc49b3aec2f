// Where a conversion writes: beside the target first, so that it appears whole or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converters/converter.h"
#include "converters/kept_work.h"
#include "core/processes.h"
#include "core/result.h"
#include "core/temporary_output.h"
#include "et_schema/node.h"
#include "et_schema/trace_set.h"

namespace reprise {

// What was not published is removed by the destructor, and on SIGINT and SIGTERM; of a resumable
// one it is kept, whatever ends the process (kept_work.h).
class OutputFiles {
 public:
  // A trace set. Usage error if `directory` exists and is not empty, unless `force` and it holds a
  // trace set (core/output_kind.h): that is replaced, other files stay. All `processes` call this
  // and what says so below, and only the first looks at the target before it is there.
  static Result<OutputFiles> Directory(const std::string& directory, const std::string& name,
                                       bool force, Processes& processes = OneProcess());
  // The same for work that may be taken up: `ranks` are those of its files, of `folded` its
  // classes.
  static Result<OutputFiles> Resumable(const std::string& directory, const std::string& name,
                                       bool force, bool folded, const ResumableJob& job,
                                       const std::vector<std::int32_t>& ranks,
                                       Processes& processes = OneProcess());
  // The request's directory and `force`; with its `fold`, Publish makes a folded capture of the
  // files (et_schema/fold.h). `name`: where the request has none.
  static Result<OutputFiles> Directory(const ConvertRequest& request, const std::string& name,
                                       Processes& processes = OneProcess());
  // With the request's `resume`, that.
  static Result<OutputFiles> Directory(const ConvertRequest& request, const std::string& name,
                                       const ResumableJob& job,
                                       const std::vector<std::int32_t>& ranks,
                                       Processes& processes);
  // A folded set: the numbers below are of classes, not of ranks.
  static Result<OutputFiles> FoldedDirectory(const std::string& directory, const std::string& name,
                                             bool force);
  // One rank's file, without groups. Usage error if it exists, unless `force`.
  static Result<OutputFiles> OneFile(const std::string& path, bool force);

  // Where to write a rank's file, and where it will be found.
  [[nodiscard]] std::string Temporary(std::int32_t rank) const;
  [[nodiscard]] std::string Final(std::int32_t rank) const;
  // Where to write a file that is not a rank's.
  [[nodiscard]] std::string TemporaryNote(const std::string& name) const;
  // Its name, without the directory.
  [[nodiscard]] std::string NameOf(std::int32_t rank) const;
  // Of a resumable output; else null, or nothing.
  [[nodiscard]] KeptWork* kept() { return kept_ ? &*kept_ : nullptr; }
  [[nodiscard]] std::optional<ResumedRanks> Resumed(const std::vector<ConvertedRank>& ranks) const;
  // Writes a rank's file to its temporary place; recorded_operations is left to the caller.
  [[nodiscard]] Result<ConvertedRank> WriteRank(const std::vector<Node>& nodes,
                                                const TraceMetadata& metadata) const;
  // Writes the groups and the checksums (trace sets only) and moves everything to its place.
  [[nodiscard]] Status Publish(const std::map<std::string, ProcessGroup>& groups);
  // The same by all processes, each of which comes with how writing its share of `ranks` ended
  // (core/processes.h): what is told of each rank is complete then.
  [[nodiscard]] Status PublishTogether(const Status& mine, std::vector<ConvertedRank>& ranks,
                                       const std::map<std::string, ProcessGroup>& groups,
                                       Processes& processes);
  [[nodiscard]] Status Publish(const RankClasses& classes);

 private:
  OutputFiles() = default;

  [[nodiscard]] Result<std::string> ChecksumOfRank(std::int32_t rank) const;
  [[nodiscard]] Status MoveKept(const std::map<std::string, std::string>& sums);
  [[nodiscard]] Status Fold();
  [[nodiscard]] Status Finish(const std::map<std::string, std::string>& known_sums = {});

  bool folded_ = false;  // files are of classes
  bool fold_ = false;    // Publish folds ranks' files
  std::string file_;     // OneFile
  std::string directory_, name_;
  std::optional<TemporaryOutput> temporary_;  // beside directory_; OneFile: none
  std::optional<KeptWork> kept_;              // Resumable: temporary_ is its SetDirectory()
};

}  // namespace reprise
