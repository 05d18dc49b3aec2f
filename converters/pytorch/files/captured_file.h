// One file of a capture, and what its first bytes say of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "converters/pytorch/files/capture_names.h"

namespace reprise::pytorch {

struct CapturedFile {
  std::string path;
  std::string name;  // from the given directory on: "chakra/rank-0.json.gz"
  std::uint64_t bytes = 0;
  FileHead head;
  std::int32_t rank = -1;        // -1: not known
  std::string profiler;          // RankFiles::profiler
  std::int64_t of_process = -1;  // RankFiles::kineto_process
};

// "chakra" of "chakra/rank-0.json.gz"; empty for the given directory itself.
[[nodiscard]] inline std::string_view DirectoryOf(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return name.substr(0, slash == std::string_view::npos ? 0 : slash);
}

}  // namespace reprise::pytorch
