// Exceptions of the standard library, which end here: as an error that can be told to other ranks.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "core/result.h"

namespace reprise {

// Out of memory, no more threads, …: all of the environment. `where`: "while …", "at node …".
[[nodiscard]] inline Error ErrorOf(const std::exception& exception, const std::string& where) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
  return {ErrorKind::kEnvironment, (memory ? "out of memory " : "") + where +
                                       (memory ? "" : std::string(": ") + exception.what())};
}

}  // namespace reprise
