#include "core/unknown_work.h"

#include <fmt/format.h>

namespace reprise {

std::string UnknownWorkText(const UnknownWork& unknown) {
  if (unknown.share <= kMaxUnknownWork) {
    return "";
  }
  const std::string_view reason =
      unknown.shapes ? "the trace has no shapes or counts of work for it"
                     : "the trace has no shapes (record_shapes=True in the profiler records them)";
  return fmt::format(
      "{:.1f} % of the {} only timed, not run: {}. So this replay cannot compare "
      "machines.",
      100 * unknown.share, unknown.timed ? "recorded time is" : "nodes are", reason);
}

}  // namespace reprise
