// How far many predictions are, on stderr: on a terminal a bar that is written over, elsewhere a
// line every 30 seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace reprise {

class ProgressLine {
 public:
  struct Progress {
    std::string what;       // is counted: "configuration"
    std::size_t done = 0;   // of `of`
    std::size_t known = 0;  // of `done`, what took no time
    std::size_t of = 0;
    std::string more;  // follows the count
  };

  ProgressLine();
  // The last line, if there was any before.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(Progress progress);

 private:
  using Clock = std::chrono::steady_clock;
  void Print();

  const bool terminal_;
  Clock::time_point started_, shown_;
  Progress last_;
  std::size_t printed_ = 0;
  bool shown_any_ = false;
};

}  // namespace reprise
