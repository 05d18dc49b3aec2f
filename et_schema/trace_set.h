// A trace set: `<name>.<rank>.et[.gz|.zst]` of all ranks in a directory plus comm_groups.json, or a
// folded set: one file for each class of equal ranks, and ranks.json.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/rank_classes.h"

namespace reprise {

class FoldedSet;  // folded_set.h

// A directory listing only; callers load the Graphs that they need (replay: one per process).
struct TraceSet {
  std::string directory;
  std::string name;
  std::shared_ptr<const RankClasses> classes;  // folded sets only
  // Folded captures only. Each rank has its own file, which is read by its path as any other and
  // does not exist.
  std::shared_ptr<const FoldedSet> folded;
  // Of a set that is not folded: rank → path, and the groups of comm_groups.json and those that the
  // files carry; bad input where two differ. A folded set may stand for a million ranks: it has
  // neither, and RankPath, RankPaths, FindGroup and Groups work them out.
  std::map<std::int32_t, std::string> files;
  std::map<std::string, ProcessGroup> groups;
  std::int32_t world_size = 0;
  std::vector<std::int32_t> missing;  // ranks without a file

  // Fails (bad input) on no trace, on a missing rank (names it), on two files for a rank.
  static Result<TraceSet> Open(const std::string& directory);
  // The same for callers that need only some ranks. The path of a file: a set of its rank alone.
  static Result<TraceSet> OpenPresent(const std::string& directory);
  [[nodiscard]] std::size_t RankCount() const;
  [[nodiscard]] bool HasRank(std::int32_t rank) const;
  // Of a rank that the set has. In a folded set this file does not exist: Graph, EtReader and
  // ValidateFile read such a path from the file of the rank's class. RankPaths: of all of them, for
  // what needs every rank (CheckRankByRank).
  [[nodiscard]] std::string RankPath(std::int32_t rank) const;
  [[nodiscard]] std::map<std::int32_t, std::string> RankPaths() const;
  [[nodiscard]] std::vector<std::int32_t> Ranks() const;
  [[nodiscard]] std::optional<ProcessGroup> FindGroup(const std::string& id) const;
  [[nodiscard]] std::map<std::string, ProcessGroup> Groups() const;
  // At least those that one of these ranks is in.
  [[nodiscard]] std::map<std::string, ProcessGroup> GroupsOf(
      const std::vector<std::int32_t>& ranks) const;
  // "no file of ranks 1-7 (8 ranks, expected gpt.<rank>.et)"; empty if all are there.
  [[nodiscard]] std::string MissingRanks() const;
  // What must be read to know all ranks: of a folded set the first rank of each class, else every
  // rank that has a file.
  struct DistinctRank {
    std::int32_t rank = 0;
    std::string path;        // of the rank, as in `files`
    std::string file;        // on disk: its class's, or the same
    std::int64_t alike = 1;  // ranks with this content, this one included
  };
  [[nodiscard]] std::vector<DistinctRank> DistinctRanks() const;
  // Names of the files on disk that hold nodes, groups, classes and a job, as far as they are
  // there.
  [[nodiscard]] std::vector<std::string> FileNames() const;
  // Of those, the ones of ranks: their files, or classes' files, and of a folded capture times.
  [[nodiscard]] std::vector<std::string> RankFileNames() const;
  // Bad input for a folded set of more ranks than what needs each of them gets through:
  // kMostRanksOneByOne. `what` begins the message, `way_out` ends it. Others: success.
  static constexpr std::size_t kMostRanksOneByOne = 1024;
  [[nodiscard]] Status CheckRankByRank(std::string_view what, std::string_view way_out) const;
  // Against the set's checksums.xxh128, where it has one (core/checksums.h). Bad input: a file is
  // damaged, changed, or not listed. VerifyFile: what replaying one rank reads. Verify: everything;
  // false without checksums, as of earlier versions and of sets that others wrote.
  [[nodiscard]] Status VerifyFile(std::int32_t rank) const;
  [[nodiscard]] Result<bool> Verify() const;
  // Content identity: XXH3-128 (SHA-256 is too slow for large traces) of the uncompressed bytes of
  // one rank's file, and of those hashes with names and process groups. FileHash reads one file,
  // ContentHash() all of them; with `file_hashes` (by rank, of all files) ranks can share the work.
  [[nodiscard]] Result<std::string> FileHash(std::int32_t rank) const;
  [[nodiscard]] Result<std::string> ContentHash() const;
  [[nodiscard]] Result<std::string> ContentHash(
      const std::map<std::int32_t, std::string>& file_hashes) const;
};

// XXH3-128 as 32 hex digits.
[[nodiscard]] std::string HashOfText(std::string_view text);

inline constexpr const char* kGroupsFile = "comm_groups.json";
inline constexpr const char* kGroupsInfoFile = "comm_groups_info.json";
// comm_groups.json as ASTRA-sim takes it: {"<id>": [ranks…]}, ids whole numbers above 0. It takes
// group "0" for all ranks and stops where the file lists it. What it has no place for, descriptions
// and the ranks of "0" and of groups whose id is no number, goes to comm_groups_info.json beside
// it.
[[nodiscard]] Status WriteGroups(const std::string& directory,
                                 const std::map<std::string, ProcessGroup>& groups);
// From both files; empty if the directory has neither. comm_groups.json may have another name.
[[nodiscard]] Result<std::map<std::string, ProcessGroup>> ReadGroups(
    const std::string& directory, const std::string& file = kGroupsFile);

// Collects what is wrong with one file without stopping at the first: duplicate ids, dangling or
// cyclic dependencies, unknown values, truncation. Each line has file and node id or byte offset.
struct ValidationReport {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::vector<std::string> errors;    // the trace can't be replayed
  std::vector<std::string> warnings;  // it can, but something was lost
  std::optional<Graph> graph;         // of what could be read; empty: the file is damaged
};
[[nodiscard]] ValidationReport ValidateFile(const std::string& path);

}  // namespace reprise
