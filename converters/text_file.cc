#include "converters/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "converters/unpack.h"

namespace reprise {
namespace {

constexpr std::size_t kPadding = 64;  // at least SIMDJSON_PADDING

Result<std::string> ReadBytes(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    return BadInput(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  std::string bytes;
  if (std::fseek(file.get(), 0, SEEK_END) == 0) {
    const long size = std::ftell(file.get());
    bytes.reserve(static_cast<std::size_t>(std::max(size, 0L)) + kPadding);
    std::rewind(file.get());
  }
  constexpr std::size_t kBlock = 1 << 20;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kBlock);
    const std::size_t got = std::fread(bytes.data() + before, 1, kBlock, file.get());
    bytes.resize(before + got);
    if (got == 0) {
      break;
    }
  }
  if (std::ferror(file.get()) != 0) {
    return BadInput(
        fmt::format("{}: reading failed at byte {}: {}", path, bytes.size(), std::strerror(errno)));
  }
  return bytes;
}

}  // namespace

Result<TextFile> TextFile::Read(const std::string& path) {
  REPRISE_ASSIGN(std::string bytes, ReadBytes(path));
  if (IsGzip(bytes)) {
    REPRISE_ASSIGN(bytes, UnpackGzip(path, bytes));
  } else if (IsZstd(bytes)) {
    REPRISE_ASSIGN(bytes, UnpackZstd(path, bytes));
  }
  return FromText(path, std::move(bytes));
}

TextFile TextFile::FromText(std::string path, std::string text) {
  TextFile file;
  file.path_ = std::move(path);
  file.size_ = text.size();
  file.text_ = std::move(text);
  file.text_.append(kPadding, '\0');
  return file;
}

}  // namespace reprise
