// What `replay --check-values` counted: values that no training has, by operation.
#pragma once

#include <string>

#include "core/value_counts.h"

namespace reprise {

struct ValueRow {
  std::string name;  // of the operation
  ValueCounts counts;
};

}  // namespace reprise
