#include "converters/share/package/compressed_pieces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/file_descriptor.h"
#include "core/parallel.h"
#include "core/stored_values.h"

namespace reprise {
namespace {

// Levels 15 to 18 give 4 to 15 % more bytes, higher ones under 1 % less, and so do longer windows
// (docs/measured.md, "Packages"). Decoders take its window without an option.
constexpr int kLevel = 19;

tl::unexpected<Error> CannotWrite(const std::string& path) {
  return EnvironmentError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

// At the file's end, or from `offset` on.
Status WriteAll(int file, const std::string& path, std::string_view bytes,
                std::optional<std::uint64_t> offset = std::nullopt) {
  while (!bytes.empty()) {
    const ssize_t written =
        offset ? ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(*offset))
               : ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return CannotWrite(path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    if (offset) {
      *offset += static_cast<std::uint64_t>(written);
    }
  }
  return {};
}

// Copies one frame to its place.
Status CopyFrame(int from, std::uint64_t at, std::uint64_t bytes, int to, const std::string& path,
                 std::uint64_t offset) {
  std::string buffer(static_cast<std::size_t>(bytes), '\0');
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got =
        ::pread(from, buffer.data() + done, buffer.size() - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return EnvironmentError(fmt::format("{}: what was compressed of it cannot be read again: {}",
                                          path, got < 0 ? std::strerror(errno) : "it is cut off"));
    }
    done += static_cast<std::size_t>(got);
  }
  return WriteAll(to, path, buffer, offset);
}

}  // namespace

Status CompressedPieces::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view now = bytes.substr(0, piece_bytes_ - in_piece_);
    if (number_ % static_cast<std::size_t>(processes_.count()) ==
        static_cast<std::size_t>(processes_.index())) {
      piece_ += now;
    }
    in_piece_ += now.size();
    bytes.remove_prefix(now.size());
    if (in_piece_ == piece_bytes_) {
      EndPiece();
      if (waiting_.size() >= static_cast<std::size_t>(OwnCores())) {
        REPRISE_TRY(Compress());
      }
    }
  }
  return {};
}

void CompressedPieces::EndPiece() {
  if (!piece_.empty()) {
    waiting_.push_back(std::exchange(piece_, {}));
  }
  ++number_;
  in_piece_ = 0;
}

Status CompressedPieces::Finish() {
  EndPiece();
  return Compress();
}

Status CompressedPieces::Compress() {
  std::vector<std::string> frames(waiting_.size());
  std::vector<std::size_t> sizes(waiting_.size());
  ForEachInParallel(waiting_.size(), [&](std::size_t i) {
    frames[i].resize(ZSTD_compressBound(waiting_[i].size()));
    sizes[i] = ZSTD_compress(frames[i].data(), frames[i].size(), waiting_[i].data(),
                             waiting_[i].size(), kLevel);
  });
  waiting_.clear();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (ZSTD_isError(sizes[i]) != 0) {
      return EnvironmentError(
          fmt::format("{}: cannot be compressed: {}", path_, ZSTD_getErrorName(sizes[i])));
    }
    REPRISE_TRY(WriteAll(file_, path_, std::string_view(frames[i]).substr(0, sizes[i])));
    frame_bytes_.push_back(sizes[i]);
  }
  return {};
}

Status JoinFrames(int file, const std::vector<std::uint64_t>& frame_bytes,
                  const std::string& output, Processes& processes) {
  std::string told;
  ValueWriter write(told);
  write(frame_bytes);
  REPRISE_ASSIGN(const std::vector<std::string> all, processes.Exchange(told));
  std::vector<std::vector<std::uint64_t>> of_process(all.size());
  for (std::size_t p = 0; p < all.size(); ++p) {
    ValueReader read(all[p]);
    read(of_process[p]);
  }
  const FileDescriptor to(::open(output.c_str(), O_WRONLY | O_CLOEXEC));
  Status copied = to.get() < 0 ? CannotWrite(output) : Status();
  std::uint64_t own_at = 0;
  std::uint64_t offset = 0;
  for (std::size_t number = 0; copied; ++number) {
    const std::size_t process = number % of_process.size();
    const std::size_t frame = number / of_process.size();
    if (frame >= of_process[process].size()) {
      break;  // pieces are dealt in turn: the first that is missing is behind the last
    }
    const std::uint64_t bytes = of_process[process][frame];
    if (process == static_cast<std::size_t>(processes.index())) {
      copied = CopyFrame(file, own_at, bytes, to.get(), output, offset);
      own_at += bytes;
    }
    offset += bytes;
  }
  return processes.Agree(copied);
}

}  // namespace reprise
