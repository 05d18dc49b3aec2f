#include "replayer/engine/pipelined_transfer.h"

#include <algorithm>
#include <functional>

#include "collectives/matching/splits.h"

namespace reprise {
namespace {

// On every member. Of an all_to_all each has lists of its own: equal ones say nothing of the
// others'.
bool BlocksAreEqual(const CommSpec& spec) {
  if (spec.kind == CommKind::kAllToAll) {
    return !HasSplits(spec);
  }
  if (!HasShares(spec.kind)) {
    return true;
  }
  const std::vector<std::int64_t>& splits = ShareSplits(spec);  // the same list on all members
  return std::adjacent_find(splits.begin(), splits.end(), std::not_equal_to<>()) == splits.end();
}

// The blocks on either side, from sizes that every member has.
TransferCut BlocksOf(const CommSpec& spec, std::int64_t group_size) {
  if (IsGathering(spec.kind)) {
    return {.out_blocks = group_size, .block_bytes = spec.in_bytes};
  }
  if (IsScattering(spec.kind)) {
    return {.in_blocks = group_size, .block_bytes = spec.out_bytes};
  }
  switch (spec.kind) {
    case CommKind::kAllToAll:
      return {.in_blocks = group_size,
              .out_blocks = group_size,
              .block_bytes = spec.in_bytes / group_size};
    case CommKind::kBroadcast:  // members may hold only the size that they use
      return {.block_bytes = std::max(spec.in_bytes, spec.out_bytes)};
    case CommKind::kRecv:
      return {.block_bytes = spec.out_bytes};
    case CommKind::kBarrier:
      return {};
    default:
      return {.block_bytes = spec.in_bytes};
  }
}

// What a chunk takes of an area that holds `blocks` blocks.
template <typename Byte>
std::span<Byte> PartOf(std::span<Byte> area, std::int64_t blocks, std::int64_t begin,
                       std::int64_t end) {
  return area.subspan(static_cast<std::size_t>(blocks * begin),
                      static_cast<std::size_t>(blocks * (end - begin)));
}

}  // namespace

std::optional<TransferCut> CutOf(const CommSpec& spec, int group_size, std::int64_t chunk_bytes) {
  if (chunk_bytes <= 0 || !BlocksAreEqual(spec)) {
    return std::nullopt;
  }
  TransferCut cut = BlocksOf(spec, group_size);
  const std::int64_t unit = std::max(SizeOf(spec.dtype), 1);
  const std::int64_t piece = std::max(chunk_bytes / std::max(cut.in_blocks, cut.out_blocks),
                                      std::min(chunk_bytes, kMinPieceBytes));
  cut.step_bytes = std::max(piece / unit, std::int64_t{1}) * unit;
  return cut.block_bytes > cut.step_bytes ? std::optional(cut) : std::nullopt;
}

PipelinedTransfer::PipelinedTransfer(GroupComm& group, const CommSpec& spec, Staging& staging,
                                     Stream* stream, const TransferCut& cut)
    : group_(group), spec_(spec), staging_(staging), stream_(stream), cut_(cut) {
  // A side that this rank has not: only the root of a gather or scatter has all the blocks.
  const auto blocks_in = [&](std::span<const std::byte> area, std::int64_t blocks) {
    return static_cast<std::int64_t>(area.size()) < blocks * cut.block_bytes ? 0 : blocks;
  };
  cut_.in_blocks = blocks_in(staging.in(), cut.in_blocks);
  cut_.out_blocks = blocks_in(staging.out(), cut.out_blocks);
  for (std::int64_t begin = 0; begin < cut.block_bytes; begin += cut.step_bytes) {
    chunks_.push_back({.begin = begin, .end = std::min(begin + cut.step_bytes, cut.block_bytes)});
  }
}

Status PipelinedTransfer::EnqueueDownloads() {
  begun_ = true;
  if (stream_ == nullptr) {
    return {};
  }
  for (Chunk& chunk : chunks_) {
    std::int64_t at = cut_.in_blocks * chunk.begin;
    for (std::int64_t block = 0; block < cut_.in_blocks; ++block) {
      const std::int64_t before = block * cut_.block_bytes;
      REPRISE_TRY(staging_.EnqueueDownload(*stream_, before + chunk.begin, before + chunk.end, at));
      at += chunk.end - chunk.begin;
    }
    REPRISE_ASSIGN(chunk.arrived, stream_->Record());
  }
  return stream_->Flush();
}

Status PipelinedTransfer::EnqueueUpload(const Chunk& chunk) {
  std::int64_t at = cut_.out_blocks * chunk.begin;
  for (std::int64_t block = 0; block < cut_.out_blocks; ++block) {
    const std::int64_t before = block * cut_.block_bytes;
    REPRISE_TRY(staging_.EnqueueUpload(*stream_, before + chunk.begin, before + chunk.end, at));
    at += chunk.end - chunk.begin;
  }
  if (over_ == chunks_.size()) {
    REPRISE_ASSIGN(uploaded_, stream_->Record());
  }
  return stream_->Flush();
}

CommSpec PipelinedTransfer::SpecOf(const Chunk& chunk) const {
  CommSpec spec = spec_;
  spec.in_bytes = cut_.in_blocks * (chunk.end - chunk.begin);
  spec.out_bytes = cut_.out_blocks * (chunk.end - chunk.begin);
  spec.in_splits.clear();  // equal ones, on all members
  spec.out_splits.clear();
  return spec;
}

// In order: chunks of one sequence are matched by it.
Status PipelinedTransfer::StartArrived() {
  for (; started_ < chunks_.size(); ++started_) {
    Chunk& chunk = chunks_[started_];
    if (chunk.arrived != nullptr && !chunk.arrived->IsDone()) {
      break;
    }
    REPRISE_TRY(chunk.arrived == nullptr ? Status{} : chunk.arrived->Wait());  // a failed copy
    REPRISE_ASSIGN(
        chunk.transfer,
        group_.Start(SpecOf(chunk), PartOf(staging_.in(), cut_.in_blocks, chunk.begin, chunk.end),
                     PartOf(staging_.out(), cut_.out_blocks, chunk.begin, chunk.end)));
  }
  return {};
}

Result<bool> PipelinedTransfer::Test() {
  if (!begun_) {
    REPRISE_TRY(EnqueueDownloads());
  }
  REPRISE_TRY(StartArrived());
  for (std::size_t i = 0; i < started_; ++i) {
    Chunk& chunk = chunks_[i];
    if (chunk.over) {
      continue;
    }
    REPRISE_ASSIGN(chunk.over, chunk.transfer->Test());
    if (!chunk.over) {
      break;  // later ones seldom end earlier
    }
    chunk.transfer.reset();
    ++over_;
    if (stream_ != nullptr) {
      REPRISE_TRY(EnqueueUpload(chunk));
    }
  }
  if (over_ < chunks_.size()) {
    return false;
  }
  if (uploaded_ != nullptr && !uploaded_->IsDone()) {
    return false;
  }
  REPRISE_TRY(uploaded_ == nullptr ? Status{} : uploaded_->Wait());
  return true;
}

}  // namespace reprise
