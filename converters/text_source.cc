#include "converters/text_source.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "converters/decompression.h"
#include "core/input_file.h"

namespace reprise {
namespace {

class FileSource final : public TextSource {
 public:
  FileSource(std::string path, int file) : TextSource(std::move(path)), file_(file) {}
  ~FileSource() override { ::close(file_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<std::size_t> Read(char* to, std::size_t most) override {
    for (;;) {
      const ssize_t got = ::read(file_, to, most);
      if (got >= 0) {
        at_ += static_cast<std::size_t>(got);
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) {
        return BadInput(
            fmt::format("{}: reading failed at byte {}: {}", path(), at_, std::strerror(errno)));
      }
    }
  }

  [[nodiscard]] std::size_t SizeHint() const override {
    struct stat status {};
    return ::fstat(file_, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
  }

 private:
  int file_;
  std::size_t at_ = 0;
};

class MemorySource final : public TextSource {
 public:
  MemorySource(std::string path, std::string_view text)
      : TextSource(std::move(path)), rest_(text) {}

  Result<std::size_t> Read(char* to, std::size_t most) override {
    const std::size_t size = std::min(most, rest_.size());
    std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }

  [[nodiscard]] std::size_t SizeHint() const override { return rest_.size(); }

 private:
  std::string_view rest_;
};

// Some editors put a byte order mark before UTF-8.
class WithoutMark final : public TextSource {
 public:
  explicit WithoutMark(std::unique_ptr<TextSource> text)
      : TextSource(text->path()), text_(std::move(text)) {}

  Result<std::size_t> Read(char* to, std::size_t most) override {
    if (begun_) {
      return text_->Read(to, most);
    }
    begun_ = true;
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    char head[kMark.size()];
    std::size_t size = 0;
    while (size < std::min(kMark.size(), most)) {
      REPRISE_ASSIGN(const std::size_t got,
                     text_->Read(head + size, std::min(kMark.size(), most) - size));
      if (got == 0) {
        break;
      }
      size += got;
    }
    if (std::string_view(head, size) == kMark) {
      return text_->Read(to, most);
    }
    std::memcpy(to, head, size);
    return size;
  }

  [[nodiscard]] std::size_t SizeHint() const override { return text_->SizeHint(); }

 private:
  bool begun_ = false;
  std::unique_ptr<TextSource> text_;
};

// The bytes that identify the file's format, then the rest of it.
class Rejoined final : public TextSource {
 public:
  Rejoined(std::string head, std::unique_ptr<TextSource> rest)
      : TextSource(rest->path()), head_(std::move(head)), rest_(std::move(rest)) {}

  Result<std::size_t> Read(char* to, std::size_t most) override {
    if (used_ == head_.size()) {
      return rest_->Read(to, most);
    }
    const std::size_t size = std::min(most, head_.size() - used_);
    std::memcpy(to, head_.data() + used_, size);
    used_ += size;
    return size;
  }

  [[nodiscard]] std::size_t SizeHint() const override { return rest_->SizeHint(); }

 private:
  std::string head_;
  std::size_t used_ = 0;
  std::unique_ptr<TextSource> rest_;
};

}  // namespace

Result<std::unique_ptr<TextSource>> TextSource::Open(const std::string& path) {
  REPRISE_ASSIGN(const OpenedInput input, OpenInput(path));
  std::unique_ptr<TextSource> bytes = std::make_unique<FileSource>(path, input.descriptor);
  constexpr std::size_t kMagicBytes = 4;
  std::string head;
  while (head.size() < kMagicBytes) {
    char next[kMagicBytes];
    REPRISE_ASSIGN(const std::size_t got, bytes->Read(next, kMagicBytes - head.size()));
    if (got == 0) {
      break;
    }
    head.append(next, got);
  }
  const bool gzip = IsGzip(head);
  const bool zstd = IsZstd(head);
  bytes = std::make_unique<Rejoined>(std::move(head), std::move(bytes));
  if (gzip) {
    REPRISE_ASSIGN(bytes, UnpackGzip(std::move(bytes)));
  } else if (zstd) {
    REPRISE_ASSIGN(bytes, UnpackZstd(std::move(bytes)));
  }
  return std::make_unique<WithoutMark>(std::move(bytes));
}

std::unique_ptr<TextSource> TextSource::OfText(std::string path, std::string_view text) {
  return std::make_unique<MemorySource>(std::move(path), text);
}

}  // namespace reprise
