// What a user reads where much of a replay is timed because the trace does not say its work.
#pragma once

#include <string>

namespace reprise {

// A share of what was to run: beyond this its user is warned.
inline constexpr double kMaxUnknownWork = 0.1;

struct UnknownWork {
  double share = 0;    // of the recorded time, or of the nodes where there are no times
  bool timed = true;   // there are recorded times
  bool shapes = true;  // some operation has shapes or counts
};

// The reason and the consequence, in two lines of a report at most; empty below the limit.
[[nodiscard]] std::string UnknownWorkText(const UnknownWork& unknown);

}  // namespace reprise
