// A captured file in memory, unpacked if it was gzip or zstd; padded as simdjson needs it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace reprise {

class TextFile {
 public:
  // gzip and zstd are recognised by content. Errors name the file and the byte where it stopped
  // making sense.
  static Result<TextFile> Read(const std::string& path);
  // For tests and for text that is already in memory.
  static TextFile FromText(std::string path, std::string text);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }
  // Byte offset of a view into text().
  [[nodiscard]] std::size_t OffsetOf(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - text_.data());
  }

 private:
  std::string path_;
  std::string text_;  // followed by padding
  std::size_t size_ = 0;
};

}  // namespace reprise
