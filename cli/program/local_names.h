// What names this machine and its user.
#pragma once

#include "share/audit/audit.h"

namespace reprise {

[[nodiscard]] LocalNames NamesOfThisMachine();

}  // namespace reprise
