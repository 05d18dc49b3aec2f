#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/file_descriptor.h"
#include "core/temporary_output.h"
#include "et_schema/byte_stream.h"

namespace reprise {
namespace {

constexpr std::size_t kSinkChunkBytes = std::size_t{1} << 16;

class PlainSink : public ByteSink {
 public:
  PlainSink(std::string path, TemporaryOutput temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(temporary_.TakeDescriptor()) {
    pending_.reserve(kSinkChunkBytes);
  }

  Status Write(std::string_view bytes) override {
    pending_.append(bytes);
    return pending_.size() < kSinkChunkBytes ? Status{} : Flush();
  }

  Status Patch(std::uint64_t offset, std::string_view bytes) override {
    REPRISE_TRY(Flush());
    const ssize_t put = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put != static_cast<ssize_t>(bytes.size())) {
      return Failed("writing");
    }
    return {};
  }

  Status Commit() override {
    REPRISE_TRY(Flush());
    if (!fd_.Close()) {
      return Failed("closing");
    }
    return temporary_.Publish();
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Failed(std::string_view what) const {
    return EnvironmentError(fmt::format("{}: {} failed: {}", path_, what, std::strerror(errno)));
  }

  [[nodiscard]] Status Flush() {
    std::string_view left = pending_;
    while (!left.empty()) {
      const ssize_t put = ::write(fd_.get(), left.data(), left.size());
      if (put < 0 && errno != EINTR) {
        return Failed("writing");
      }
      left.remove_prefix(static_cast<std::size_t>(put < 0 ? 0 : put));
    }
    pending_.clear();
    return {};
  }

  std::string path_;
  TemporaryOutput temporary_;
  FileDescriptor fd_;
  std::string pending_;
};

class GzipSink : public ByteSink {
 public:
  explicit GzipSink(std::unique_ptr<ByteSink> below)
      : below_(std::move(below)), buffer_(kSinkChunkBytes, '\0') {
    constexpr int kGzipWindowBits = 15 + 16;  // no name and no time in the header: reproducible
    constexpr int kMemoryLevel = 8;
    ready_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits,
                          kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;
  ~GzipSink() override { deflateEnd(&stream_); }

  Status Write(std::string_view bytes) override { return Deflate(bytes, Z_NO_FLUSH); }
  Status Commit() override {
    REPRISE_TRY(Deflate({}, Z_FINISH));
    return below_->Commit();
  }

 private:
  [[nodiscard]] Status Deflate(std::string_view bytes, int flush) {
    if (!ready_) {
      return EnvironmentError("zlib does not start");
    }
    // zlib does not write to its input; its interface only lacks the const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      deflate(&stream_, flush);
      REPRISE_TRY(below_->Write({buffer_.data(), buffer_.size() - stream_.avail_out}));
    } while (stream_.avail_out == 0);
    return {};
  }

  std::unique_ptr<ByteSink> below_;
  std::string buffer_;
  z_stream stream_{};
  bool ready_ = false;
};

class ZstdSink : public ByteSink {
 public:
  explicit ZstdSink(std::unique_ptr<ByteSink> below)
      : below_(std::move(below)),
        buffer_(ZSTD_CStreamOutSize(), '\0'),
        context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  Status Write(std::string_view bytes) override { return Compress(bytes, ZSTD_e_continue); }
  Status Commit() override {
    REPRISE_TRY(Compress({}, ZSTD_e_end));
    return below_->Commit();
  }

 private:
  [[nodiscard]] Status Compress(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context_.get(), &output, &input, directive);
      if (ZSTD_isError(left) != 0) {
        return EnvironmentError(fmt::format("zstd: {}", ZSTD_getErrorName(left)));
      }
      REPRISE_TRY(below_->Write({buffer_.data(), output.pos}));
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size) {
        return {};
      }
    }
  }

  std::unique_ptr<ByteSink> below_;
  std::string buffer_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
};

}  // namespace

Result<std::unique_ptr<ByteSink>> ByteSink::Create(const std::string& path) {
  REPRISE_ASSIGN(TemporaryOutput temporary, TemporaryOutput::File(path));
  auto plain = std::make_unique<PlainSink>(path, std::move(temporary));
  if (path.ends_with(".gz")) {
    return std::make_unique<GzipSink>(std::move(plain));
  }
  if (path.ends_with(".zst")) {
    return std::make_unique<ZstdSink>(std::move(plain));
  }
  return plain;
}

}  // namespace reprise
