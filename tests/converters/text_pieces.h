// A text that comes in pieces of one size.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "converters/text_source.h"

namespace reprise {

class TextPieces final : public TextSource {
 public:
  TextPieces(const std::string& path, std::string text, std::size_t piece)
      : TextSource(path), text_(std::move(text)), piece_(piece) {}
  Result<std::size_t> Read(char* to, std::size_t most) override {
    const std::size_t size = std::min({most, piece_, text_.size() - at_});
    std::memcpy(to, text_.data() + at_, size);
    at_ += size;
    return size;
  }

 private:
  std::string text_;
  std::size_t piece_, at_ = 0;
};

}  // namespace reprise
