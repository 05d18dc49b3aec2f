// Separates the captures of one directory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "converters/pytorch/files/captured_file.h"
#include "converters/pytorch/files/rank_files.h"
#include "core/result.h"

namespace reprise::pytorch {

struct Capture {
  std::string
      name;  // below the given directory: "iteration_5", "rank*_step5.json", "." for its own
  std::map<std::int32_t, RankFiles> ranks;
  std::uint64_t bytes = 0;
  std::int64_t start_ns = -1;  // UTC, of the earliest Kineto file; -1: not known

  // Keeps the earliest start; a negative one is not known.
  void Began(std::int64_t ns);
  [[nodiscard]] bool Has(std::string RankFiles::*kind) const;
};

// Files of one directory are a capture, numbers of ranks in its path left out. Where a rank has
// several of a kind there, they are told apart by what else differs in names, or by their times.
// A directory of host traces and one of Kineto files, alone beside each other, are one capture, as
// are directories that have its ranks between them.
// By start, then by name. Bad input: two files of a rank that nothing tells apart.
[[nodiscard]] Result<std::vector<Capture>> SeparateCaptures(std::span<const CapturedFile> files);

}  // namespace reprise::pytorch
