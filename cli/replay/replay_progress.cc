#include "cli/replay/replay_progress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>

#include "cli/program/launched_rank.h"

namespace reprise {
namespace {

constexpr std::size_t kIterationsShown = 4;
constexpr const char* kClearLine = "\r\033[K";

std::string IterationText(const ReplayProgress& progress) {
  const double ms = static_cast<double>(progress.step_ns) * 1e-6;
  const std::string time = ms < 10 ? fmt::format("{:.2f} ms", ms) : fmt::format("{:.0f} ms", ms);
  if (progress.stage == "warm-up") {
    return progress.of > 1 ? fmt::format("warm-up {}/{} {}", progress.iteration, progress.of, time)
                           : "warm-up " + time;
  }
  return fmt::format("{}/{} {}", progress.iteration, progress.of, time);
}

}  // namespace

ReplayProgressLine::ReplayProgressLine() : shown_(ShownOnTerminal(STDERR_FILENO)) {}

ReplayProgressLine::~ReplayProgressLine() {
  if (has_text_) {
    fmt::print(stderr, "{}", kClearLine);
    (void)std::fflush(stderr);
  }
}

void ReplayProgressLine::Show(const ReplayProgress& progress) {
  if (!shown_) {
    return;
  }
  std::string text(progress.stage);
  if (progress.iteration > 0) {
    iterations_.push_back(IterationText(progress));
    if (iterations_.size() > kIterationsShown) {
      iterations_.pop_front();
    }
    text = fmt::format("{}", fmt::join(iterations_, ", "));
  }
  has_text_ = true;
  fmt::print(stderr, "{}replay: {} …", kClearLine, text);
  (void)std::fflush(stderr);
}

}  // namespace reprise
