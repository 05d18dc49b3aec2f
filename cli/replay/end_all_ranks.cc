#include "cli/replay/end_all_ranks.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/shown_text.h"

namespace reprise {

int EndAllRanks(const Error& error, Communicator& communicator) {
  const int code = static_cast<int>(error.kind);
  const bool first = communicator.rank() == 0;
  if (first) {
    fmt::print(stderr, "reprise: {}\n", ShownLines(error.message));
  }
  communicator.AbortNow(code, first ? std::string_view() : std::string_view(error.message));
  return code;
}

}  // namespace reprise
