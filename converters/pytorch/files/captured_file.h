// One file of a capture, and what its first bytes say of it.
#pragma once

#include <cstdint>
#include <string>

#include "converters/pytorch/files/capture_names.h"

namespace reprise::pytorch {

struct CapturedFile {
  std::string path;
  std::string name;  // from the given directory on: "chakra/rank-0.json.gz"
  std::uint64_t bytes = 0;
  FileHead head;
  std::int32_t rank = -1;  // -1: not known
};

}  // namespace reprise::pytorch
