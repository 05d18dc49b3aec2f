// What names this machine and its user.
#pragma once

#include "converters/share/audit/audit.h"

namespace reprise {

[[nodiscard]] LocalNames NamesOfThisMachine();

}  // namespace reprise
