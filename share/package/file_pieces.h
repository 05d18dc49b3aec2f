// A file, piece by piece.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/input_file.h"
#include "core/result.h"

namespace reprise {

// `add` takes a std::string_view and returns a Status, which ends the reading if it is an error.
// Bad input: the file cannot be read.
template <typename Add>
Status ForEachPieceOfFile(const std::string& path, const Add& add) {
  REPRISE_ASSIGN(const OpenedInput input, OpenInput(path));
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  std::vector<char> buffer(kPiece);
  while (true) {
    const ssize_t got = ::read(input.descriptor.get(), buffer.data(), buffer.size());
    if (got < 0) {
      return BadInput(fmt::format("{}: cannot be read", path));
    }
    if (got == 0) {
      return {};
    }
    REPRISE_TRY(add(std::string_view(buffer.data(), static_cast<std::size_t>(got))));
  }
}

}  // namespace reprise
