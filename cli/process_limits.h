// Limits of this process that libraries of others do not survive: checked before these start.
#pragma once

#include "core/result.h"

namespace reprise {

// Environment error if fewer files may be open than MPI needs to start: Open MPI ends a process
// that lacks descriptors by itself.
[[nodiscard]] Status CheckProcessLimits();

}  // namespace reprise
