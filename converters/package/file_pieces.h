// A file, piece by piece.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace reprise {

// `add` takes a std::string_view and returns a Status, which ends the reading if it is an error.
// Bad input: the file cannot be read.
template <typename Add>
Status ForEachPieceOfFile(const std::string& path, const Add& add) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return BadInput(fmt::format("{}: cannot be read", path));
  }
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  std::vector<char> buffer(kPiece);
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    REPRISE_TRY(add(std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount()))));
  }
  return in.eof() ? Status{} : BadInput(fmt::format("{}: cannot be read", path));
}

}  // namespace reprise
