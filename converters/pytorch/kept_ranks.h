// What an ended conversion has left of its ranks, and what this one keeps of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/converter.h"
#include "converters/output_files.h"
#include "converters/pytorch/files/rank_files.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::pytorch {

// A rank whose file is written: what a report says of it.
struct MadeRank {
  ConvertedRank rank;
  std::map<std::string, Diagnostics::Counter> diagnostics;
};

// Options of a conversion that change what it writes, and those that choose its files.
[[nodiscard]] ResumableJob JobOf(const ConvertRequest& request);

// Without ConvertRequest::resume nothing is there, and nothing is kept. Ranks are by index; methods
// are thread-safe for different ones.
class KeptRanks {
 public:
  KeptRanks(const ConvertRequest& request, const std::vector<RankFiles>& files,
            OutputFiles& output);

  [[nodiscard]] bool on() const { return work_ != nullptr; }
  // TellRank's bytes, where the rank's files are still those that they were read from.
  [[nodiscard]] std::optional<std::string> Told(std::size_t rank);
  [[nodiscard]] Status KeepTold(std::size_t rank, const std::string& told) const;
  // What all ranks tell: a file that was written is whole only with the same. Before the others.
  void SetAllTold(const std::vector<std::string>& told);
  // Told, and not read yet by this process.
  [[nodiscard]] bool OnlyTold(std::size_t rank) const { return only_told_[rank] != 0; }
  [[nodiscard]] std::optional<MadeRank> TakeUp(std::size_t rank);
  [[nodiscard]] Status KeepMade(std::size_t rank, const MadeRank& made);

 private:
  [[nodiscard]] std::string NameOf(std::size_t rank) const;
  [[nodiscard]] std::string KeyOf(std::size_t rank) const;

  const std::vector<RankFiles>& files_;
  OutputFiles& output_;
  KeptWork* work_;
  std::string other_files_;        // that every rank is read with
  std::vector<std::string> keys_;  // of ranks that this process looks at
  std::vector<char> only_told_;
  std::string all_told_;
};

}  // namespace reprise::pytorch
