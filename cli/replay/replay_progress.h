// What a replay does now, on one line of the terminal that is written over.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "replayer/replay.h"

namespace reprise {

// "replay: compiling kernels …", then "replay: warm-up 540 ms, 1/3 526 ms, 2/3 519 ms …": the last
// few iterations. Shows it on stderr where that is a terminal, and nothing elsewhere. Gone when it
// ends.
class ReplayProgressLine {
 public:
  ReplayProgressLine();
  ~ReplayProgressLine();
  ReplayProgressLine(const ReplayProgressLine&) = delete;
  ReplayProgressLine& operator=(const ReplayProgressLine&) = delete;

  [[nodiscard]] bool shown() const { return shown_; }
  void Show(const ReplayProgress& progress);

 private:
  bool shown_;
  bool has_text_ = false;
  std::deque<std::string> iterations_;
};

}  // namespace reprise
