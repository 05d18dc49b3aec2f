// `.et` files, their columns, and back, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/columns.h"
#include "et_schema/wire_buffer.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {

inline Result<std::string> Encode(const std::string& file, std::size_t piece = SIZE_MAX) {
  std::string columns;
  ColumnsEncoder encoder([&](std::string_view bytes) -> Status {
    columns += bytes;
    return {};
  });
  for (std::size_t at = 0; at < file.size(); at += std::min(piece, file.size() - at)) {
    REPRISE_TRY(encoder.Add(std::string_view(file).substr(at, piece)));
  }
  REPRISE_TRY(encoder.Finish());
  return columns;
}

inline Result<std::string> Decode(const std::string& columns, std::uint64_t bytes,
                                  std::size_t piece = SIZE_MAX) {
  std::string file;
  ColumnsDecoder decoder(bytes, [&](std::string_view more) -> Status {
    file += more;
    return {};
  });
  for (std::size_t at = 0; at < columns.size(); at += std::min(piece, columns.size() - at)) {
    REPRISE_TRY(decoder.Add(std::string_view(columns).substr(at, piece)));
  }
  REPRISE_TRY(decoder.Finish());
  return file;
}

// A message after its length.
inline std::string Framed(std::string_view message) {
  WireBuffer out;
  out.Varint(message.size());
  out.Bytes(message);
  return std::string(out.bytes());
}

// A file of `count` random nodes.
inline std::string NodesOf(std::uint64_t seed, int count) {
  const ScratchDirectory scratch;
  RandomNodes random(seed);
  std::vector<Node> nodes;
  nodes.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    nodes.push_back(random.Next());
  }
  EXPECT_TRUE(WriteTrace(scratch.File("a.0.et"), nodes));
  return ReadFile(scratch.File("a.0.et"));
}

}  // namespace reprise
