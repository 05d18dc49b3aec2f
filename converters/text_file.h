// A captured file's text in memory, unpacked if it was gzip or zstd, or a part of it; padded as
// simdjson needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/text_source.h"
#include "core/result.h"

namespace reprise {

class TextFile {
 public:
  static constexpr std::size_t kPadding = 64;  // at least SIMDJSON_PADDING
  // Bytes of the file that are not in memory: `bytes` of them before text()[at].
  struct Gap {
    std::size_t at = 0, bytes = 0;
  };

  // gzip and zstd are recognised by content. Errors name the file and the byte where it stopped
  // making sense, or the size if there are more than `most_bytes`.
  static Result<TextFile> Read(const std::string& path, std::size_t most_bytes = SIZE_MAX);
  // For tests and for text that is already in memory.
  static TextFile FromText(std::string path, std::string text);
  // The first `size` bytes of `buffer`, which holds kPadding more at least, are parts of a file.
  // Gaps in order.
  static TextFile FromParts(std::string path, std::string buffer, std::size_t size,
                            std::vector<Gap> gaps);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }
  // Byte offset in the file of a view into text(), of a position in it.
  [[nodiscard]] std::size_t OffsetOf(std::string_view part) const {
    return OffsetOf(static_cast<std::size_t>(part.data() - text_.data()));
  }
  [[nodiscard]] std::size_t OffsetOf(std::size_t at) const {
    std::size_t offset = at;
    for (const Gap& gap : gaps_) {
      offset += gap.at <= at ? gap.bytes : 0;
    }
    return offset;
  }
  // The buffer, to use its memory again.
  [[nodiscard]] std::string TakeBuffer() && { return std::move(text_); }

 private:
  std::string path_;
  std::string text_;  // followed by padding
  std::size_t size_ = 0;
  std::vector<Gap> gaps_;
};

}  // namespace reprise
