// Which algorithm runs which collective: the choices of `--algo`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/result.h"

namespace reprise {

class Algorithm;

struct AlgorithmChoice {
  const Algorithm* algorithm = nullptr;  // null: the transport's own (MPI's)
  std::int64_t chunk_bytes = 4 << 20;    // no message is longer
  int channels = 2;                      // lanes of a collective under way at a time
  int node_size = 0;                     // pretend that hosts hold so many ranks each; 0: as it is
};

// A collective to be carried out, as far as a choice depends on it.
struct ChosenTransfer {
  CommKind kind = CommKind::kAllReduce;
  std::string_view group;
  int members = 0;
  int hosts = 0;  // of the members
  // Of the larger buffer of any member; nothing: members differ, so that no size decides.
  std::optional<std::int64_t> bytes = {};
};

class AlgorithmChoices {
 public:
  // "[KIND[@GROUP]=]NAME[,chunk=SIZE][,channels=N][,node=N][,from=SIZE][,members=N][,hosts=N]":
  // "ring", "all_reduce=ring,chunk=4MiB", "all_reduce@tp=tree,channels=4,from=1MiB". from, members
  // and hosts say which transfers it is for: of so many bytes or more, in groups of so many
  // members, on so many hosts. Later ones win; those that name a group win over those that do not.
  // Without KIND: every kind that the algorithm supports. NAME mpi: the transport's own.
  // "measured" and "table" alone say by what the rest runs (measures()).
  // Usage error with what is possible.
  [[nodiscard]] Status Add(std::string_view text);
  // Whether what no choice covers runs by a measurement (measured_choices.h) or by Table().
  [[nodiscard]] bool measures() const { return measures_; }
  // What every kind runs by where the transport has no collectives: for all sizes alike.
  static AlgorithmChoices ForMessagesOnly();
  // What is faster than Open MPI's own calls on the machines measured so far (docs/measured.md).
  static AlgorithmChoices Table();
  void Append(const AlgorithmChoices& later);
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // Nothing: no choice covers it.
  [[nodiscard]] std::optional<AlgorithmChoice> Find(const ChosenTransfer& transfer) const;
  // For manifests, as given.
  [[nodiscard]] std::string Describe() const;

 private:
  struct Entry {
    std::string text;
    std::optional<CommKind> kind;
    std::optional<std::string> group;
    AlgorithmChoice choice;
    std::int64_t from_bytes = 0;
    int members = 0;  // 0: any number
    int hosts = 0;    // 0: any number
    [[nodiscard]] bool Covers(const ChosenTransfer& transfer) const;
  };
  static Result<bool> SetCondition(std::string_view key, std::string_view value, Entry& entry);
  std::vector<Entry> entries_;
  bool measures_ = true;
};

// "ring,chunk=4MiB,channels=2": the part behind KIND=.
[[nodiscard]] Result<AlgorithmChoice> ParseAlgorithm(std::string_view text);
inline constexpr int kMaxChannels = 16;

}  // namespace reprise
