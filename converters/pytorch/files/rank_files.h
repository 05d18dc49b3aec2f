// The files of one rank.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::pytorch {

struct RankFiles {
  std::int32_t rank = -1;  // -1: as the files say
  std::string host, kineto, meta;
};

}  // namespace reprise::pytorch
