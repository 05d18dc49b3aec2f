#include "converters/pytorch/kept_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/checksums.h"
#include "core/stored_values.h"

namespace reprise::pytorch {

ResumableJob JobOf(const ConvertRequest& request) {
  return {
      .command = "convert",
      .options = {{"capture directory", request.input_directory},
                  {"--name", request.name},
                  {"--capture", request.capture},
                  {"--rank-pattern", request.rank_pattern},
                  {"--repeat", request.repeat == RepeatChoice::kMedian ? "median" : "recorded"},
                  {"--graph-capture", fmt::format("{}", fmt::join(request.graph_captures, " "))},
                  {"--like", fmt::format("{}", fmt::join(request.like, " "))},
                  {"--mem-nodes", request.mem_nodes ? "set" : ""}}};
}

KeptRanks::KeptRanks(const ConvertRequest& request, const std::vector<RankFiles>& files,
                     OutputFiles& output)
    : files_(files), output_(output), work_(output.kept()) {
  keys_.resize(files.size());
  only_told_.resize(files.size());
  for (const auto* const paths : {&request.graph_captures, &request.like}) {
    for (const std::string& path : *paths) {
      other_files_ += work_ != nullptr ? StateOfFile(path) + '\n' : "";
    }
  }
}

std::string KeptRanks::NameOf(std::size_t rank) const {
  return output_.NameOf(std::max(files_[rank].rank, 0));  // -1: of one rank alone
}

// Before the files are read: what changes meanwhile is another rank.
std::string KeptRanks::KeyOf(std::size_t rank) const {
  const RankFiles& files = files_[rank];
  return fmt::format("{}\n{}\n{}\n{}\n{} {} {}\n{}", StateOfFile(files.host),
                     StateOfFile(files.kineto), StateOfFile(files.meta), files.profiler, files.rank,
                     files.kineto_process, rank, other_files_);
}

std::optional<std::string> KeptRanks::Told(std::size_t rank) {
  if (work_ == nullptr) {
    return std::nullopt;
  }
  keys_[rank] = KeyOf(rank);
  std::optional<std::string> told = work_->FindRead(NameOf(rank), keys_[rank]);
  only_told_[rank] = told ? 1 : 0;
  return told;
}

Status KeptRanks::KeepTold(std::size_t rank, const std::string& told) const {
  return work_ == nullptr ? Status() : work_->KeepRead(NameOf(rank), keys_[rank], told);
}

void KeptRanks::SetAllTold(const std::vector<std::string>& told) {
  std::string sums;
  for (const std::string& one : told) {
    sums += work_ == nullptr ? std::string() : ChecksumOfBytes(one);
  }
  all_told_ = ChecksumOfBytes(sums);
}

std::optional<MadeRank> KeptRanks::TakeUp(std::size_t rank) {
  if (work_ == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::string> bytes = work_->TakeUp(NameOf(rank), keys_[rank] + all_told_);
  if (!bytes) {
    return std::nullopt;
  }
  MadeRank made;
  ValueReader read(*bytes, TextsRead::kAsWritten);
  read(made);
  made.rank.taken_up = true;
  return read.AtEnd() ? std::optional(std::move(made)) : std::nullopt;
}

Status KeptRanks::KeepMade(std::size_t rank, const MadeRank& made) {
  if (work_ == nullptr) {
    return {};
  }
  std::string bytes;
  ValueWriter write(bytes);
  write(made);
  return work_->KeepMade(NameOf(rank), keys_[rank] + all_told_, bytes);
}

}  // namespace reprise::pytorch
