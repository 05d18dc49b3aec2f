#include "converters/decompression.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/input_file.h"

namespace reprise {
namespace {

bool IsGzip(std::string_view bytes) { return bytes.starts_with(kGzipMagic); }

// The packed bytes that were read and not yet used.
class PackedInput {
 public:
  explicit PackedInput(std::unique_ptr<TextSource> source)
      : source_(std::move(source)), budget_(source_->path()) {}

  // Makes at least `least` bytes available, unless the file ends before.
  Status Fill(std::size_t least) {
    if (end_ - begin_ >= least || at_end_) {
      return {};
    }
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    offset_ += begin_;
    end_ -= begin_;
    begin_ = 0;
    while (end_ < least) {
      REPRISE_ASSIGN(const std::size_t got,
                     source_->Read(buffer_.data() + end_, buffer_.size() - end_));
      if (got == 0) {
        at_end_ = true;
        break;
      }
      end_ += got;
    }
    return {};
  }

  [[nodiscard]] std::string_view Bytes() const {
    return std::string_view(buffer_).substr(begin_, end_ - begin_);
  }
  void Use(std::size_t bytes) { begin_ += bytes; }
  // Counts what became of them, within the budget.
  Result<std::size_t> Unpacked(std::size_t bytes) {
    unpacked_ += bytes;
    REPRISE_TRY(budget_.Check(unpacked_, Offset()));
    return bytes;
  }
  // Position in the packed file.
  [[nodiscard]] std::size_t Offset() const { return offset_ + begin_; }
  [[nodiscard]] const std::string& path() const { return source_->path(); }

  // How much is left, for a message: reads it all.
  Result<std::size_t> CountRest() {
    std::size_t count = 0;
    do {
      count += Bytes().size();
      Use(Bytes().size());
      REPRISE_TRY(Fill(1));
    } while (!Bytes().empty());
    return count;
  }

  [[nodiscard]] tl::unexpected<Error> Truncated(std::string_view format) const {
    return BadInput(fmt::format(
        "{}: truncated: the {} data end early at byte {}; copy or capture the file again", path(),
        format, Offset()));
  }
  [[nodiscard]] tl::unexpected<Error> Damaged(std::string_view format, const char* why) const {
    return BadInput(
        fmt::format("{}: damaged {} data at byte {} ({}); copy or capture the file again", path(),
                    format, Offset(), why == nullptr ? "no detail" : why));
  }

 private:
  static constexpr std::size_t kBlock = 256 << 10;
  std::unique_ptr<TextSource> source_;
  ExpansionBudget budget_;
  std::uint64_t unpacked_ = 0;
  std::string buffer_ = std::string(kBlock, '\0');
  std::size_t begin_ = 0, end_ = 0;
  std::size_t offset_ = 0;  // of the buffer
  bool at_end_ = false;
};

class GzipSource final : public TextSource {
 public:
  explicit GzipSource(std::unique_ptr<TextSource> packed)
      : TextSource(packed->path()), input_(std::move(packed)) {}
  ~GzipSource() override { inflateEnd(&stream_); }

  Status Begin() {
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) {
      return EnvironmentError("zlib could not be initialised (out of memory?)");
    }
    return {};
  }

  Result<std::size_t> Read(char* to, std::size_t most) override {
    constexpr std::size_t kMax = 1U << 30;  // zlib counts in 32 bits
    most = std::min(most, kMax);
    while (!at_end_) {
      REPRISE_TRY(input_.Fill(1));
      const std::string_view bytes = input_.Bytes();
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(bytes.size());
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      stream_.avail_out = static_cast<uInt>(most);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      input_.Use(bytes.size() - stream_.avail_in);
      const std::size_t got = most - stream_.avail_out;
      if (code == Z_STREAM_END) {
        REPRISE_TRY(NextMember());
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return input_.Damaged("gzip", stream_.msg);
      } else if (got == 0 && bytes.empty()) {
        return input_.Truncated("gzip");
      }
      if (got != 0) {
        return input_.Unpacked(got);
      }
    }
    return 0;
  }

 private:
  Status NextMember() {
    REPRISE_TRY(input_.Fill(2));
    at_end_ = input_.Bytes().empty();
    if (!at_end_ && !IsGzip(input_.Bytes())) {
      const std::size_t from = input_.Offset();
      REPRISE_ASSIGN(const std::size_t rest, input_.CountRest());
      return BadInput(fmt::format("{}: {} bytes after the end of the gzip data, from byte {}",
                                  path(), rest, from));
    }
    inflateReset(&stream_);
    return {};
  }

  PackedInput input_;
  z_stream stream_{};
  bool at_end_ = false;
};

class ZstdSource final : public TextSource {
 public:
  explicit ZstdSource(std::unique_ptr<TextSource> packed)
      : TextSource(packed->path()),
        input_(std::move(packed)),
        context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {}

  [[nodiscard]] bool Ready() const { return context_ != nullptr; }

  Result<std::size_t> Read(char* to, std::size_t most) override {
    ZSTD_outBuffer out{to, most, 0};
    for (;;) {
      REPRISE_TRY(input_.Fill(1));
      const std::string_view bytes = input_.Bytes();
      if (bytes.empty() && frame_ended_) {
        return 0;
      }
      ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
      const std::size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
      input_.Use(in.pos);
      if (ZSTD_isError(left) != 0) {
        return input_.Damaged("zstd", ZSTD_getErrorName(left));
      }
      frame_ended_ = left == 0;
      if (out.pos != 0) {
        return input_.Unpacked(out.pos);
      }
      if (bytes.empty() && !frame_ended_) {
        return input_.Truncated("zstd");
      }
    }
  }

 private:
  PackedInput input_;
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_;
  bool frame_ended_ = false;
};

}  // namespace

Result<std::unique_ptr<TextSource>> Unpacked(std::unique_ptr<TextSource> bytes,
                                             std::string_view head) {
  if (IsGzip(head)) {
    auto source = std::make_unique<GzipSource>(std::move(bytes));
    REPRISE_TRY(source->Begin());
    return source;
  }
  if (head.starts_with(kZstdMagic)) {
    auto source = std::make_unique<ZstdSource>(std::move(bytes));
    if (!source->Ready()) {
      return EnvironmentError("zstd could not be initialised (out of memory?)");
    }
    return source;
  }
  return bytes;
}

}  // namespace reprise
