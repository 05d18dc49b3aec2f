#include "converters/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace reprise {

Result<TextFile> TextFile::Read(const std::string& path, std::size_t most_bytes) {
  REPRISE_ASSIGN(const std::unique_ptr<TextSource> source, TextSource::Open(path));
  std::string text;
  text.reserve(std::min(source->SizeHint(), most_bytes) + kPadding);
  constexpr std::size_t kBlock = 1 << 20;
  for (;;) {
    const std::size_t before = text.size();
    // The memory that is reserved first, then more.
    const std::size_t spare = text.capacity() - before;
    text.resize(before + (spare > kPadding ? std::min(spare, kBlock) : kBlock));
    REPRISE_ASSIGN(const std::size_t got, source->Read(text.data() + before, text.size() - before));
    text.resize(before + got);
    if (got == 0) {
      break;
    }
    if (text.size() > most_bytes) {
      return BadInput(
          fmt::format("{}: more than the {} bytes that such a file may have", path, most_bytes));
    }
  }
  return FromText(path, std::move(text));
}

TextFile TextFile::FromText(std::string path, std::string text) {
  const std::size_t size = text.size();
  text.append(kPadding, '\0');
  return FromParts(std::move(path), std::move(text), size, {});
}

TextFile TextFile::FromParts(std::string path, std::string buffer, std::size_t size,
                             std::vector<Gap> gaps) {
  TextFile file;
  file.path_ = std::move(path);
  file.size_ = size;
  file.text_ = std::move(buffer);
  file.gaps_ = std::move(gaps);
  return file;
}

}  // namespace reprise
