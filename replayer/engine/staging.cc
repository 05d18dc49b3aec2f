#include "replayer/engine/staging.h"

#include <algorithm>

#include "replayer/engine/tensor_pieces.h"

namespace reprise {
namespace {

// These take and give the same tensor: one area serves, and MPI works in place.
bool IsInPlace(const CommSpec& spec) {
  return (spec.kind == CommKind::kAllReduce || spec.kind == CommKind::kBroadcast) &&
         spec.in_bytes == spec.out_bytes;
}

class OwnMemory final : public HostMemory {
 public:
  explicit OwnMemory(std::int64_t bytes) : memory_(static_cast<std::size_t>(bytes)) {}
  [[nodiscard]] std::span<std::byte> bytes() override { return memory_; }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace

Result<Staging> Staging::Create(const CommSpec& spec, const OpCall& call, const Bindings* memory,
                                Device* device, bool may_map) {
  Staging staging;
  staging.in_place_ = IsInPlace(spec);
  if (memory != nullptr) {
    REPRISE_ASSIGN(const TensorPieces found, FindTensorPieces(spec, call, *memory));
    const auto list = [](const std::vector<DevicePiece>& pieces, Area& area) {
      std::int64_t at = 0;
      for (const DevicePiece& piece : pieces) {
        area.pieces.push_back({piece.buffer, piece.offset_bytes, at, piece.bytes});
        at += piece.bytes;
      }
    };
    list(found.in, staging.in_);
    list(found.out, staging.out_);
    staging.mapped_ = may_map && device != nullptr && device->info().is_cpu &&
                      CanMap(staging.in_, staging.out_, spec, staging.in_place_);
  }
  if (!staging.mapped_) {
    REPRISE_TRY(Allocate(staging.in_place_ ? 0 : spec.in_bytes, device, staging.in_));
    REPRISE_TRY(Allocate(spec.out_bytes, device, staging.out_));
  }
  return staging;
}

bool Staging::CanMap(const Area& in, const Area& out, const CommSpec& spec, bool in_place) {
  const auto whole = [](const Area& area, std::int64_t bytes) {
    return bytes == 0 || (area.pieces.size() == 1 && area.pieces[0].bytes == bytes);
  };
  if (!whole(in, spec.in_bytes) || !whole(out, spec.out_bytes) ||
      in.pieces.size() + out.pieces.size() == 0) {
    return false;
  }
  if (in.pieces.empty() || out.pieces.empty() || in.pieces[0].buffer != out.pieces[0].buffer) {
    return !in_place;  // in one tensor, out to another: two areas
  }
  const Piece& from = in.pieces[0];
  const Piece& to = out.pieces[0];
  if (in_place) {
    return from.device_offset_bytes == to.device_offset_bytes;
  }
  // OpenCL maps no byte twice for writing.
  return from.device_offset_bytes + from.bytes <= to.device_offset_bytes ||
         to.device_offset_bytes + to.bytes <= from.device_offset_bytes;
}

Status Staging::Allocate(std::int64_t bytes, Device* device, Area& area) {
  if (device == nullptr) {
    area.memory = std::make_unique<OwnMemory>(bytes);
  } else {
    REPRISE_ASSIGN(area.memory, device->AllocateHost(bytes));
  }
  area.bytes = area.memory->bytes().first(static_cast<std::size_t>(bytes));
  return {};
}

Status Staging::Map(Stream& stream, Area& area) {
  for (const Piece& piece : area.pieces) {
    REPRISE_ASSIGN(std::byte* const at,
                   stream.Map(*piece.buffer, piece.device_offset_bytes, piece.bytes));
    area.bytes = {at, static_cast<std::size_t>(piece.bytes)};
  }
  return {};
}

Status Staging::Unmap(Stream& stream, Area& area) {
  for (const Piece& piece : area.pieces) {
    REPRISE_TRY(stream.Unmap(*piece.buffer, area.bytes.data()));
  }
  area.bytes = {};
  return {};
}

Status Staging::Download(Stream& stream) {
  if (mapped_) {
    REPRISE_TRY(in_place_ ? Status{} : Map(stream, in_));
    return Map(stream, out_);
  }
  REPRISE_TRY(EnqueueDownload(stream, 0, static_cast<std::int64_t>(in().size()), 0));
  return in_.pieces.empty() ? Status{} : stream.Finish();
}

Status Staging::Upload(Stream& stream) {
  if (mapped_) {
    REPRISE_TRY(in_place_ ? Status{} : Unmap(stream, in_));
    REPRISE_TRY(Unmap(stream, out_));
    return stream.Finish();
  }
  REPRISE_TRY(EnqueueUpload(stream, 0, static_cast<std::int64_t>(out().size()), 0));
  return out_.pieces.empty() ? Status{} : stream.Finish();
}

template <typename Copy>
Status Staging::CopyPieces(const std::vector<Piece>& pieces, std::int64_t begin, std::int64_t end,
                           Copy copy) {
  auto piece = std::partition_point(pieces.begin(), pieces.end(), [begin](const Piece& one) {
    return one.begin_bytes + one.bytes <= begin;
  });
  for (; piece != pieces.end() && piece->begin_bytes < end; ++piece) {
    const std::int64_t from = std::max(begin, piece->begin_bytes);
    const std::int64_t to = std::min(end, piece->begin_bytes + piece->bytes);
    REPRISE_TRY(copy(*piece->buffer, piece->device_offset_bytes + from - piece->begin_bytes,
                     from - begin, to - from));
  }
  return {};
}

Status Staging::EnqueueDownload(Stream& stream, std::int64_t begin, std::int64_t end,
                                std::int64_t area_begin) {
  std::byte* const area = in().data() + area_begin;
  return CopyPieces(
      in_.pieces, begin, end,
      [&](Buffer& buffer, std::int64_t offset, std::int64_t before, std::int64_t bytes) {
        return stream.Download(area + before, buffer, offset, bytes);
      });
}

Status Staging::EnqueueUpload(Stream& stream, std::int64_t begin, std::int64_t end,
                              std::int64_t area_begin) {
  const std::byte* const area = out().data() + area_begin;
  return CopyPieces(
      out_.pieces, begin, end,
      [&](Buffer& buffer, std::int64_t offset, std::int64_t before, std::int64_t bytes) {
        return stream.Upload(buffer, offset, area + before, bytes);
      });
}

}  // namespace reprise
