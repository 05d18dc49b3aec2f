#include "cli/predict/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/program/launched_rank.h"
#include "core/counted.h"

namespace reprise {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr auto kOnTerminal = std::chrono::milliseconds(200);
constexpr auto kElsewhere = std::chrono::seconds(30);

}  // namespace

ProgressLine::ProgressLine()
    : terminal_(ShownOnTerminal(STDERR_FILENO)), started_(Clock::now()), shown_(started_) {}

ProgressLine::~ProgressLine() {
  if (shown_any_) {
    if (terminal_ || printed_ != last_.done) {
      Print();
    }
    fmt::print(stderr, "{}", terminal_ ? "\n" : "");
  }
}

void ProgressLine::Show(Progress progress) {
  const auto now = Clock::now();
  if (progress.what != last_.what) {
    started_ = now;
  }
  last_ = std::move(progress);
  if (now - shown_ >= (terminal_ ? Clock::duration(kOnTerminal) : Clock::duration(kElsewhere))) {
    shown_ = now;
    shown_any_ = true;
    Print();
  }
}

void ProgressLine::Print() {
  printed_ = last_.done;
  const std::chrono::duration<double> gone = Clock::now() - started_;
  const auto made = static_cast<double>(last_.done - last_.known);
  const auto left = static_cast<double>(last_.of - last_.done);
  const std::size_t filled = kBarWidth * last_.done / std::max<std::size_t>(last_.of, 1);
  const std::string bar = terminal_ ? fmt::format("[{}{}] ", std::string(filled, '#'),
                                                  std::string(kBarWidth - filled, '.'))
                                    : "";
  fmt::print(stderr, "{}{}{} of {}{}, {:.0f} s left{}", terminal_ ? "\r" : "", bar, last_.done,
             Counted(last_.of, last_.what), last_.more, made > 0 ? gone.count() * left / made : 0,
             terminal_ ? "\033[K" : "\n");
  std::fflush(stderr);
}

}  // namespace reprise
