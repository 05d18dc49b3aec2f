// How the two recordings of one rank were put together (docs/definitions.md, "Linking").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

struct LinkReport {
  // Of one thread. Numbers are those of the two files; -1: the thread is only in the other.
  struct Thread {
    std::int64_t host = -1, timed = -1;
    std::uint64_t matched = 0, host_records = 0, timed_records = 0;
    bool operator==(const Thread&) const = default;
  };

  std::string method;  // "record function id", "alignment"; empty: there was nothing to link
  std::uint64_t matched = 0;
  std::uint64_t host_records = 0;   // that could have a partner
  std::uint64_t timed_records = 0;  // of the Kineto file, in the span that was matched

  // The step of the host trace may occur several times in the Kineto file; one was taken.
  std::uint64_t repeats = 1;
  std::uint64_t repeat = 1;    // from 1, in order of time
  std::string choice;          // why: "only one", "sequence numbers", "best match", "last", …
  std::int64_t repeat_ns = 0;  // duration of the one taken
  std::int64_t repeat_median_ns = 0;  // and the median of all

  std::vector<Thread> threads;
  std::vector<std::string> unmatched;  // some of the records without a partner
  bool operator==(const LinkReport&) const = default;
};

}  // namespace reprise
