#include "converters/text_source.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "converters/decompression.h"
#include "core/file_descriptor.h"
#include "core/input_file.h"

namespace reprise {
namespace {

class FileSource final : public TextSource {
 public:
  FileSource(std::string path, FileDescriptor file)
      : TextSource(std::move(path)), file_(std::move(file)) {}

  Result<std::size_t> Read(char* to, std::size_t most) override {
    for (;;) {
      const ssize_t got = ::read(file_.get(), to, most);
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
    return ::fstat(file_.get(), &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
  }

 private:
  FileDescriptor file_;
  std::size_t at_ = 0;
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

}  // namespace

Result<std::unique_ptr<TextSource>> TextSource::Open(const std::string& path) {
  REPRISE_ASSIGN(OpenedInput input, OpenInput(path));
  char magic[4] = {};
  const ssize_t got = ::pread(input.descriptor.get(), magic, sizeof(magic), 0);
  std::unique_ptr<TextSource> bytes =
      std::make_unique<FileSource>(path, std::move(input.descriptor));
  const std::string_view head(magic, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  REPRISE_ASSIGN(bytes, Unpacked(std::move(bytes), head));
  return std::make_unique<WithoutMark>(std::move(bytes));
}

std::string ReadHead(const std::string& path, std::size_t most) {
  constexpr std::size_t kPiece = 64;  // a read that meets damage gives nothing of its piece
  std::string text;
  const auto source = TextSource::Open(path);
  for (bool more = source.has_value(); more && text.size() < most;) {
    const std::size_t before = text.size();
    text.resize(std::min(most, before + kPiece));
    const auto got = (*source)->Read(text.data() + before, text.size() - before);
    more = got && *got != 0;
    text.resize(before + (more ? *got : 0));
  }
  return text;
}

}  // namespace reprise
