#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/file_descriptor.h"
#include "core/input_file.h"
#include "et_schema/byte_stream.h"
#include "et_schema/folded_set.h"

namespace reprise {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;

class PlainSource : public ByteSource {
 public:
  PlainSource(std::string path, FileDescriptor fd, std::uint64_t bytes)
      : path_(std::move(path)), fd_(std::move(fd)) {
    file_bytes_ = bytes;
  }

  Result<std::size_t> Read(std::span<std::uint8_t> out) override {
    while (true) {
      const ssize_t got = ::read(fd_.get(), out.data(), out.size());
      if (got >= 0) {
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) {
        return BadInput(fmt::format("{}: reading failed: {}", path_, std::strerror(errno)));
      }
    }
  }

 private:
  std::string path_;
  FileDescriptor fd_;
};

// What gz and zstd share: a window of compressed bytes refilled from the file below.
class CompressedSource : public ByteSource {
 public:
  CompressedSource(std::string path, std::unique_ptr<ByteSource> below)
      : path_(std::move(path)), below_(std::move(below)), budget_(path_), window_(kChunkBytes) {
    file_bytes_ = below_->file_bytes();
  }

 protected:
  // False at the end of the file.
  [[nodiscard]] Result<bool> Refill() {
    if (begin_ < end_) {
      return true;
    }
    REPRISE_ASSIGN(end_, below_->Read(window_));
    used_ += end_;
    begin_ = 0;
    return end_ > 0;
  }
  [[nodiscard]] Status Produced(std::size_t bytes) {
    produced_ += bytes;
    return budget_.Check(produced_, used_ - (end_ - begin_));
  }
  [[nodiscard]] tl::unexpected<Error> Damaged(std::string_view what) const {
    return BadInput(fmt::format("{}: {} after {} uncompressed bytes", path_, what, produced_));
  }

  std::string path_;
  std::unique_ptr<ByteSource> below_;
  ExpansionBudget budget_;
  std::vector<std::uint8_t> window_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t used_ = 0;  // of the file, with what the window holds
  std::uint64_t produced_ = 0;
};

class GzipSource : public CompressedSource {
 public:
  using CompressedSource::CompressedSource;
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override {
    if (open_) {
      inflateEnd(&stream_);
    }
  }

  Result<std::size_t> Read(std::span<std::uint8_t> out) override {
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out == out.size()) {
      REPRISE_ASSIGN(const bool more, Refill());
      if (!more) {
        if (in_member_) {
          return Damaged("gzip data ends too early");
        }
        return 0;
      }
      REPRISE_TRY(Step());
    }
    const std::size_t got = out.size() - stream_.avail_out;
    REPRISE_TRY(Produced(got));
    return got;
  }

 private:
  [[nodiscard]] Status Step() {
    if (!in_member_) {  // the first member, or one appended to it
      constexpr int kGzipWindowBits = 15 + 16;
      const int rc = open_ ? inflateReset(&stream_) : inflateInit2(&stream_, kGzipWindowBits);
      if (rc != Z_OK) {
        return EnvironmentError(fmt::format("{}: zlib does not start (code {})", path_, rc));
      }
      open_ = in_member_ = true;
    }
    stream_.next_in = window_.data() + begin_;
    stream_.avail_in = static_cast<uInt>(end_ - begin_);
    const int rc = inflate(&stream_, Z_NO_FLUSH);
    begin_ = end_ - stream_.avail_in;
    if (rc == Z_STREAM_END) {
      in_member_ = false;
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
      return Damaged("gzip data damaged");
    }
    return {};
  }

  z_stream stream_{};
  bool open_ = false;
  bool in_member_ = false;
};

class ZstdSource : public CompressedSource {
 public:
  ZstdSource(std::string path, std::unique_ptr<ByteSource> below)
      : CompressedSource(std::move(path), std::move(below)),
        context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {}

  Result<std::size_t> Read(std::span<std::uint8_t> out) override {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos == 0) {
      REPRISE_ASSIGN(const bool more, Refill());
      if (!more && !in_frame_) {
        return 0;
      }
      ZSTD_inBuffer input{window_.data(), end_, begin_};
      const std::size_t hint = ZSTD_decompressStream(context_.get(), &output, &input);
      if (ZSTD_isError(hint) != 0) {
        return Damaged(fmt::format("zstd data damaged ({})", ZSTD_getErrorName(hint)));
      }
      begin_ = input.pos;
      in_frame_ = hint != 0;
      if (!more && output.pos == 0) {  // nothing to read, nothing held back inside zstd
        return Damaged("zstd data ends too early");
      }
    }
    REPRISE_TRY(Produced(output.pos));
    return output.pos;
  }

 private:
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  bool in_frame_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path) {
  REPRISE_ASSIGN(auto folded, OpenFoldedRank(path));
  if (folded) {
    return folded;
  }
  REPRISE_ASSIGN(OpenedInput input, OpenInput(path));
  std::array<char, kZstdMagic.size()> bytes{};
  const ssize_t got = ::pread(input.descriptor.get(), bytes.data(), bytes.size(), 0);
  const std::string_view head(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  auto plain = std::make_unique<PlainSource>(path, std::move(input.descriptor), input.bytes);
  // Neither is a possible start of an .et file: both would make the first field of GlobalMetadata
  // one that does not exist.
  if (head.starts_with(kGzipMagic)) {
    return std::make_unique<GzipSource>(path, std::move(plain));
  }
  if (head == kZstdMagic) {
    return std::make_unique<ZstdSource>(path, std::move(plain));
  }
  return plain;
}

}  // namespace reprise
