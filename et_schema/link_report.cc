#include "et_schema/link_report.h"

#include <algorithm>
#include <cstddef>

namespace reprise {

std::array<std::int64_t, 7> LinkNumbers(const LinkReport& link) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  return {number(link.matched), number(link.host_records), number(link.timed_records),
          number(link.repeats), number(link.repeat),       link.repeat_ns,
          link.repeat_median_ns};
}

std::array<std::int64_t, 5> LinkNumbers(const LinkReport::Thread& thread) {
  return {thread.host, thread.timed, static_cast<std::int64_t>(thread.matched),
          static_cast<std::int64_t>(thread.host_records),
          static_cast<std::int64_t>(thread.timed_records)};
}

void SetLinkNumbers(const std::vector<std::int64_t>& numbers, LinkReport& link) {
  auto now = LinkNumbers(link);
  for (std::size_t i = 0; i < std::min(numbers.size(), now.size()); ++i) {
    now.at(i) = numbers[i];
  }
  link.matched = static_cast<std::uint64_t>(now[0]);
  link.host_records = static_cast<std::uint64_t>(now[1]);
  link.timed_records = static_cast<std::uint64_t>(now[2]);
  link.repeats = static_cast<std::uint64_t>(now[3]);
  link.repeat = static_cast<std::uint64_t>(now[4]);
  link.repeat_ns = now[5];
  link.repeat_median_ns = now[6];
}

void SetLinkThreads(const std::vector<std::int64_t>& numbers, LinkReport& link) {
  constexpr std::size_t kEach = 5;
  link.threads.clear();
  for (std::size_t i = 0; i + kEach <= numbers.size(); i += kEach) {
    link.threads.push_back({numbers[i], numbers[i + 1], static_cast<std::uint64_t>(numbers[i + 2]),
                            static_cast<std::uint64_t>(numbers[i + 3]),
                            static_cast<std::uint64_t>(numbers[i + 4])});
  }
}

}  // namespace reprise
