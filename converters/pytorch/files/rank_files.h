// The files of one rank.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::pytorch {

struct RankFiles {
  std::int32_t rank = -1;  // -1: as the files say
  std::string host, kineto, meta;
  // That wrote `kineto`, where it is not PyTorch's (export_ranks.h); empty: it is.
  std::string profiler;
  // Of such a file, which may have several processes' events: whose. -1: it has one process.
  std::int64_t kineto_process = -1;
};

}  // namespace reprise::pytorch
