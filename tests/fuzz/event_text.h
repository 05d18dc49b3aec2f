// Any bytes as another profiler's file: an error, or JSON of a Kineto file that parses.
#pragma once

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "converters/text_source.h"
#include "scratch.h"

namespace reprise {

using OpenText = Result<std::unique_ptr<TextSource>>(const std::string& path, std::int64_t process);

inline void TryText(OpenText* open, const std::string& file, const std::uint8_t* data,
                    std::size_t size) {
  static const std::filesystem::path directory = FuzzDirectory("text_fuzz");
  const std::filesystem::path in = directory / file;
  WriteInput(in, data, size);
  const auto text = open(in.string(), -1);
  if (!text) {
    return;
  }
  std::string json;
  std::array<char, 4096> piece{};
  for (;;) {
    const Result<std::size_t> got = (*text)->Read(piece.data(), piece.size());
    if (!got) {
      return;
    }
    if (*got == 0) {
      break;
    }
    json.append(piece.data(), *got);
  }
  simdjson::dom::parser parser;
  if (parser.parse(json).error() != simdjson::SUCCESS) {
    std::abort();
  }
}

}  // namespace reprise
