#include "replayer/pipelined_transfer.h"

#include <algorithm>

namespace reprise {

bool IsPipelined(const CommSpec& spec, std::int64_t chunk_bytes) {
  const bool anywhere = spec.kind == CommKind::kAllReduce || spec.kind == CommKind::kReduce ||
                        spec.kind == CommKind::kBroadcast || IsPointToPoint(spec.kind);
  return anywhere && chunk_bytes > 0 && std::max(spec.in_bytes, spec.out_bytes) > chunk_bytes;
}

PipelinedTransfer::PipelinedTransfer(GroupComm& group, const CommSpec& spec, Staging& staging,
                                     Stream* stream, std::int64_t chunk_bytes)
    : group_(group), spec_(spec), staging_(staging), stream_(stream) {
  const std::int64_t total = std::max(spec.in_bytes, spec.out_bytes);
  const std::int64_t unit = std::max(SizeOf(spec.dtype), 1);
  const std::int64_t step = std::max(chunk_bytes / unit, std::int64_t{1}) * unit;
  for (std::int64_t begin = 0; begin < total; begin += step) {
    chunks_.push_back({.begin = begin,
                       .end = std::min(begin + step, total),
                       .arrived = nullptr,
                       .transfer = nullptr});
  }
}

Status PipelinedTransfer::EnqueueDownloads() {
  begun_ = true;
  if (stream_ == nullptr) {
    return {};
  }
  for (Chunk& chunk : chunks_) {
    REPRISE_TRY(staging_.EnqueueDownload(*stream_, chunk.begin, chunk.end));
    REPRISE_ASSIGN(chunk.arrived, stream_->Record());
  }
  return stream_->Flush();
}

CommSpec PipelinedTransfer::SpecOf(const Chunk& chunk) const {
  CommSpec spec = spec_;
  const auto share = [&](std::int64_t bytes) { return bytes == 0 ? 0 : chunk.end - chunk.begin; };
  spec.in_bytes = share(spec_.in_bytes);
  spec.out_bytes = share(spec_.out_bytes);
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
    const auto part = [&](std::span<std::byte> area) {
      const auto at = static_cast<std::size_t>(chunk.begin);
      return area.empty() ? area
                          : area.subspan(at, static_cast<std::size_t>(chunk.end - chunk.begin));
    };
    REPRISE_ASSIGN(chunk.transfer,
                   group_.Start(SpecOf(chunk), part(staging_.in()), part(staging_.out())));
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
      REPRISE_TRY(staging_.EnqueueUpload(*stream_, chunk.begin, chunk.end));
      if (over_ == chunks_.size()) {
        REPRISE_ASSIGN(uploaded_, stream_->Record());
      }
      REPRISE_TRY(stream_->Flush());
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
