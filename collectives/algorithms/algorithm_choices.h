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

class AlgorithmChoices {
 public:
  // "[KIND[@GROUP]=]NAME[,chunk=SIZE][,channels=N][,node=N]": "ring", "all_reduce=ring,chunk=4MiB",
  // "all_reduce@tp=tree,channels=4". Later ones win; those that name a group win over those that
  // do not. Without KIND: every kind that the algorithm supports. NAME mpi: the transport's own.
  // Usage error with what is possible.
  [[nodiscard]] Status Add(std::string_view text);
  // What every kind runs by where the transport has no collectives: for all sizes alike.
  static AlgorithmChoices ForMessagesOnly();
  void Append(const AlgorithmChoices& later);
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] AlgorithmChoice Find(CommKind kind, const std::string& group) const;
  // For manifests, as given.
  [[nodiscard]] std::string Describe() const;

 private:
  struct Entry {
    std::string text;
    std::optional<CommKind> kind;
    std::optional<std::string> group;
    AlgorithmChoice choice;
    [[nodiscard]] bool Covers(CommKind of, const std::string& in) const;
  };
  std::vector<Entry> entries_;
};

// "ring,chunk=4MiB,channels=2": the part behind KIND=.
[[nodiscard]] Result<AlgorithmChoice> ParseAlgorithm(std::string_view text);
inline constexpr int kMaxChannels = 16;

}  // namespace reprise
