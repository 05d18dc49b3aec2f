// A stream of bytes as zstd frames, each of a piece of it. Frames one after the other are a stream
// of their pieces (RFC 8878, section 3), so that threads, and the processes of a job, compress side
// by side. Only converters/share/package sees this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/processes.h"
#include "core/result.h"

namespace reprise {

class CompressedPieces {
 public:
  // Four windows of level 19: where a piece begins, nothing before it helps to compress it.
  static constexpr std::size_t kPieceBytes = std::size_t{32} << 20;

  // All processes add the same bytes, and each compresses its pieces: of `count` every count-th.
  // Their frames go to `file`, one after the other; both must outlive it. Tests have small pieces.
  CompressedPieces(int file, std::string path, const Processes& processes,
                   std::size_t piece_bytes = kPieceBytes)
      : file_(file), path_(std::move(path)), processes_(processes), piece_bytes_(piece_bytes) {}

  // Environment error: the file cannot be written.
  [[nodiscard]] Status Add(std::string_view bytes);
  [[nodiscard]] Status Finish();
  // Of this process's frames, in order. After Finish.
  [[nodiscard]] const std::vector<std::uint64_t>& frame_bytes() const { return frame_bytes_; }

 private:
  void EndPiece();
  [[nodiscard]] Status Compress();

  int file_;
  std::string path_;
  const Processes& processes_;
  std::size_t piece_bytes_;
  std::size_t number_ = 0;    // of the piece that is being filled
  std::size_t in_piece_ = 0;  // bytes
  std::string piece_;         // if it is this process's
  std::vector<std::string> waiting_;
  std::vector<std::uint64_t> frame_bytes_;
};

// By all processes, once all have finished: puts every process's frames, which `file` has, in the
// order of their pieces into the file at `output`, which is there. Bad input or environment error:
// of the first process that has one.
[[nodiscard]] Status JoinFrames(int file, const std::vector<std::uint64_t>& frame_bytes,
                                const std::string& output, Processes& processes);

}  // namespace reprise
