#include "predict/simulator/power/power_window.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace reprise {
namespace {

// Sums of joules round; means that differ by less are equal.
constexpr double kEqualMeans = 1e-9;
constexpr double kMilliwatts = 1e3;

// The mean as a function of a window's place is linear between places where it begins or ends with
// an interval, so that its extremes are among these.
class WindowPlaces {
 public:
  WindowPlaces(const PowerTrack& track, std::int64_t window_ns)
      : intervals_(track.intervals), window_ns_(window_ns) {
    joules_.reserve(intervals_.size());
    double sum = 0;  // watts x ns
    for (const PowerInterval& interval : intervals_) {
      joules_.push_back(sum);
      sum += interval.power.watts * Length(interval);
    }
  }

  template <typename Visit>
  void Each(const Visit& visit) const {
    if (intervals_.empty()) {
      return;
    }
    const std::int64_t begin_ns = intervals_.front().power.begin_ns;
    const std::int64_t end_ns = intervals_.back().power.end_ns;
    if (window_ns_ == 0) {
      for (std::size_t i = 0; i < intervals_.size(); ++i) {
        const PowerStretch& power = intervals_[i].power;
        visit(PowerWindow{power.begin_ns, power.end_ns, power.watts, i, i});
      }
    } else if (end_ns - begin_ns <= window_ns_) {
      visit(At(0, begin_ns, intervals_.size() - 1, end_ns));
    } else {
      std::size_t last = 0;
      for (std::size_t i = 0; i < intervals_.size(); ++i) {
        const std::int64_t from_ns = intervals_[i].power.begin_ns;
        if (from_ns + window_ns_ > end_ns) {
          break;
        }
        while (intervals_[last].power.end_ns < from_ns + window_ns_) {
          ++last;
        }
        visit(At(i, from_ns, last, from_ns + window_ns_));
      }
      std::size_t first = 0;
      for (std::size_t i = 0; i < intervals_.size(); ++i) {
        const std::int64_t to_ns = intervals_[i].power.end_ns;
        if (to_ns - window_ns_ < begin_ns) {
          continue;
        }
        while (intervals_[first].power.end_ns <= to_ns - window_ns_) {
          ++first;
        }
        visit(At(first, to_ns - window_ns_, i, to_ns));
      }
    }
  }

 private:
  static double Length(const PowerInterval& interval) {
    return static_cast<double>(interval.power.end_ns - interval.power.begin_ns);
  }
  [[nodiscard]] double JoulesUntil(std::size_t i, std::int64_t time_ns) const {
    const PowerStretch& power = intervals_[i].power;
    return joules_[i] + power.watts * static_cast<double>(time_ns - power.begin_ns);
  }
  [[nodiscard]] PowerWindow At(std::size_t first, std::int64_t begin_ns, std::size_t last,
                               std::int64_t end_ns) const {
    const double watts = (JoulesUntil(last, end_ns) - JoulesUntil(first, begin_ns)) /
                         static_cast<double>(end_ns - begin_ns);
    return {begin_ns, end_ns, watts, first, last};
  }

  const std::vector<PowerInterval>& intervals_;
  std::int64_t window_ns_;
  std::vector<double> joules_;  // until each interval's begin
};

}  // namespace

std::vector<PowerWindow> WindowsAbove(const PowerTrack& track, std::int64_t window_ns,
                                      double watts) {
  std::vector<PowerWindow> above;
  WindowPlaces(track, window_ns).Each([&](const PowerWindow& window) {
    if (window.watts > watts) {
      above.push_back(window);
    }
  });
  if (window_ns == 0) {
    return above;
  }
  // Of windows that are equal but for rounding, the earliest leaves the least gaps.
  const auto order = [](const PowerWindow& window) {
    return std::pair(-std::llround(window.watts * kMilliwatts), window.begin_ns);
  };
  std::ranges::sort(above, {}, order);
  std::map<std::int64_t, PowerWindow> chosen;  // by begin
  for (const PowerWindow& window : above) {
    const auto next = chosen.lower_bound(window.begin_ns);
    const bool free = (next == chosen.end() || next->first >= window.end_ns) &&
                      (next == chosen.begin() || std::prev(next)->second.end_ns <= window.begin_ns);
    if (free) {
      chosen.emplace_hint(next, window.begin_ns, window);
    }
  }
  above.clear();
  for (const auto& [begin_ns, window] : chosen) {
    above.push_back(window);
  }
  return above;
}

std::optional<PowerWindow> HighestWindow(const PowerTrack& track, std::int64_t window_ns) {
  std::optional<PowerWindow> highest;
  WindowPlaces(track, window_ns).Each([&](const PowerWindow& window) {
    if (!highest || window.watts > highest->watts * (1 + kEqualMeans) ||
        (window.watts > highest->watts * (1 - kEqualMeans) &&
         window.begin_ns < highest->begin_ns)) {
      highest = window;
    }
  });
  return highest;
}

}  // namespace reprise
