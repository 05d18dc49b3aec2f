// What --resume found of an ended run's work.
#pragma once

#include <cstddef>

namespace reprise {

// Of how many ranks an earlier run's files were whole, and how many were written now.
struct ResumedRanks {
  bool found = false;  // there was work of an earlier run
  std::size_t taken_up = 0, made = 0;
};

}  // namespace reprise
