// Turns exceptions of the standard library into errors that other ranks can receive.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "core/result.h"

namespace reprise {

// Out of memory, no more threads, …: environment errors. `where`: "while …", "at node …".
[[nodiscard]] inline Error ErrorOf(const std::exception& exception, const std::string& where) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
  return {ErrorKind::kEnvironment, (memory ? "out of memory " : "") + where +
                                       (memory ? "" : std::string(": ") + exception.what())};
}

}  // namespace reprise
